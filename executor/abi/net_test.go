package abi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// to returns an operand of a rank.
func to(rank, index int32, buf ir.Buf) onesided.Operand {
	return onesided.Operand{Rank: rank, Index: index, Buf: buf}
}

// mv returns a Move of a number of chunks from the own input; sig signals flags; put changes the flags of either.
func mv(count int32, dst ...onesided.Operand) func(*onesided.Program) {
	return netStep(ir.Move, count, 0, dst)
}
func sig(dst ...onesided.Operand) func(*onesided.Program) { return netStep(ir.Signal, 0, 0, dst) }
func marked(op ir.Op, count int32, flags ir.StepFlags, dst ...onesided.Operand) func(*onesided.Program) {
	return netStep(op, count, flags, dst)
}

func netStep(op ir.Op, count int32, flags ir.StepFlags, dst []onesided.Operand) func(*onesided.Program) {
	return func(p *onesided.Program) {
		o := p
		s := ir.Step{Op: op, Flags: flags, Count: count, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1,
			Pos: int32(len(p.Spans)), Src: int32(len(o.Operands)), NDst: int16(len(dst))}
		p.Spans = append(p.Spans, diag.Span{Pos: diag.Pos{Filename: "net", Line: len(p.Spans) + 1}})
		if op == ir.Move {
			o.Operands, s.NSrc, s.Class = append(o.Operands, to(0, 1, ir.Input)), 1, 1
		}
		s.Dst = int32(len(o.Operands))
		o.Operands = append(o.Operands, dst...)
		p.Steps = append(p.Steps, s)
	}
}

// netProgram has one block, of rank 0, with these steps.
func netProgram(onePass bool, steps ...func(*onesided.Program)) *onesided.Program {
	p := &onesided.Program{Program: ir.Program{
		Header: ir.Header{Name: "net", Coll: &ir.Collective{Kind: ir.AllGather, Ranks: 4, Chunks: 4},
			Protocol: ir.LL, RanksPerNode: 2}, Scratch: []int32{8, 8, 8, 8}}, Depth: 1, OnePass: onePass,
		Flags: []int32{4, 4, 4, 4}, Packets: []int32{4, 4, 4, 4}}
	for _, add := range steps {
		add(p)
	}
	p.Blocks = []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{End: int32(len(p.Steps))}}}
	p.Rank = []ir.Range{{End: 1}, {First: 1, End: 1}, {First: 1, End: 1}, {First: 1, End: 1}}
	return p
}

// TestNet holds what Signals carry to ranks 2 and 3, which are of another node than ranks 0 and 1.
func TestNet(t *testing.T) {
	s, f := func(rank, index int32) onesided.Operand { return to(rank, index, ir.Scratch) },
		func(rank, index int32) onesided.Operand { return to(rank, index, ir.Flags) }
	for _, c := range []struct {
		name     string
		p        *onesided.Program
		messages []NetMessage
		segments []NetSegment // count the chunks of inboxes
	}{
		{"its node", netProgram(false, mv(1, s(1, 0)), sig(f(1, 0))), nil, nil},
		{"runs that meet", netProgram(false, mv(2, s(2, 4), s(1, 0)), sig(f(1, 0), f(2, 3))),
			[]NetMessage{{0, 4, 2, 0, 1}}, []NetSegment{{0, 2, 1}}},
		{"two ranks, and no data twice",
			netProgram(false, mv(1, s(2, 1)), mv(1, s(3, 1), s(2, 1)), sig(f(2, 0)), sig(f(3, 0), f(2, 1))),
			[]NetMessage{{0, 5, 2, 0, 1}, {0, 6, 3, 1, 1}, {0, 7, 2, 2, 0}}, []NetSegment{{0, 1, 1}, {0, 1, 1}}},
		{"a group", netProgram(false, mv(1, s(2, 0)), sig(f(2, 0)), marked(ir.Move, 1, ir.Joint, s(2, 5)), sig(f(2, 1))),
			[]NetMessage{{0, 2, 2, 0, 1}, {0, 5, 2, 1, 1}}, []NetSegment{{0, 1, 1}, {1, 1, 1}}},
		{"enter", netProgram(false, mv(1, s(2, 0)), marked(ir.Signal, 0, ir.Enter, f(2, 0)), sig(f(2, 1))),
			[]NetMessage{{0, 2, 2, 0, 0}, {0, 3, 2, 0, 1}}, []NetSegment{{0, 1, 1}}},
		{"one pass", netProgram(true, mv(1, s(2, 0)), marked(ir.Signal, 0, ir.Leave, f(2, 0))),
			[]NetMessage{{0, 2, 2, 0, 1}}, []NetSegment{{0, 1, 1}}},
	} {
		img, err := NewImage(either.OfOneSided(c.p))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := img.Net([]int{0, 0, 1, 1})
		if err != nil || !slices.Equal(got.Messages, c.messages) || !slices.Equal(got.Segments, c.segments) {
			t.Errorf("%s: %+v, %v; want %+v and %+v", c.name, got, err, c.messages, c.segments)
		}
		if got, err := img.Net([]int{5, 5, 5, 5}); err != nil || len(got.Messages) > 0 || got.Inboxes.Chunks > 0 {
			t.Errorf("%s, of one node: %+v, %v", c.name, got, err)
		}
	}
}

// TestInboxes holds which chunks inboxes have, and what operands name in them: two chunks come from another node, and a
// step of rank 2 has a third together with one of these.
func TestInboxes(t *testing.T) {
	p := netProgram(false, mv(1, to(2, 1, ir.Scratch)), mv(1, to(2, 6, ir.Scratch)), mv(2, to(2, 5, ir.Scratch)),
		mv(1, to(0, 1, ir.Scratch)), mv(1, to(2, 3, ir.Scratch)), sig(to(2, 3, ir.Flags), to(1, 3, ir.Flags)))
	img, err := NewImage(either.OfOneSided(p))
	if err != nil {
		t.Fatal(err)
	}
	table, err := img.Net([]int{0, 0, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if in := &table.Inboxes; in.Chunks != 4 || !in.Of(2) || in.Of(0) || in.Of(1) || in.Of(3) {
		t.Errorf("%+v", in)
	}
	part := img.One.Part(func(int) bool { return true })
	for i := range part.Steps {
		part.Steps[i].Flags |= onePort
	}
	uses := part.Deliver(&table.Inboxes)
	if want := []bool{false, false, true, false}; !slices.Equal(uses, want) {
		t.Errorf("the part uses the inboxes %v", uses)
	}
	var got []string
	for _, s := range part.Steps {
		for _, o := range part.Operands[s.First+uint32(s.Srcs):][:s.Dsts] {
			got = append(got, fmt.Sprint(o.Rank, o.Buf, o.Index, s.Flags&onePort != 0))
		}
	}
	want := []string{"2 5 0 false", "2 5 3 false", "2 5 2 false", "0 2 1 true", "2 5 1 false", "2 6 3 true", "1 4 3 true"}
	if !slices.Equal(got, want) {
		t.Errorf("operands are %q", got)
	}
}

// TestNetRefuses holds why steps cannot reach another node, and where they are.
func TestNetRefuses(t *testing.T) {
	read := func(p *onesided.Program) {
		mv(1, to(0, 0, ir.Scratch))(p)
		p.Operands[len(p.Operands)-2].Rank = 3
	}
	loose := func(p *onesided.Program) {
		mv(1, to(2, 0, ir.Scratch))(p)
		p.OnePass = true
		for i := range p.Steps {
			p.Steps[i].Flags |= ir.Loose
		}
	}
	all := to(ir.AllRanks, 0, ir.Scratch)
	all.Via = ir.ViaSwitch
	for _, c := range []struct {
		step       func(*onesided.Program)
		text, hint string
	}{
		{mv(1, to(2, 0, ir.Output)), "writes output of rank 2", "--nodes N"},
		{mv(1, to(3, 0, ir.Packets)), "sends packets to rank 3", "--nodes N"},
		{read, "reads input of rank 3", "--sided lowered"},
		{loose, "is of a loose block", "without blocks that launches do not wait for"},
		{mv(1, all), "a switch", "without a switch"},
		{mv(1, to(2, 0, ir.Scratch)), "signals rank 2", ""},
	} {
		img, err := NewImage(either.OfOneSided(netProgram(false, sig(to(2, 0, ir.Flags)), c.step)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = img.Net([]int{0, 0, 1, 1})
		list, _ := err.(diag.List)
		if len(list) != 1 || !strings.Contains(list[0].Text, c.text) || !strings.Contains(list[0].Hint, c.hint) ||
			list[0].Span.Line != 2 || list[0].Step != 1 || list[0].Rank != 0 {
			t.Errorf("%q: %+v", c.text, err)
		}
	}
}
