package codegen

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/ir/diag"
)

// TestFaults: swap.json has none of the executor's faults, and each change brings one, once for both ranks.
func TestFaults(t *testing.T) {
	swap, err := os.ReadFile(filepath.Join("testdata", "mscclpp", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []string{"gpus/0/", "gpus/1/"} {
		swap = changed(t, swap, g+"scratch_chunks", "4")
		swap = changed(t, swap, g+"semaphores", `[{"init_value":1}]`)
		swap = changed(t, swap, g+"channels/+", `{"channel_type":"port","connected_to":[`+map[string]string{"gpus/0/": "1", "gpus/1/": "0"}[g]+`]}`)
		swap = changed(t, swap, g+"remote_buffers/0/access_channel_types", `["memory","port"]`)
		swap = changed(t, swap, g+"remote_buffers/+", `{"rank":`+map[string]string{"gpus/0/": "1", "gpus/1/": "0"}[g]+`,"type":"s","access_channel_types":["memory","port"]}`)
		swap = changed(t, swap, g+"threadblocks/0/channels/+", `{"channel_type":"port","channel_ids":[0]}`)
		swap = changed(t, swap, g+"threadblocks/0/remote_buffer_refs", `[{"access_channel_type":"memory","remote_buffer_ids":[0,1]},{"access_channel_type":"port","remote_buffer_ids":[0,1]}]`)
	}
	const op = "gpus/0/threadblocks/0/ops/+"
	const o, s, far, farS = `{"type":"o","index":0,"size":1}`, `{"type":"s","index":0,"size":1}`, `{"buffer_id":0,"index":0,"size":1}`, `{"buffer_id":1,"index":0,"size":1}`
	moves := func(name, src, dst, more string) string {
		return `{"name":"` + name + `","src_buff":[` + src + `],"dst_buff":[` + dst + `],` + more + `}`
	}
	const memory, port = `"channel_type":"memory"`, `"channel_type":"port","channel_ids":[0]`
	loop := func(body string) string {
		return `{"name":"pipeline","iter_context":{"unit_size":65536,"num_chunks":1},"ops":[` + body + `]}`
	}
	acquire := `{"name":"sem_acquire","semaphore_ids":[0]}`
	for _, c := range []struct {
		changes string // path value, a line each
		want    []diag.Code
	}{
		{"", nil},
		{op + ` {"name":"flush","channel_ids":[0],"channel_type":"port"}`, []diag.Code{diag.MSCCLPPFlush}},
		{op + " " + moves("get", far, o, memory), nil},
		{op + " " + moves("get", far, strings.Replace(o, "0", "1", 1), memory), []diag.Code{diag.MSCCLPPGet}},
		{op + " " + moves("put", o+","+o, far+","+far, memory), nil},
		{op + " " + moves("put", o+","+s, far+","+far, memory), []diag.Code{diag.MSCCLPPPut}},
		{op + " " + moves("re", o+","+s, o, `"reduce_op":"sum"`), nil},
		{op + " " + moves("re", o+","+s, o, `"reduce_op":"min"`), []diag.Code{diag.MSCCLPPReduce}},
		{"max_message_size 2147483647", nil},
		{"max_message_size 4294967296", []diag.Code{diag.MSCCLPPSize}},
		{"max_message_size 4294967295\ngpus/0/scratch_chunks 400", []diag.Code{diag.MSCCLPPSize}},
		{`protocol "LL"` + "\n" + op + " " + moves("cpkt", o, s, `"channel_type":"memory"`), []diag.Code{diag.MSCCLPPGraph}},
		{op + " " + moves("cpkt", o, s, `"channel_type":"memory"`), []diag.Code{diag.MSCCLPPGraph, diag.MSCCLPPScratch}},
		{op + " " + moves("put", o, farS, memory), nil},
		{"use_double_scratch_buffer true\n" + op + " " + moves("put", o, farS, memory), []diag.Code{diag.MSCCLPPDouble}},
		{"use_double_scratch_buffer true\n" + op + " " + moves("copy", o, s, memory), nil},
		{"use_double_scratch_buffer true\n" + op + " " + moves("put", s, far, port), []diag.Code{diag.MSCCLPPDouble}},
		{"gpus/0/input_chunks 0", []diag.Code{diag.MSCCLPPZero}},
		{"buffer_alignment 0", []diag.Code{diag.MSCCLPPZero}},
		{"buffer_alignment 4", []diag.Code{diag.MSCCLPPAlign}},
		{"buffer_alignment 32", nil},
		{op + " " + moves("pws", o, far, port), []diag.Code{diag.MSCCLPPPort}},
		{op + " " + moves("put", s, far, port), nil},
		{`protocol "LL"` + "\n" + op + " " + moves("ppkt", s, farS, port), []diag.Code{diag.MSCCLPPPort, diag.MSCCLPPGraph}},
		{op + " " + loop(moves("copy", o, s, memory)), nil},
		{op + " " + loop(moves("copy", strings.Replace(o, "1", "2", 1), strings.Replace(s, "1", "2", 1), memory)), []diag.Code{diag.MSCCLPPLoop}},
		{op + " " + loop(moves("copy", o, s, `"tbg_info":{"tb_id":0,"tbg_size":2}`)), []diag.Code{diag.MSCCLPPLoop}},
		{`protocol "LL"` + "\n" + op + " " + loop(moves("cpkt", o, s, memory)), []diag.Code{diag.MSCCLPPLoop, diag.MSCCLPPGraph}},
		{op + " " + strings.Replace(loop(""), "65536", "1", 1), []diag.Code{diag.MSCCLPPAlign, diag.MSCCLPPLoop}},
		{op + " " + strings.Replace(loop(""), "65536", "100008", 1), []diag.Code{diag.MSCCLPPAlign}},
		{op + " " + moves("res", o+","+s, o+","+far, memory), nil},
		{"reuse_resources true\n" + op + " " + moves("res", o+","+s, o+","+far, memory), []diag.Code{diag.MSCCLPPReuse}},
		{op + " " + acquire + "\n" + op + " " + acquire, nil},
		{op + " " + acquire + "\n" + `gpus/0/threadblocks/+ {"id":1,"ops":[` + acquire + `],"channels":[]}`, []diag.Code{diag.MSCCLPPSemaphore}},
	} {
		text := swap
		for line := range strings.Lines(c.changes) {
			path, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			text = changed(t, text, path, value)
		}
		_, p, err := ReadMSCCLPP("x.json", bytes.NewReader(text), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
			continue
		}
		var got []diag.Code
		found := FaultsMSCCLPP(p)
		for _, d := range found {
			got = append(got, d.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.changes, got, c.want)
		}
		if found.Err() != nil || found.Rejects() {
			t.Errorf("%s: warnings reject: %v", c.changes, found)
		}
	}
}
