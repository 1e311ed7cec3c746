package mscclpp_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/channels"

	"github.com/google/go-cmp/cmp"
)

// connectedToItself returns a plan of one rank with two port channels to itself. It puts its input into its output
// through the first, signals on that, and waits on channel wait.
func connectedToItself(wait int) string {
	return fmt.Sprintf(`{"name":"alone","collective":"allreduce","protocol":"Simple","inplace":false,"gpus":[
 {"id":0,"input_chunks":1,"output_chunks":1,"scratch_chunks":1,
  "threadblocks":[{"id":0,"ops":[
    {"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"s","index":0,"size":1}]},
    {"name":"nop"},
    {"name":"pwsf","channel_ids":[0],"channel_type":"port","src_buff":[{"type":"s","index":0,"size":1}],
     "dst_buff":[{"buffer_id":0,"index":0,"size":1}]},
    {"name":"wait","channel_ids":[%d],"channel_type":"port"}],
   "channels":[{"channel_type":"port","channel_ids":[0,1]}],
   "remote_buffer_refs":[{"access_channel_type":"port","remote_buffer_ids":[0]}]}],
  "channels":[{"channel_type":"port","connected_to":[0,0]}],
  "remote_buffers":[{"rank":0,"type":"o","access_channel_types":["port"]}]}]}`, wait)
}

// TestConnectedToItself: MSCCL++ connects a rank to itself, by channels that are their own other ends: a wait takes the
// signals of its own channel, and of no other. What is read is written as it was.
func TestConnectedToItself(t *testing.T) {
	for wait, want := range []string{"", "signals rank 0, which never waits for it"} {
		_, p, err := mscclpp.Read("x.json", strings.NewReader(connectedToItself(wait)), codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, found := channels.Check(p, verify.Options{})
		if want == "" && len(found) > 0 || want != "" && (len(found) == 0 || !strings.Contains(found[0].Text, want)) {
			t.Errorf("waits on channel %d: %v", wait, found)
		}
		again, err := mscclpp.PlanOf(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := again.Channels(codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Ranks, q.Ranks); diff != "" {
			t.Errorf("written as another one: %s", diff)
		}
	}
}

// TestGetOfItself: the executor swaps the ends of a get, also where the rank has itself for the other one.
func TestGetOfItself(t *testing.T) {
	text := strings.NewReplacer(`"port"`, `"memory"`, `"name":"pwsf"`, `"name":"get"`, `"output_chunks":1`, `"output_chunks":2`,
		`"input_chunks":1`, `"input_chunks":2`, `"src_buff":[{"type":"s","index":0,"size":1}],
     "dst_buff":[{"buffer_id":0,"index":0,"size":1}]`, `"src_buff":[{"buffer_id":0,"index":1,"size":1}],
     "dst_buff":[{"type":"o","index":0,"size":1}]`).Replace(connectedToItself(0))
	_, p, err := mscclpp.Read("x.json", strings.NewReader(text), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found := mscclpp.Faults(p); len(found) == 0 || found[0].Code != diag.MSCCLPPGet {
		t.Errorf("%v", found)
	}
}
