package mscclpp

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// TestFaults: swap.json has none of the executor's faults, and each change brings one, once for both ranks.
func TestFaults(t *testing.T) {
	swap, err := os.ReadFile(filepath.Join("testdata", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []string{"gpus/0/", "gpus/1/"} {
		swap = changed(t, swap, g+"scratch_chunks", "4")
		swap = changed(t, swap, g+"semaphores", `[{"init_value":1}]`)
		swap = changed(t, swap, g+"channels/+", `{"channel_type":"port","connected_to":[`+
			map[string]string{"gpus/0/": "1", "gpus/1/": "0"}[g]+`]}`)
		swap = changed(t, swap, g+"remote_buffers/0/access_channel_types", `["memory","port"]`)
		swap = changed(t, swap, g+"remote_buffers/+", `{"rank":`+map[string]string{"gpus/0/": "1", "gpus/1/": "0"}[g]+
			`,"type":"s","access_channel_types":["memory","port"]}`)
		swap = changed(t, swap, g+"threadblocks/0/channels/+", `{"channel_type":"port","channel_ids":[0]}`)
		swap = changed(t, swap, g+"threadblocks/0/remote_buffer_refs",
			`[{"access_channel_type":"memory","remote_buffer_ids":[0,1]},{"access_channel_type":"port","remote_buffer_ids":[0,1]}]`)
	}
	const op = "gpus/0/threadblocks/0/ops/+"
	const o, s, far, farS = `{"type":"o","index":0,"size":1}`, `{"type":"s","index":0,"size":1}`,
		`{"buffer_id":0,"index":0,"size":1}`, `{"buffer_id":1,"index":0,"size":1}`
	moves := func(name, src, dst, more string) string {
		return `{"name":"` + name + `","src_buff":[` + src + `],"dst_buff":[` + dst + `],` + more + `}`
	}
	const memory, port = `"channel_type":"memory"`, `"channel_type":"port","channel_ids":[0]`
	loop := func(body string) string {
		return `{"name":"pipeline","iter_context":{"unit_size":65536,"num_chunks":1},"ops":[` + body + `]}`
	}
	acquire := `{"name":"sem_acquire","semaphore_ids":[0]}`
	double := "use_double_scratch_buffer true\n" + `protocol "LL"` + "\n"
	sixths := "gpus/0/input_chunks 3\ngpus/0/output_chunks 6\ngpus/1/input_chunks 3\ngpus/1/output_chunks 6\n"
	farIn := `gpus/0/remote_buffers/+ {"rank":1,"type":"i","access_channel_types":["memory"]}` +
		"\ngpus/0/threadblocks/0/remote_buffer_refs/0/remote_buffer_ids [0,1,2]\n"
	halves := strings.Replace(loop(moves("copy", strings.Replace(o, "1", "2", 1), strings.Replace(s, "1", "2", 1),
		memory)), `"num_chunks":1`, `"num_chunks":2`, 1)
	puts := moves("put", s+","+s, far+","+far, `"channel_type":"port","channel_ids":[0,0]`)
	two := `gpus/0/semaphores/+ {"init_value":0}` + "\n"
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
		{"reuse_resources true\n" + op + " " + moves("res", o+","+s, o+","+farS, memory), []diag.Code{diag.MSCCLPPFirst, diag.MSCCLPPReuse}},
		{double + op + " " + moves("ppkt", o, farS, memory), []diag.Code{diag.MSCCLPPGraph}},
		{double + "gpus/1/scratch_chunks 5\n" + op + " " + moves("ppkt", o, farS, memory), []diag.Code{diag.MSCCLPPHalves, diag.MSCCLPPGraph}},
		{"use_double_scratch_buffer false\ngpus/1/scratch_chunks 5\n" + `protocol "LL"` + "\n" + op + " " + moves("ppkt", o, farS, memory), []diag.Code{diag.MSCCLPPGraph}},
		{double + "max_message_size 1048575", []diag.Code{diag.MSCCLPPHalves}},
		{double + sixths + "gpus/0/scratch_chunks 8\ngpus/1/scratch_chunks 8", nil},
		{double + sixths, []diag.Code{diag.MSCCLPPHalves}},
		{farIn + op + " " + moves("put", o, strings.Replace(far, "0", "2", 1), memory), []diag.Code{diag.MSCCLPPPart}},
		{farIn + "inplace false\n" + op + " " + moves("put", o, strings.Replace(far, "0", "2", 1), memory), nil},
		{op + " " + moves("pws", strings.Replace(o, "o", "i", 1), far, port), []diag.Code{diag.MSCCLPPPart, diag.MSCCLPPPort}},
		{"reuse_resources true", []diag.Code{diag.MSCCLPPFirst}},
		{"reuse_resources true\nmax_message_size 33554432\n" + op + " " + moves("copy", o, s, memory), []diag.Code{diag.MSCCLPPFirst}},
		{"reuse_resources true\nmax_message_size 33554433\n" + op + " " + moves("copy", o, s, memory), []diag.Code{diag.MSCCLPPFirst, diag.MSCCLPPRoom}},
		{"reuse_resources true\nmax_message_size 16777216\n" + op + " " + halves, []diag.Code{diag.MSCCLPPFirst}},
		{"reuse_resources true\nmax_message_size 16777217\n" + op + " " + halves, []diag.Code{diag.MSCCLPPFirst, diag.MSCCLPPRoom}},
		{"reuse_resources true\ngpus/1/scratch_chunks 5\n" + op + " " + moves("put", o, farS, memory), []diag.Code{diag.MSCCLPPFirst, diag.MSCCLPPRoom}},
		{"num_threads_per_block 1", nil},
		{"num_threads_per_block 1\n" + op + " " + puts, []diag.Code{diag.MSCCLPPThreads}},
		{"num_threads_per_block 2\n" + op + " " + puts, nil},
		{"num_threads_per_block 1\n" + two + op + ` {"name":"sem_release","semaphore_ids":[0,1]}`, []diag.Code{diag.MSCCLPPThreads}},
		{"num_threads_per_block 2\n" + two + op + ` {"name":"sem_release","semaphore_ids":[0,1]}`, nil},
		{op + " " + acquire + "\n" + op + " " + acquire, nil},
		{op + " " + acquire + "\n" + `gpus/0/threadblocks/+ {"id":1,"ops":[` + acquire + `],"channels":[]}`, []diag.Code{diag.MSCCLPPSemaphore}},
	} {
		text := swap
		for line := range strings.Lines(c.changes) {
			path, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			text = changed(t, text, path, value)
		}
		_, p, err := Read("x.json", bytes.NewReader(text), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
			continue
		}
		var got []diag.Code
		found := Faults(p)
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
