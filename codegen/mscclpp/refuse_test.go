package mscclpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// changed returns a plan's text with the value at path (gpus/0/threadblocks/1/ops/2/name) set to value's JSON. "-"
// deletes the key, and a path that ends in "+" appends to a list.
func changed(t testing.TB, text []byte, path, value string) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	var v any
	if value != "-" {
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
	}
	steps := strings.Split(path, "/")
	var set func(at any, steps []string) any
	set = func(at any, steps []string) any {
		if len(steps) == 0 {
			return v
		}
		switch x := at.(type) {
		case map[string]any:
			if value == "-" && len(steps) == 1 {
				delete(x, steps[0])
			} else {
				x[steps[0]] = set(x[steps[0]], steps[1:])
			}
			return x
		case []any:
			if steps[0] == "+" {
				return append(x, v)
			}
			i, err := strconv.Atoi(steps[0])
			if err != nil || i >= len(x) {
				t.Fatalf("%s leads nowhere", path)
			}
			x[i] = set(x[i], steps[1:])
			return x
		}
		t.Fatalf("%s leads nowhere", path)
		return nil
	}
	out, err := json.Marshal(set(root, steps))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// many returns a JSON list of n times the text.
func many(n int, text string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(text+",", n), ",") + "]"
}

// TestRefusesPlans: each change makes of every.json a plan that is refused, with the code and at the path, and with
// nothing else of another code.
func TestRefusesPlans(t *testing.T) {
	every, err := os.ReadFile(filepath.Join("testdata", "every.json"))
	if err != nil {
		t.Fatal(err)
	}
	const gpu, tb0, tb1, tb2 = "gpus/1/", "gpus/1/threadblocks/0/", "gpus/1/threadblocks/1/", "gpus/1/threadblocks/2/"
	local := `{"type":"i","index":0,"size":1}`
	for _, c := range []struct {
		path, value string
		code        diag.Code
		want        string // begins one of the errors
	}{
		// The file.
		{"name", "-", diag.Malformed, `plan: key "name" is missing`},
		{"name", "3", diag.Malformed, "name: is 3, not a string"},
		{"collective", `"allreduc"`, diag.Malformed, `collective: is "allreduc", which is none of`},
		{"protocol", `"LL128"`, diag.Malformed, "protocol: "},
		{"inplace", `1`, diag.Malformed, "inplace: is 1, not true or false"},
		{"version", `1`, diag.Malformed, `plan: unknown key "version"`},
		{"gpus", `[]`, diag.Malformed, "gpus: the plan has no ranks"},
		{"gpus", `{}`, diag.Malformed, "gpus: is {}, not a list"},
		{"num_threads_per_block", `4096`, diag.Limit, "num_threads_per_block: is 4096, more than 1024"},
		{"num_threads_per_block", `0`, diag.Malformed, "num_threads_per_block: is 0, less than 1"},
		{"buffer_alignment", `-16`, diag.Malformed, "buffer_alignment: is -16, not a whole number"},
		{"buffer_alignment", `1.5`, diag.Malformed, "buffer_alignment: is 1.5, not a whole number"},
		{"min_message_size", `2147483648`, diag.Limit, "min_message_size: is 2147483648, more than 2147483647"},
		{"max_message_size", `18446744073709551616`, diag.Limit, "max_message_size: is "},
		{"buffer_alignment", `0`, diag.MSCCLPPZero, "buffer_alignment: is 0: the executor divides by it"},
		{gpu + "input_chunks", `0`, diag.MSCCLPPZero, "gpus[1].input_chunks: is 0: the executor divides by it"},
		{gpu + "output_chunks", `0`, diag.MSCCLPPZero, "gpus[1].output_chunks: is 0: the executor divides by it"},
		{"max_message_size", `1`, diag.Malformed, "max_message_size: is less than min_message_size"},
		// Ranks.
		{gpu + "id", `0`, diag.Malformed, "gpus[1].id: is 0, and stands at 1"},
		{gpu + "semaphores/0/init_value", "-", diag.Malformed, `gpus[1].semaphores[0]: key "init_value" is missing`},
		{gpu + "color", `1`, diag.Malformed, `gpus[1]: unknown key "color"`},
		{gpu + "channels", "-", diag.Malformed, `gpus[1]: key "channels" is missing`},
		{gpu + "input_chunks", `4294967296`, diag.Limit, "gpus[1].input_chunks: is 4294967296"},
		{gpu + "input_chunks", `3`, diag.Malformed, "gpus[1].input_chunks: is 3 where allreduce"},
		{"collective", `"allgather"`, diag.Malformed, "gpus[0].input_chunks: is 4 where allgather"},
		{gpu + "scratch_chunks", `2000000000`, diag.Limit, "gpus: the ranks' buffers have"},
		// Channels.
		{gpu + "channels/0/connected_to/+", `0`, diag.Unmatched, "gpus[1].channels: 3 memory channels go to rank 0 and 2 come back"},
		{gpu + "channels/0/connected_to/0", `2`, diag.OutOfBounds, "gpus[1].channels[0].connected_to[0]: rank 2 is beyond"},
		{gpu + "channels/0/channel_type", `"shared"`, diag.Malformed, "gpus[1].channels[0].channel_type: is "},
		{gpu + "channels/0/channel_type", `"switch"`, diag.Malformed, `gpus[1].channels[0]: keys "buffer_type", "rank_groups" are missing`},
		{gpu + "channels/2/buffer_type", `"o"`, diag.Unmatched, "gpus[0].channels: rank 1 does not have the same switch channels"},
		{gpu + "channels/2/rank_groups/0/size", `3`, diag.Malformed, "gpus[1].channels[2].rank_groups[0].size: is 3"},
		{gpu + "channels/2/rank_groups/0/ranks", `[1,1]`, diag.Malformed, "gpus[1].channels[2].rank_groups[0].ranks: a rank stands twice"},
		{gpu + "channels/2/rank_groups/0/ranks", `[0,2]`, diag.OutOfBounds, "gpus[1].channels[2].rank_groups[0].ranks: rank 2 is beyond"},
		{gpu + "channels/2/rank_groups/0", `{"size":1,"ranks":[1]}`, diag.Malformed, "gpus[1].channels[2].rank_groups[0].ranks: a switch channel has two"},
		{gpu + "remote_buffers/0/rank", `7`, diag.OutOfBounds, "gpus[1].remote_buffers[0]: rank 7 is beyond"},
		{gpu + "remote_buffers/0/access_channel_types", `[]`, diag.Malformed, "gpus[1].remote_buffers[0].access_channel_types: the buffer"},
		{gpu + "remote_buffers/0/access_channel_types", `["port"]`, diag.Malformed, "gpus[1].threadblocks[0].remote_buffer_refs[0].remote_buffer_ids[0]: remote buffer 0 is not reached"},
		{gpu + "remote_buffers/0/access_channel_types/1", `"memory"`, diag.Malformed, `gpus[1].remote_buffers[0].access_channel_types[1]: "memory" stands twice`},
		// Blocks.
		{tb1 + "id", `0`, diag.Malformed, "gpus[1].threadblocks[1].id: is 0, and stands at 1"},
		{tb0 + "channels/0/channel_ids/1", `2`, diag.OutOfBounds, "gpus[1].threadblocks[0].channels[0].channel_ids[1]: memory channel 2 is none of the rank's 2"},
		{tb0 + "channels/0/channel_ids", many(17, "0"), diag.Limit, "gpus[1].threadblocks[0].channels[0].channel_ids: the block has 17"},
		{tb0 + "channels/0/channel_ids/1", `0`, diag.Malformed, "gpus[1].threadblocks[0].channels[0].channel_ids[1]: 0 stands twice"},
		{tb0 + "channels/+", `{"channel_type":"memory","channel_ids":[0]}`, diag.Malformed, "gpus[1].threadblocks[0].channels[1]: channels of type memory stand twice"},
		{tb0 + "remote_buffer_refs/0/remote_buffer_ids/0", `3`, diag.OutOfBounds, "gpus[1].threadblocks[0].remote_buffer_refs[0].remote_buffer_ids[0]: remote buffer 3 is none of the rank's 3"},
		{tb0 + "remote_buffer_refs/0/remote_buffer_ids", many(17, "0"), diag.Limit, "gpus[1].threadblocks[0].remote_buffer_refs[0].remote_buffer_ids: the block has 17"},
		{"gpus/1/threadblocks/3/ops", many(65, `{"name":"nop"}`), diag.Limit, "gpus[1].threadblocks[3].ops[64]: is operation 65"},
		{"gpus/1/threadblocks/3/ops", `[{"name":"pipeline","iter_context":{"unit_size":1,"num_chunks":1},"ops":` + many(64, `{"name":"nop"}`) + `}]`, diag.Limit, "gpus[1].threadblocks[3].ops[0].ops[63]: is operation 65"},
		// Operations.
		{tb0 + "ops/0/name", `"glre"`, diag.Unsupported, `gpus[1].threadblocks[0].ops[0].name: operation "glre" is one that MSCCL++'s language writes`},
		{tb0 + "ops/0/name", `"start"`, diag.Unsupported, `gpus[1].threadblocks[0].ops[0].name: operation "start"`},
		{tb0 + "ops/0/name", `"noop"`, diag.Unsupported, `gpus[1].threadblocks[0].ops[0].name: unknown operation "noop"`},
		{tb0 + "ops/0/name", "-", diag.Malformed, `gpus[1].threadblocks[0].ops[0]: key "name" is missing`},
		{tb0 + "ops/0/channel_ids", "[0]", diag.Malformed, `gpus[1].threadblocks[0].ops[0]: nop has no key "channel_ids"`},
		{tb0 + "ops/0/rank", "0", diag.Malformed, `gpus[1].threadblocks[0].ops[0]: unknown key "rank"`},
		{tb0 + "ops/5/channel_ids", "[0]", diag.Malformed, `gpus[1].threadblocks[0].ops[5]: copy has no key "channel_ids"`},
		{"collective", `"reducescatter"`, diag.Malformed, "gpus[0].output_chunks: is 4 where reducescatter"},
		{tb0 + "ops/2/channel_ids", "-", diag.Malformed, `gpus[1].threadblocks[0].ops[2]: key "channel_ids" is missing`},
		{tb0 + "ops/2/channel_ids", "[]", diag.Malformed, "gpus[1].threadblocks[0].ops[2].channel_ids: is empty"},
		{tb0 + "ops/2/channel_ids", "[0,2]", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[2].channel_ids[1]: is 2, and the block has 2 memory channels"},
		{tb0 + "ops/2/channel_ids", "[1,1]", diag.Malformed, "gpus[1].threadblocks[0].ops[2].channel_ids[1]: 1 stands twice"},
		{tb0 + "ops/2/channel_ids", many(9, "0"), diag.Limit, "gpus[1].threadblocks[0].ops[2].channel_ids: signal has 9"},
		{tb0 + "ops/2/channel_type", `"switch"`, diag.Malformed, `gpus[1].threadblocks[0].ops[2].channel_type: signal does not go through`},
		{tb0 + "ops/2/channel_type", `"port"`, diag.OutOfBounds, "gpus[1].threadblocks[0].ops[2].channel_ids[0]: is 0, and the block has 0 port channels"},
		{tb2 + "ops/6/channel_type", `"memory"`, diag.Malformed, "gpus[1].threadblocks[2].ops[6].channel_type: flush does not go through"},
		{tb2 + "ops/2/channel_type", `"memory"`, diag.Malformed, "gpus[1].threadblocks[2].ops[2].channel_type: pws does not go through"},
		{tb2 + "ops/1/channel_ids", "[0]", diag.Malformed, "gpus[1].threadblocks[2].ops[1].channel_ids: put has 1 for 2 destinations"},
		{tb2 + "ops/1/channel_ids", "-", diag.Malformed, "gpus[1].threadblocks[2].ops[1].channel_ids: put has 0 for 2 destinations"},
		// Barriers and semaphores.
		{tb0 + "ops/1/num_threadblocks", "5", diag.Malformed, "gpus[1].threadblocks[0].ops[1].num_threadblocks: is 5, and the rank has 4 blocks"},
		{tb0 + "ops/1/num_threadblocks", "2", diag.Malformed, "gpus[1].threadblocks[1].ops[0].num_threadblocks: is 3, and elsewhere 2"},
		{tb0 + "ops/1/barrier_id", "16", diag.Limit, "gpus[1].threadblocks[0].ops[1].barrier_id: is 16, more than 15"},
		{tb0 + "ops/1/barrier_id", "3", diag.Deadlock, "gpus[1]: barrier 3 is of 3 blocks, and only 1 come to it"},
		{"gpus/1/threadblocks/3/ops/+", `{"name":"barrier","barrier_id":0,"num_threadblocks":3}`, diag.Malformed, "gpus[1]: barrier 0 is of 3 blocks, and 4 blocks use it"},
		{tb0 + "ops/12/ops/0/semaphore_ids", "[2]", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[12].ops[0].semaphore_ids[0]: semaphore 2 is none of the rank's 2"},
		{tb0 + "ops/12/ops/0/semaphore_ids", many(17, "0"), diag.Limit, "gpus[1].threadblocks[0].ops[12].ops[0].semaphore_ids: sem_acquire has 17"},
		// Loops.
		{tb0 + "ops/12/ops/0", `{"name":"pipeline","iter_context":{"unit_size":1,"num_chunks":1},"ops":[]}`, diag.Malformed, "gpus[1].threadblocks[0].ops[12].ops[0].name: a loop stands in a loop"},
		{tb0 + "ops/12/iter_context/unit_size", `0`, diag.Malformed, "gpus[1].threadblocks[0].ops[12].iter_context.unit_size: is 0, less than 1"},
		{tb0 + "ops/12/iter_context", `-`, diag.Malformed, `gpus[1].threadblocks[0].ops[12]: key "iter_context" is missing`},
		// Operands.
		{tb0 + "ops/5/src_buff", `[]`, diag.Malformed, "gpus[1].threadblocks[0].ops[5].src_buff: copy has one operand here, not 0"},
		{tb0 + "ops/5/src_buff/+", local, diag.Malformed, "gpus[1].threadblocks[0].ops[5].src_buff: copy has one operand here, not 2"},
		{tb0 + "ops/5/src_buff/0/size", "0", diag.Malformed, "gpus[1].threadblocks[0].ops[5].src_buff[0].size: is 0"},
		{tb0 + "ops/5/src_buff/0/size", "1", diag.Counts, "gpus[1].threadblocks[0].ops[5].src_buff[0].size: is 1, and the destination's 2"},
		{tb0 + "ops/5/src_buff/0/index", "3", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[5].src_buff[0]: 2 chunks from 3 on are beyond the 4 of rank 1's input"},
		{tb0 + "ops/5/src_buff/0/index", "2147483647", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[5].src_buff[0]: 2 chunks"},
		{tb0 + "ops/5/src_buff/0/type", `"x"`, diag.Malformed, "gpus[1].threadblocks[0].ops[5].src_buff[0].type: is "},
		{tb0 + "ops/5/src_buff/0/buffer_id", `0`, diag.Malformed, "gpus[1].threadblocks[0].ops[5].src_buff[0]: an operand has one of type"},
		{tb0 + "ops/5/src_buff/0/rank", `0`, diag.Malformed, `gpus[1].threadblocks[0].ops[5].src_buff[0]: unknown key "rank"`},
		{tb0 + "ops/5/tbg_info/tb_id", "2", diag.Malformed, "gpus[1].threadblocks[0].ops[5].tbg_info.tb_id: is 2 in a group of 2"},
		{tb0 + "ops/6/src_buff/+", local, diag.Malformed, "gpus[1].threadblocks[0].ops[6]: put has 3 sources and 2 destinations"},
		{tb0 + "ops/6/src_buff", many(11, local), diag.Limit, "gpus[1].threadblocks[0].ops[6].src_buff: put has 11 operands"},
		{tb0 + "ops/6/src_buff/1/size", "2", diag.Counts, "gpus[1].threadblocks[0].ops[6].dst_buff[1].size: is 1, and the source's 2"},
		{tb0 + "ops/6/dst_buff/1/buffer_id", "2", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[6].dst_buff[1].buffer_id: is 2, and the block has 2 remote buffers"},
		{tb0 + "ops/6/dst_buff/1", local, diag.Malformed, "gpus[1].threadblocks[0].ops[6].dst_buff[1]: this operand of put is of another rank"},
		{tb0 + "ops/6/dst_buff/1/index", "4", diag.OutOfBounds, "gpus[1].threadblocks[0].ops[6].dst_buff[1]: 1 chunks from 4 on are beyond the 4 of rank 0's output"},
		{tb0 + "ops/6/channel_type", "-", diag.Malformed, `gpus[1].threadblocks[0].ops[6]: key "channel_type" is missing`},
		{tb0 + "ops/8/src_buff", "[" + local + "]", diag.Malformed, "gpus[1].threadblocks[0].ops[8].src_buff: re has 2 or more operands here, not 1"},
		{tb0 + "ops/8/reduce_op", `"prod"`, diag.Malformed, "gpus[1].threadblocks[0].ops[8].reduce_op: is "},
		{tb0 + "ops/5/reduce_op", `"sum"`, diag.Malformed, `gpus[1].threadblocks[0].ops[5]: copy has no key "reduce_op"`},
		{tb1 + "ops/2/dst_buff/0/type", `"o"`, diag.Malformed, "gpus[1].threadblocks[1].ops[2].dst_buff[0]: packets of cpkt lie in scratch, not in output"},
		{tb1 + "ops/3/src_buff/0/type", `"i"`, diag.Malformed, "gpus[1].threadblocks[1].ops[3].src_buff[0]: packets of upkt lie in scratch"},
		{tb2 + "ops/4/src_buff/0/type", `"i"`, diag.Malformed, "gpus[1].threadblocks[2].ops[4].src_buff[0]: packets of ppkt lie in scratch"},
		{tb2 + "ops/9/src_buff/0/switch_channel_id", "1", diag.OutOfBounds, "gpus[1].threadblocks[2].ops[9].src_buff[0].switch_channel_id: is 1, and the block has 1 switch channels"},
		{tb2 + "ops/9/src_buff/0", local, diag.Malformed, "gpus[1].threadblocks[2].ops[9].src_buff[0]: this operand of glres is of a switch channel"},
		{"gpus/0/scratch_chunks", "2", diag.OutOfBounds, "gpus[0].threadblocks[2].ops[11].dst_buff[0]: 1 chunks from 2 on are beyond the 2 of rank 0's scratch"},
	} {
		_, _, err := Read("x.json", bytes.NewReader(changed(t, every, c.path, c.value)), codegen.ReadOptions{Strict: true})
		var list diag.List
		if !errors.As(err, &list) {
			t.Errorf("%s = %s: %v, want %s", c.path, diag.Clip([]byte(c.value)), err, c.want)
			continue
		}
		found := false
		for _, d := range list {
			if found = found || strings.HasPrefix(d.Text, c.want); d.Code != c.code {
				t.Errorf("%s = %s: %v, want only %s", c.path, diag.Clip([]byte(c.value)), d, c.code)
			}
		}
		if !found {
			t.Errorf("%s = %s: %v, want %s", c.path, diag.Clip([]byte(c.value)), err, c.want)
		}
		if len(list) > diag.Shown {
			t.Errorf("%s = %s: %d errors", c.path, diag.Clip([]byte(c.value)), len(list))
		}
	}
}

// TestPlanErrorsHavePositions: an error has the line and the column of what it is about, and all errors are reported.
func TestPlanErrorsHavePositions(t *testing.T) {
	swap, err := os.ReadFile(filepath.Join("testdata", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(swap), `"name": "put"`, `"name": "give"`, 1)
	text = strings.Replace(text, `"name": "wait",`, `"colour": 1, "name": "wait",`, 1)
	_, _, err = Read("x.json", strings.NewReader(text), codegen.ReadOptions{Strict: true})
	var list diag.List
	if !errors.As(err, &list) || len(list) != 2 {
		t.Fatal(err)
	}
	for i, want := range []string{`"give"`, `"colour"`} {
		at := strings.Index(text, want)
		line := 1 + strings.Count(text[:at], "\n")
		if p := list[i].Span; p.Offset != at || p.Line != line || p.Column != at-strings.LastIndex(text[:at], "\n") {
			t.Errorf("%v is not at %s", list[i], want)
		}
	}
	text = strings.Replace(string(swap), `"channel_ids": [
                0
              ]`, `"channel_ids": [
                1
              ]`, 1)
	_, _, err = Read("x.json", strings.NewReader(text), codegen.ReadOptions{})
	if !errors.As(err, &list) || len(list) != 1 {
		t.Fatal(err)
	}
	if d := list[0]; d.Rank != 0 || d.Block != 0 || d.Step != 0 ||
		text[d.Span.Offset:d.Span.Offset+d.Span.Len] != `"name": "rlxsignal"` {
		t.Errorf("%+v is not at the operation", d)
	}
}

// TestIgnoredKeys: a key that MSCCL++ ignores is a warning at its place, and an error with Strict; one that is nearly
// known is an error beside others. A block's channels may have a buffer, whose type is checked.
func TestIgnoredKeys(t *testing.T) {
	swap, err := os.ReadFile(filepath.Join("testdata", "swap.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, plain, err := Read("x.json", bytes.NewReader(swap), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(swap), `"name": "wait",`, `"colour": [{"x": 1}], "name": "wait",`, 1)
	text = strings.Replace(text, `"id": 1,`, `"id": 1, "note": "second",`, 1)
	f, p, err := Read("x.json", strings.NewReader(text), codegen.ReadOptions{})
	if err != nil || shown(t, p) != shown(t, plain) {
		t.Fatalf("another program, or %v", err)
	}
	if len(f.Ignored) != 1 || f.Ignored[0].Code != diag.MSCCLPPKey || f.Ignored[0].Span.Line == 0 ||
		f.Ignored[0].Text != `gpus[0].threadblocks[0].ops[6]: unknown key "colour", which MSCCL++ ignores (and 1 more like it)` {
		t.Errorf("%v", f.Ignored)
	}
	var list diag.List
	if _, _, err := Read("x.json", strings.NewReader(text), codegen.ReadOptions{Strict: true}); !errors.As(err, &list) ||
		len(list) != 2 || list[0].Code != diag.Malformed {
		t.Errorf("with Strict: %v", err)
	}
	text = strings.Replace(text, `"inplace"`, `"inplaec"`, 1)
	if _, _, err := Read("x.json", strings.NewReader(text), codegen.ReadOptions{}); !errors.As(err, &list) || len(list) != 2 ||
		list[0].Text != `plan: unknown key "inplaec"` && list[1].Text != `plan: unknown key "inplaec"` {
		t.Errorf("beside others: %v", err)
	}
	for buff, good := range map[string]bool{`"i"`: true, `"s"`: true, `"x"`: false, `1`: false} {
		text := changed(t, swap, "gpus/1/threadblocks/0/channels/0/buff", buff)
		f, p, err := Read("x.json", bytes.NewReader(text), codegen.ReadOptions{Strict: true})
		if (err == nil) != good || good && (p.Coll.Ranks != plain.Coll.Ranks || len(f.Ignored) > 0) {
			t.Errorf("buff %s: %v", buff, err)
		}
	}
}
