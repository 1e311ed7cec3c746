package codegen

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"mscclc/codegen/xmljudge"
	"mscclc/ir"
)

var update = flag.Bool("update", false, "write the fixtures of testdata anew")

// ring is AllReduce round a ring, in place, as MSCCLang's example has it.
func ring(ranks int) *ir.Program {
	p := empty("ring", &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true})
	for r := range ranks {
		at := func(k int) int32 { return int32(((r-k)%ranks + ranks) % ranks) }
		var steps []ir.Step
		add := func(op ir.Op, k int) {
			s := ir.Step{Op: op, SrcBuf: ir.Input, DstBuf: ir.Input, Src: at(k), Dst: at(k), Count: 1, Class: at(k), DepBlock: -1, DepStep: -1, Pos: -1}
			canonical(&s)
			steps = append(steps, s)
		}
		add(ir.Send, 0)
		for k := 1; k < ranks-1; k++ {
			add(ir.RecvReduceSend, k)
		}
		add(ir.RecvReduceCopySend, ranks-1)
		for k := range ranks - 2 {
			add(ir.RecvCopySend, k)
		}
		add(ir.Recv, ranks-2)
		addBlock(p, r, (r+1)%ranks, (r-1+ranks)%ranks, 0, steps...)
	}
	return p
}

// pairs is AllReduce of two ranks out of place, whose second block waits.
func pairs() *ir.Program {
	p := empty("pairs", &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1})
	for r := range 2 {
		step := func(op ir.Op, s ir.Buf, si int32, d ir.Buf, di int32) ir.Step {
			st := ir.Step{Op: op, SrcBuf: s, DstBuf: d, Src: si, Dst: di, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1}
			canonical(&st)
			return st
		}
		copied := step(ir.Copy, ir.Input, 0, ir.Output, 0)
		copied.Flags = ir.HasDep
		got := step(ir.Recv, ir.NoBuf, 0, ir.Scratch, 0)
		got.Flags = ir.HasDep
		sum := step(ir.Reduce, ir.Scratch, 0, ir.Output, 0)
		sum.DepBlock, sum.DepStep = 0, 1
		nop := ir.Step{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: 1, DepStep: 0, Pos: -1}
		addBlock(p, r, 1-r, 1-r, 0, step(ir.Send, ir.Input, 0, ir.NoBuf, 0), got)
		addBlock(p, r, -1, -1, 0, copied)
		addBlock(p, r, -1, -1, 0, nop, sum)
		p.Scratch[r] = 1
	}
	return p
}

// rootedRanks is Gather or Scatter among three ranks with one message each,
// straight into place.
func rootedRanks(kind ir.Kind, inplace bool) *ir.Program {
	const root = 1
	c := &ir.Collective{Kind: kind, Ranks: 3, Chunks: 2, Root: root, Inplace: inplace}
	p := empty(kind.String(), c)
	step := func(op ir.Op, b ir.Buf, at int) ir.Step {
		s := ir.Step{Op: op, SrcBuf: b, DstBuf: b, Src: int32(at), Dst: int32(at), Count: 2, DepBlock: -1, DepStep: -1, Pos: -1}
		canonical(&s)
		return s
	}
	for r := range 3 {
		switch {
		case r == root:
			for _, peer := range []int{0, 2} {
				if kind == ir.Gather {
					addBlock(p, r, -1, peer, 0, step(ir.Recv, ir.Output, 2*peer))
				} else {
					addBlock(p, r, peer, -1, 0, step(ir.Send, ir.Input, 2*peer))
				}
			}
			copied := step(ir.Copy, ir.Input, 0)
			if copied.DstBuf = ir.Output; kind == ir.Gather {
				copied.Dst = 2 * root
			} else {
				copied.Src = 2 * root
			}
			if !inplace {
				addBlock(p, r, -1, -1, 0, copied)
			}
		case kind == ir.Gather:
			addBlock(p, r, root, -1, 0, step(ir.Send, ir.Input, 0))
		default:
			addBlock(p, r, -1, root, 0, step(ir.Recv, ir.Output, 0))
		}
	}
	return p
}

func empty(name string, c *ir.Collective) *ir.Program {
	return &ir.Program{Header: ir.Header{Name: name, Coll: c, RanksPerNode: c.Ranks}, Scratch: make([]int32, c.Ranks), Even: true,
		InPlace: c.Inplace, OutOfPlace: !c.Inplace}
}

// addBlock adds a block; ranks must come in order.
func addBlock(p *ir.Program, rank, send, recv, channel int, steps ...ir.Step) {
	for len(p.Rank) <= rank {
		p.Rank = append(p.Rank, ir.Range{First: int32(len(p.Blocks)), End: int32(len(p.Blocks))})
	}
	first := int32(len(p.Steps))
	p.Steps = append(p.Steps, steps...)
	p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(rank), SendPeer: int32(send), RecvPeer: int32(recv), Channel: int32(channel)},
		Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
	p.Rank[rank].End = int32(len(p.Blocks))
	p.Channels = max(p.Channels, channel+1)
}

// chain is one rank that reduces n chunks of scratch into one.
func chain(n int) *ir.Program {
	p := empty("chain", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1, Inplace: true})
	var steps []ir.Step
	for i := range n {
		steps = append(steps, ir.Step{Op: ir.Reduce, SrcBuf: ir.Scratch, Src: int32(i), DstBuf: ir.Input, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1})
	}
	addBlock(p, 0, -1, -1, 0, steps...)
	p.Scratch[0] = int32(n)
	return p
}

var fixtures = []struct {
	file, target string
	program      func() *ir.Program
}{
	{"ring4.msccl.xml", "msccl", func() *ir.Program { return ring(4) }},
	{"pairs.msccl.xml", "msccl", pairs},
	{"pairs.rccl.xml", "rccl", func() *ir.Program {
		p := pairs()
		p.Protocol, p.Sizes, p.InPlace = ir.LL128, ir.SizeRange{Min: 1 << 10, Max: 1 << 20}, true
		return p
	}},
	{"gather.rccl.xml", "rccl", func() *ir.Program {
		p := rootedRanks(ir.Gather, false)
		p.Sizes = ir.SizeRange{Min: 3 << 10, Max: 3 << 20}
		return p
	}},
	{"scatter_inplace.msccl.xml", "msccl", func() *ir.Program { return rootedRanks(ir.Scatter, true) }},
	{"gather_inplace.msccl.xml", "msccl", func() *ir.Program { return rootedRanks(ir.Gather, true) }},
	{"chain.msccl.xml", "msccl", func() *ir.Program { return chain(33) }},
}

// TestFixtures compares what is written with the files of testdata, which
// other tests read, and has each judged.
func TestFixtures(t *testing.T) {
	judges := map[string]*xmljudge.Runtime{"msccl": &xmljudge.MSCCL, "rccl": &xmljudge.RCCL}
	for _, f := range fixtures {
		var b bytes.Buffer
		if err := WriteMSCCL(&b, f.program(), target(t, f.target)); err != nil {
			t.Errorf("%s: %v", f.file, err)
			continue
		}
		if err := xmljudge.Error(b.Bytes(), judges[f.target]); err != nil {
			t.Errorf("%s: %v", f.file, err)
		}
		path := filepath.Join("testdata", "xml", f.file)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s differs from what is written now:\n%s", f.file, b.Bytes())
		}
	}
}
