package program

import (
	"bytes"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/msccl"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/onesided"
	"mscclc/ir/text"
)

// oneSidedPrograms are swap and random ones.
func oneSidedPrograms(n int) []*either.Program {
	list := []*either.Program{codegentest.Swap()}
	for seed := range int64(n) {
		list = append(list, codegentest.RandomOneSided(rand.New(rand.NewSource(seed))))
	}
	return list
}

// A one-sided program is the same after a plan, JSON and text, and MSCCL-IR
// refuses it.
func TestOneSidedRoundTrips(t *testing.T) {
	steps := 0
	for _, p := range oneSidedPrograms(300) {
		steps += len(p.Steps)
		throughPlans(t, p)
		var b bytes.Buffer
		if err := text.WriteProgram(&b, p); err != nil {
			t.Fatal(err)
		}
		got, err := parse.Program("x", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := codegentest.Diff(p, got); diff != "" {
			t.Fatalf("through text: %s", diff)
		}
		for _, to := range []string{"msccl", "rccl"} {
			var list diag.List
			if err := msccl.Write(&b, p, codegentest.Target(t, to)); !errors.As(err, &list) || len(list) != 1 ||
				list[0].Code != diag.Unsupported || !strings.Contains(list[0].Hint, "--sided two") {
				t.Fatalf("%s: %v", to, err)
			}
		}
	}
	if steps < 1000 {
		t.Errorf("the programs had only %d steps", steps)
	}
}

// TestOneSidedPlanRejects names what is wrong with plans whose sums are right.
func TestOneSidedPlanRejects(t *testing.T) {
	b := Encode(codegentest.Swap())
	layout := newLayout(codegentest.Swap())
	row, part := layout.at[secRanks], layout.at[secParts]
	step := part + planBlockSize
	signal := step + 3*planStepSize
	operand := step + 5*planStepSize // input[0], packets, 3 and 2, 2 switch's, a flag, a flag
	flag := operand + 8*planOperandSize
	await := flag + planOperandSize
	put := func(at int, n uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], n) } }
	set := func(at int, n byte) func([]byte) { return func(b []byte) { b[at] = n } }
	for _, c := range []struct {
		name string
		edit func([]byte)
		code diag.Code
		text string
	}{
		{"both features", put(16, 3), diag.Malformed, "features 0x3"},
		{"no feature", put(16, 0), diag.Malformed, "features 0x0"},
		{"a feature of later", put(16, 34), diag.Unsupported, "needs features 0x20"},
		{"an order of no feature", set(signal+3, byte(ir.Relaxed|ir.Leave)), diag.Malformed, "has features 0x2, and needs 0x6"},
		{"one pass of no feature", put(76, planInplace|planForInPlace|planEven|planOnePass), diag.Malformed, "has features 0x2, and needs 0x6"},
		{"one pass of two-sided steps", func(b []byte) {
			le.PutUint32(b[16:], planTwoSided)
			le.PutUint32(b[100:], 0)
			le.PutUint32(b[76:], planOnePass)
		}, diag.Malformed, "launches of one pass"},
		{"the other feature", put(16, 1), diag.Malformed, "has 2 copies of packets"},
		{"no depth", put(100, 0), diag.Malformed, "there are 0 copies"},
		{"depth", put(100, 1<<20), diag.Limit, "there are 1048576 copies"},
		{"cells", put(row+40, 1<<30), diag.Limit, "packets, at most"},
		{"packets", put(row+40, 1<<31), diag.Malformed, "has -2147483648 packets"},
		{"flags", put(row+44, 1<<31), diag.Malformed, "has -2147483648 flags"},
		{"operands", put(row+48, 1<<31), diag.Malformed, "part of rank 0 is out of place"},
		{"row", put(row+52, 1), diag.Malformed, "row of rank 0 ends in no zero"},
		{"peer", put(part, 1), diag.Malformed, "has peers"},
		{"replicas of a CTA of no feature", put(part+4, 4), diag.Malformed, "has peers"},
		{"replicas of a CTA", func(b []byte) { le.PutUint32(b[16:], 10); le.PutUint32(b[part+4:], 3) }, diag.Malformed, "has 3 replicas together in a CTA"},
		{"two-sided operation", set(step, byte(ir.Copy)), diag.Malformed, "operation 7"},
		{"operation", set(step, 99), diag.Malformed, "operation 99"},
		{"buffer", set(step+1, 0), diag.Malformed, "the operands or the wait of a two-sided step"},
		{"step flags", set(step+3, byte(ir.HasDep)), diag.Malformed, "flags 1"},
		{"sources", put(step+4, 1), diag.Malformed, "does not hold the operands from 0"},
		{"destinations", put(step+8, 0), diag.Malformed, "does not hold the operands from 0"},
		{"count of a move", put(step+12, 0), diag.Malformed, "(mv) moves 0 chunks"},
		{"count of a signal", put(signal+12, 1), diag.Malformed, "moves nothing, and has a count or a class"},
		{"class of a signal", put(signal+16, 1), diag.Malformed, "moves nothing, and has a count or a class"},
		{"number of operands", put(step+20, 1), diag.Malformed, "does not hold the operands from 1"},
		{"negative number of operands", put(step+20, 1<<31), diag.Malformed, "does not hold the operands from 0"},
		{"wait", put(step+24, 1), diag.Malformed, "does not hold the operands from 0"},
		{"position", put(step+28, 0), diag.Malformed, "is at source position 0 of 0"},
		{"rank", put(operand, 2), diag.OutOfBounds, "has a source on rank 2 of 2"},
		{"all ranks in memory", put(operand, 1<<32-1), diag.Malformed, "does not go through the switch"},
		{"one rank through the switch", set(operand+13, byte(ir.ViaSwitch)), diag.Malformed, "the switch is for what all ranks have"},
		{"index", put(operand+4, 2), diag.OutOfBounds, "has input[2]*1 of rank 0 as its source, and that has 2"},
		{"negative index", put(operand+4, 1<<31), diag.OutOfBounds, "and that has 2"},
		{"packets of the other rank", put(operand+planOperandSize+4, 1), diag.OutOfBounds, "has packets[1]*1 of rank 1 as its destination, and that has 1"},
		{"times", put(operand+8, 1), diag.Malformed, "counts to 1 at a source"},
		{"buffer of flags", set(operand+12, byte(ir.Flags)), diag.Malformed, "has flags as its source"},
		{"buffer beyond", set(operand+12, 5), diag.Malformed, "has no buffer as its source"},
		{"way", set(operand+13, 4), diag.Malformed, "by way 4"},
		{"zero", set(operand+14, 1), diag.Malformed, "ends in no zero"},
		{"signal in input", set(flag+12, byte(ir.Input)), diag.Malformed, "has input as its destination"},
		{"signal by a way", set(flag+13, byte(ir.ViaPort)), diag.Malformed, "by way of port"},
		{"flag", put(flag+4, 2), diag.OutOfBounds, "has flags[2]*1 of rank 1 as its destination, and that has 2"},
		{"flag of another awaited", put(await, 1), diag.Malformed, "has flags of rank 1 as its source, and waits for its own only"},
	} {
		bad := bytes.Clone(b)
		c.edit(bad)
		reseal(bad)
		_, err := readPlan(bad)
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != c.code || !strings.Contains(list[0].Text, c.text) ||
			list[0].Span.Filename != "x.mprog" {
			t.Errorf("%s: %v, want [%s] with %q", c.name, err, c.code, c.text)
		}
	}
}

func TestOneSidedJSONRejects(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, codegentest.Swap()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, text string }{
		{`"depth":2,`, "", "has packets or flags"},
		{`"depth":2,`, `"depth":-2,`, "there are -2 copies"},
		{`"depth":2,`, `"one_pass":true,`, "not one-sided"},
		{`"op":"mv"`, `"op":"cpy"`, `op: is "cpy", which is none of`},
		{`"via":"port"`, `"via":"air"`, `via: is "air", which is none of`},
		{`"buf":"p"`, `"buf":"q"`, `buf: is "q", which is none of`},
		{`"to":[{"rank":1`, `"to":[{"rank":7`, "has a destination on rank 7 of 2"},
		{`"buf":"i","index":1,"via":"switch"`, `"buf":"i","index":1`, "does not go through the switch"},
		{`"count":1`, `"count":9`, "as its source, and that has"},
		{`"joint":true`, `"hasdep":true`, "flags 3"},
		{`"count":1`, `"wait":[0,0],"count":1`, "the operands or the wait of a two-sided step"},
	} {
		bad := strings.Replace(b.String(), c.old, c.new, 1)
		if bad == b.String() {
			t.Errorf("no %q in the plan", c.old)
		}
		if _, err := ReadJSON("x.mprog.json", strings.NewReader(bad), codegen.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.new, err, c.text)
		}
	}
}

// oneSidedPlan returns a plan of one rank with n/each times what add adds.
func oneSidedPlan(each int, add func(p *either.Program)) func(n int) []byte {
	return func(n int) []byte {
		empty := codegentest.Empty("h", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1})
		p := either.OfOneSided(&onesided.Program{Program: *empty.Program, Depth: 1, Packets: []int32{0}, Flags: []int32{1}})
		for range n / each {
			add(p)
		}
		p.Blocks = []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{End: int32(len(p.Steps))}}}
		p.Rank = []ir.Range{{End: 1}}
		return Encode(p)
	}
}

func TestHostileOneSidedPlans(t *testing.T) {
	addMove := func(nsrc int, change func(s *ir.Step, x *onesided.Operand)) func(p *either.Program) {
		return func(p *either.Program) {
			o := p.OneSided
			s := ir.Step{Op: ir.Move, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1,
				Src: int32(len(o.Operands)), NSrc: int16(nsrc), Dst: int32(len(o.Operands) + nsrc), NDst: 1}
			x := onesided.Operand{Buf: ir.Input}
			change(&s, &x)
			for range nsrc {
				o.Operands = append(o.Operands, x)
			}
			o.Operands = append(o.Operands, onesided.Operand{Buf: ir.Output})
			p.Steps = append(p.Steps, s)
		}
	}
	plain := func(*ir.Step, *onesided.Operand) {}
	each := planStepSize + 2*planOperandSize
	codegentest.JudgeTricks(t, 20, codegentest.Tricks{
		{"moves", oneSidedPlan(each, addMove(1, plain)), ""},
		{"moves of many sources", oneSidedPlan(1<<14*planOperandSize, addMove(1<<14, plain)), ""},
		{"counts", oneSidedPlan(each, addMove(1, func(s *ir.Step, x *onesided.Operand) { s.Count = 1<<31 - 1 })), "of rank 0 as its source, and that has 1"},
		{"offsets", oneSidedPlan(each, addMove(1, func(s *ir.Step, x *onesided.Operand) { x.Index = 1<<31 - 1 })), "of rank 0 as its source, and that has 1"},
		{"ranks beyond", oneSidedPlan(each, addMove(1, func(s *ir.Step, x *onesided.Operand) { x.Rank = 1<<31 - 1 })), "has a source on rank 2147483647 of 1"},
		{"reads of the switch", oneSidedPlan(each, addMove(1, func(s *ir.Step, x *onesided.Operand) { x.Rank, x.Via = ir.AllRanks, ir.ViaSwitch })), ""},
		{"numbers of operands", func(n int) []byte {
			b := oneSidedPlan(each, addMove(1, plain))(n)
			part := int(le.Uint64(b[sectionTable+secParts*sectionSize:]))
			le.PutUint32(b[part+planBlockSize+20:], 1<<31-1)
			reseal(b)
			return b
		}, "does not hold the operands"},
	}, func(b []byte) error {
		_, err := Decode("h.mprog", b, codegen.ReadOptions{})
		return err
	})
}
