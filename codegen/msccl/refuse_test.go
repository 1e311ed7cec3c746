package msccl

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// TestRefusals: each limit of each target refuses what is one above it, takes
// what is at it, and shows a way out; nothing is written.
func TestRefusals(t *testing.T) {
	wide := func(blocks int) *either.Program { // one rank of blocks, 31 to a channel
		p := codegentest.Empty("wide", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1})
		for range blocks {
			codegentest.AddBlock(p, 0, -1, -1, 0, ir.Step{Op: ir.Copy, DstBuf: ir.Output, Count: 1, DepBlock: -1,
				DepStep: -1, Pos: -1})
		}
		return p
	}
	copies := func(n int, edit func(*ir.Step)) *either.Program {
		p := codegentest.Empty("copies", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 100000})
		steps := make([]ir.Step, n)
		for i := range steps {
			steps[i] = ir.Step{Op: ir.Copy, DstBuf: ir.Output, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1}
			edit(&steps[i])
		}
		codegentest.AddBlock(p, 0, -1, -1, 0, steps...)
		return p
	}
	plain := func(*ir.Step) {}
	channels := func(n int) *either.Program {
		p := copies(1, plain)
		p.Blocks[0].Channel, p.Fifo.Channels = int32(n-1), n
		return p
	}
	waiting := func(block int) *either.Program {
		p := wide(block + 1)
		p.Steps[0].DepBlock, p.Steps[0].DepStep = int32(block), 0
		p.Steps[block].Flags = ir.HasDep
		return p
	}
	nodes := func(steps int) *either.Program { // 1 algo, 1 rank, 64 blocks, and steps
		p := codegentest.Empty("nodes", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1})
		for b := range 64 {
			n := steps / 64
			if b == 0 {
				n += steps % 64
			}
			list := make([]ir.Step, n)
			for i := range list {
				list[i] = ir.Step{Op: ir.Copy, DstBuf: ir.Output, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1}
			}
			codegentest.AddBlock(p, 0, -1, -1, 0, list...)
		}
		return p
	}
	star := func(peers int) *either.Program { // rank 0 sends to all on one channel
		p := codegentest.Empty("star", &ir.Collective{Kind: ir.AllReduce, Ranks: peers + 1, Chunks: 1})
		for i := range peers {
			codegentest.AddBlock(p, 0, i+1, -1, 0, ir.Step{Op: ir.Send, DstBuf: ir.NoBuf, Count: 1, DepBlock: -1,
				DepStep: -1, Pos: -1})
		}
		for i := range peers {
			codegentest.AddBlock(p, i+1, -1, 0, 0, ir.Step{Op: ir.Recv, SrcBuf: ir.NoBuf, DstBuf: ir.Output, Count: 1,
				DepBlock: -1, DepStep: -1, Pos: -1})
		}
		return p
	}
	idle := func(ranks int) *either.Program {
		p := codegentest.Empty("idle", &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1})
		p.Rank = make([]ir.Range, ranks)
		return p
	}
	with := func(p *either.Program, edit func(*either.Program)) *either.Program { edit(p); return p }
	kind := func(k ir.Kind) *either.Program {
		return with(idle(2), func(p *either.Program) { p.Coll.Kind, p.Coll.Peer = k, []int32{1, 0} })
	}
	cases := []struct {
		name, target string
		bad, good    *either.Program
		code         diag.Code
		text         string
	}{
		{"steps", "msccl", copies(257, plain), copies(256, plain), diag.Limit, "has 257 steps with its nops, msccl allows 256"},
		{"steps", "rccl", copies(65, plain), copies(64, plain), diag.Limit, "has 65 steps with its nops, rccl allows 64"},
		{"blocks", "msccl", wide(217), wide(216), diag.Limit, "217 thread blocks, msccl allows 216"},
		{"blocks", "rccl", wide(65), wide(64), diag.Limit, "65 thread blocks, rccl allows 64"},
		{"channels", "msccl", channels(33), channels(32), diag.Limit, "33 channels, msccl allows 32"},
		{"channels", "rccl", channels(129), channels(128), diag.Limit, "129 channels, rccl allows 128"},
		{"count", "msccl", copies(1, func(s *ir.Step) { s.Count = 72 }), copies(1, func(s *ir.Step) { s.Count = 71 }), diag.Limit, "moves 72 chunks, msccl allows 71"},
		{"index", "rccl", copies(1, func(s *ir.Step) { s.Src = 32768 }), copies(1, func(s *ir.Step) { s.Dst = 32767 }), diag.Limit, "chunk index 32768"},
		{"wait", "msccl", waiting(128), waiting(127), diag.Limit, "waits for thread block 128"},
		{"nodes", "msccl", nodes(4096 - 66), nodes(4095 - 66), diag.Limit, "4096 nodes, msccl reads at most 4095"},
		{"peers", "msccl", star(33), star(32), diag.Limit, "33 connections one way on one channel, msccl allows 32"},
		{"ranks", "msccl", idle(1025), idle(1024), diag.Limit, "1025 ranks, msccl allows 1024"},
		{"scratch", "msccl", with(idle(1), func(p *either.Program) { p.Scratch[0] = 32769 }), with(idle(1), func(p *either.Program) { p.Scratch[0] = 32768 }), diag.Limit, "32769 chunks of scratch"},
		{"fused", "rccl", codegentest.Ring(4), codegentest.Ring(2), diag.Unsupported, "rccl rejects fused receives such as rrs"},
		{"protocol", "msccl", with(idle(1), func(p *either.Program) { p.Protocol = ir.LL16 }), with(idle(1), func(p *either.Program) { p.Protocol = ir.LL128 }), diag.Unsupported, "no protocol LL16"},
		{"custom", "rccl", kind(ir.SendRecv), kind(ir.Gather), diag.Unsupported, "no collective sendrecv"},
		{"sizes", "msccl", with(idle(1), func(p *either.Program) { p.Sizes.Min = 1 << 27 }), with(idle(1), func(p *either.Program) { p.Sizes = ir.SizeRange{Min: 1 << 27, Max: 1 << 28} }), diag.Unsupported, "sizes from 134217728"},
		{"sizes", "rccl", with(idle(1), func(p *either.Program) { p.Sizes.Max = 1 }), with(idle(1), func(p *either.Program) { p.Sizes.Max = 2 }), diag.Unsupported, "sizes from 0 up to 1"},
	}
	for _, c := range cases {
		to := codegentest.Target(t, c.target)
		if c.name == "fused" { // a ring of two still has rrcs
			c.good = codegentest.Pairs()
		}
		var b bytes.Buffer
		err := Write(&b, c.bad, to)
		var list diag.List
		if !errors.As(err, &list) || b.Len() > 0 {
			t.Errorf("%s of %s: wrote %d bytes and said %v", c.name, c.target, b.Len(), err)
			continue
		}
		if d := list[0]; d.Code != c.code || !strings.Contains(d.Text, c.text) || d.Hint == "" {
			t.Errorf("%s of %s: [%s] %q, hint %q; want [%s] with %q", c.name, c.target, d.Code, d.Text, d.Hint, c.code, c.text)
		}
		if err := Write(&b, c.good, to); err != nil {
			t.Errorf("%s of %s: what is at the limit is refused: %v", c.name, c.target, err)
		}
	}
}

// TestRefusesFusedOnlyOnce and at its source, with the limits of other kinds beside it.
func TestRefusalsComeTogether(t *testing.T) {
	p := codegentest.Ring(40) // 79 steps, fused
	p.Spans = []diag.Span{{Pos: diag.Pos{Filename: "ring.mscl", Line: 9, Column: 2}, Len: 3}}
	for i := range p.Steps {
		p.Steps[i].Pos = 0
	}
	err := Write(&bytes.Buffer{}, p, codegentest.Target(t, "rccl"))
	var list diag.List
	if !errors.As(err, &list) || len(list) != 2 {
		t.Fatalf("got %v", err)
	}
	for _, d := range list {
		if d.Span.Line != 9 || d.Rank < 0 || d.Block < 0 || d.Step < 0 {
			t.Errorf("%v does not say where: %+v", d, d)
		}
	}
}

// TestSafeNames: what msccl would misread is never written.
func TestSafeNames(t *testing.T) {
	for name, want := range map[string]string{"ring": "ring", "": "unnamed", "2D": "2D_", `a"b<c>&'d`: "a_b_c___d",
		"é": "__", strings.Repeat("x", 80): strings.Repeat("x", 63)} {
		if got := safeName(name); got != want {
			t.Errorf("%q is written %q, want %q", name, got, want)
		}
	}
}

// TestLongChains: msccl gets chains of at most 15, in the file only.
func TestLongChains(t *testing.T) {
	p := codegentest.Chain(33)
	var b bytes.Buffer
	if err := Write(&b, p, codegentest.Target(t, "msccl")); err != nil {
		t.Fatal(err)
	}
	got, err := Read("x.xml", &b, codegen.ReadOptions{Target: codegentest.Target(t, "msccl")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Steps {
		if want := i == 14 || i == 29; got.Steps[i].Flags&ir.HasDep != 0 != want {
			t.Errorf("step %d: closes the chain is %v, want %v", i, !want, want)
		}
		if p.Steps[i].Flags != 0 {
			t.Error("the writer changed the program")
		}
	}
}
