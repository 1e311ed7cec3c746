package mscclpp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
)

// TestPlanCollectives: the collective follows from its name and from the ranks' chunks, one of which may be left out,
// and is named again.
func TestPlanCollectives(t *testing.T) {
	for _, c := range []struct {
		name      string
		in, out   int
		want      string // of ir.Collective, or of the error
		namedBack string
	}{
		{"allreduce", 6, 6, "allreduce ranks=3 chunks=6", "allreduce"},
		{"allreduce", 6, 0, "output_chunks: is 0", ""},
		{"allgather", 2, 6, "allgather ranks=3 chunks=2", "allgather"},
		{"allgather", 0, 6, "input_chunks: is 0", ""},
		{"allgather", 2, 0, "output_chunks: is 0", ""},
		{"reducescatter", 6, 2, "reducescatter ranks=3 chunks=2", "reducescatter"},
		{"reducescatter", 0, 2, "input_chunks: is 0", ""},
		{"alltoall", 3, 3, "alltoall ranks=3 chunks=1", "alltoall"},
		{"sendrecv", 2, 2, "opaque ranks=3 chunks=2", "custom"},
		{"test", 4, 1, "opaque ranks=3 chunks=4", "custom"},
		{"custom", 1, 5, "opaque ranks=3 chunks=5", "custom"},
		{"custom", 0, 5, "input_chunks: is 0", ""},
		{"alltoall", 4, 4, "no multiple of its 3 ranks", ""},
		{"allgather", 2, 5, "no multiple of its 3 ranks", ""},
		{"allgather", 1, 6, "is 1 where allgather", ""},
		{"reducescatter", 6, 3, "is 3 where reducescatter", ""},
		{"allreduce", 0, 0, "input_chunks: is 0", ""},
	} {
		var ranks []string
		for r := range 3 {
			ranks = append(ranks,
				fmt.Sprintf(`{"id":%d,"input_chunks":%d,"output_chunks":%d,"scratch_chunks":0,"threadblocks":[],"channels":[],"remote_buffers":[]}`, r, c.in, c.out))
		}
		text := fmt.Sprintf(`{"name":"x","collective":%q,"protocol":"Simple","inplace":false,"gpus":[%s]}`, c.name,
			strings.Join(ranks, ","))
		_, p, err := Read("x.json", strings.NewReader(text), codegen.ReadOptions{})
		if err != nil {
			if c.namedBack != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %d %d: %v", c.name, c.in, c.out, err)
			}
			continue
		}
		f, err := PlanOf(p)
		if err != nil || p.Coll.String() != c.want || f.Collective != c.namedBack {
			t.Errorf("%s %d %d: %v, %v", c.name, c.in, c.out, p.Coll, err)
		}
	}
}

// TestWrittenOperations: what MSCCL++ has in another form is written in it, and what it does not have is refused, as
// what its executor has no room for.
func TestWrittenOperations(t *testing.T) {
	in, out, s := ir.ChannelRef{Buf: ir.Input, Count: 1}, ir.ChannelRef{Buf: ir.Output, Count: 1},
		ir.ChannelRef{Buf: ir.Scratch, Count: 1, Packets: true}
	far, farPackets := ir.ChannelRef{Rank: 1, Buf: ir.Output, Count: 1},
		ir.ChannelRef{Rank: 1, Buf: ir.Scratch, Count: 1, Packets: true}
	memory := func(kind ir.ChannelOpKind, srcs, dsts []ir.ChannelRef) ir.ChannelOp {
		return ir.ChannelOp{Kind: kind, Type: ir.MemoryChannel, Srcs: srcs, Dsts: dsts, Pos: -1}
	}
	refs := func(r ...ir.ChannelRef) []ir.ChannelRef { return r }
	body := make([]ir.ChannelOp, 64)
	for _, c := range []struct {
		op   ir.ChannelOp
		want string // its name, or the error
	}{
		{memory(ir.ChMove, refs(in), refs(far, far)), "put"},
		{memory(ir.ChMove, refs(in), refs(farPackets)), "ppkt"},
		{memory(ir.ChMove, refs(far), refs(out)), "get"},
		{memory(ir.ChEach, refs(in), refs(out)), "copy"},
		{memory(ir.ChEach, refs(in), refs(s)), "cpkt"},
		{memory(ir.ChEach, refs(s), refs(out)), "upkt"},
		{memory(ir.ChMove, refs(s), refs(farPackets)), "rppkt"},
		{memory(ir.ChMove, refs(in, far, s), refs(out)), "MSCCL++ has no operation for this: mv input[0] + 1:output[0]@memory + packets[0] -> output[0]"},
		{memory(ir.ChEach, refs(in, in), refs(out, s)), "MSCCL++ has no operation for this: each input[0] -> output[0], input[0] -> packets[0]"},
		{memory(ir.ChMove, refs(in), make([]ir.ChannelRef, 11)), "MSCCL++ has no operation for this"},
		{memory(ir.ChEachSignal, refs(in), refs(far)), "MSCCL++ has no operation for this: each input[0] -> 1:output[0]@memory signal"},
		{ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 1, Chunks: 1, Body: body, Pos: -1}, "block 0 of rank 0 has 65 operations, with the bodies of loops, where MSCCL++ has room for 64"},
		{ir.ChannelOp{Kind: ir.ChBarrier, Type: ir.NoChannel, ID: 16, Blocks: 1, Pos: -1}, "barrier 17 of rank 0: MSCCL++ has room for 16 of a rank"},
		{ir.ChannelOp{Kind: ir.ChAcquire, Type: ir.NoChannel, Semaphores: make([]int32, 17), Pos: -1}, "17 semaphores in one operation, where MSCCL++ has room for 16"},
		{ir.ChannelOp{Kind: ir.ChSignal, Type: ir.MemoryChannel, Channels: make([]int32, 9), Pos: -1}, "9 channels in one operation, where MSCCL++ has room for 8"},
	} {
		p := allToAll(2)
		p.Ranks[0].Scratch, p.Ranks[1].Scratch = 1, 1
		p.Ranks[0].Blocks = [][]ir.ChannelOp{{c.op}}
		f, err := PlanOf(p)
		var list diag.List
		if errors.As(err, &list) {
			if !strings.HasPrefix(list[0].Text, c.want) || list[0].Rank != 0 || list[0].Block != 0 {
				t.Errorf("%v, want %s", err, c.want)
			}
			continue
		}
		if got := f.GPUs[0].Blocks[0].Ops[0].Name; got != c.want {
			t.Errorf("%s is %s, want %s", text.OpText(p, 0, &c.op), got, c.want)
		}
		var b bytes.Buffer
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read("x.json", &b, codegen.ReadOptions{}); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// A rank has as many port channels as a proxy's requests can name.
func TestPortsOfARank(t *testing.T) {
	p := allToAll(2)
	p.Ranks[1].Channels[ir.PortChannel] = make([]ir.Channel, MaxPorts)
	if _, err := PlanOf(p); err != nil {
		t.Error(err)
	}
	p.Ranks[1].Channels[ir.PortChannel] = make([]ir.Channel, MaxPorts+1)
	if _, err := PlanOf(p); err == nil ||
		!strings.Contains(err.Error(), "rank 1 has 1025 port channels, where MSCCL++ has room for 1024") {
		t.Error(err)
	}
}
