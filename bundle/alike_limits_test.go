package bundle

import (
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

// testLimits: both readers take a bundle that is at a limit, and neither takes one above it.
func testLimits(t *testing.T, r *reader) {
	rule := Forward(ir.AllReduce, limits.Ranks)
	rule.Program, rule.Protocol, rule.Tile, rule.Replicas = "allreduce/allpairs", ir.LL, 16, 1
	good, err := Build(Spec{Device: "d", Ranks: []int{limits.Ranks}, DTypes: []data.DType{data.F16},
		Rules: []Rule{rule, Forward(ir.AllReduce, limits.Ranks)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		most  int
		spoil func(b *Bundle, n int)
	}{
		{"blocks of a rank, and of all", limits.CTAs, func(b *Bundle, n int) {
			p := b.Programs[0]
			p.Parts, p.Blocks = make([]abi.OnePart, p.Ranks), 0
			for rank := range p.Parts {
				for range n {
					p.Parts[rank].Blocks = append(p.Parts[rank].Blocks, abi.OneBlock{Rank: uint32(rank), Number: p.Blocks})
					p.Blocks++
				}
			}
			p.Where, b.Sets[0].CTAs = nil, n
			p.EndAt, p.Replicas, b.Sets[0].Rules[0].Replicas = p.FlagsAt+8<<17, 1, 1
			b.Sets[0].Arena = p.EndAt
		}},
		{"rules", limits.Rules, func(b *Bundle, n int) {
			for len(b.Sets[0].Rules) < n {
				b.Sets[0].Rules = append(b.Sets[0].Rules, b.Sets[0].Rules[1])
			}
		}},
		{"programs", limits.Programs, func(b *Bundle, n int) {
			s := &b.Sets[0]
			first := *b.Programs[0]
			for i := 1; i < n; i++ {
				p := first
				at := s.Arena - p.ScratchAt
				p.ScratchAt, p.PacketsAt, p.FlagsAt, p.EndAt = s.Arena, p.PacketsAt+at, p.FlagsAt+at, p.EndAt+at
				b.Programs, s.Programs, s.Arena = append(b.Programs, &p), append(s.Programs, uint32(i)), p.EndAt
			}
		}},
		{"copies of scratch", limits.Depth, func(b *Bundle, n int) {
			p := b.Programs[0]
			p.Depth, p.Scratch, p.Packets, p.Parts = uint32(n), 0, 0, make([]abi.OnePart, p.Ranks)
			p.Blocks, p.Where, b.Sets[0].CTAs = 0, nil, 0
		}},
		{"chunks", limits.Chunks, func(b *Bundle, n int) {
			p := b.Programs[0]
			p.Chunks, p.Parts, p.Blocks, p.Where, b.Sets[0].CTAs = uint32(n), make([]abi.OnePart, p.Ranks), 0, nil, 0
		}},
		{"replicas", limits.Replicas, func(b *Bundle, n int) {
			p := b.Programs[0]
			p.Replicas, p.Scratch, p.Packets, p.Parts = uint32(n), 0, 0, make([]abi.OnePart, p.Ranks)
			p.Blocks, p.Where, b.Sets[0].CTAs = 0, nil, 0
			p.EndAt += 1 << 20
			b.Sets[0].Arena = p.EndAt
		}},
		{"threads", limits.Threads, func(b *Bundle, n int) {
			b.Sets[0].Rules[0].Threads = uint32((n + limits.Warp - 1) / limits.Warp * limits.Warp)
		}},
		{"tile", limits.Tile, func(b *Bundle, n int) {
			b.Sets[0].Rules[0].Tile = uint64((n + limits.TileAlign - 1) / limits.TileAlign * limits.TileAlign)
		}},
		{"arena", limits.Arena, func(b *Bundle, n int) { b.Sets[0].Arena = uint64(n) }},
	} {
		for n := range 2 {
			b, err := Decode("x", Encode(good))
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(b, c.most+n)
			text := Encode(b)
			if inGo, inC := readGo(text), r.read(t, text); (inGo == "") != (n == 0) || (inC == "") != (n == 0) {
				t.Errorf("%d %s: Decode says %q, and the library %q", c.most+n, c.name, inGo, inC)
			}
		}
	}
}

// wide is an AllToAll whose ranks send each piece in a thread block of its own.
const wide = `algorithm wide(ranks = 16)
collective alltoall(ranks)

for r in 0..ranks {
    chunk(r, input, r).copy(r, output, r)
    for s in 1..ranks { chunk(r, input, (r + s) % ranks).copy((r + s) % ranks, output, r) }
}
`

// testWide: a program of 4,800 blocks is proven, and the library takes it. One with more blocks than a launch may
// have is refused when the bundle is made.
func testWide(t *testing.T, r *reader) {
	for _, c := range []struct {
		instances int
		want      string
	}{{20, ""}, {300, "at most 65536"}} {
		opt := mscclc.Options{Lowered: true}
		opt.Passes.Instances = c.instances
		p, err := mscclc.Compile("wide.mscl", []byte(wide), opt)
		if err != nil {
			t.Fatal(err)
		}
		rule := Forward(ir.AllToAll, 16)
		rule.Program, rule.Replicas, rule.Tile, rule.CTAs = "wide.mprog", 1, 4096, limits.CTAs
		spec := Spec{Device: "d", Ranks: []int{16}, DTypes: []data.DType{data.F16}, Rules: []Rule{rule},
			Own: choose.UserPrograms{{Name: "wide.mprog", File: "wide.mprog", Compiled: [2]*either.Program{p}}}}
		b, err := Build(spec)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d blocks of a rank: %v", 15*c.instances, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text := Encode(b)
		if _, _, err := Verify("wide.bundle", text); err != nil || b.Programs[0].Blocks != 4800 {
			t.Errorf("%d blocks: %v", b.Programs[0].Blocks, err)
		}
		if why := r.read(t, text); why != "" {
			t.Errorf("the library says %s", why)
		}
	}
}
