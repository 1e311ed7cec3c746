package tuning

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/executor/abi"
	"mscclc/executor/launch"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
)

// This file says which forms of programs are measured, and what memory they take.

// Contents is equal for programs that do the same in the same blocks. The protocol counts where there are packets, and
// the number of copies where there are packets or scratch.
func Contents(p *either.Program) [sha256.Size]byte {
	some := func(n int32) bool { return n > 0 }
	protocol, one := p.Protocol, *p.OneSided
	if !slices.ContainsFunc(one.Packets, some) {
		protocol = ir.Simple
		if !slices.ContainsFunc(p.Scratch, some) {
			one.Depth = 0
		}
	}
	steps := slices.Clone(p.Steps)
	for i := range steps {
		steps[i].Pos = 0
	}
	return sha256.Sum256(fmt.Append(nil, protocol, p.Coll.Chunks, p.Even, p.Scratch, p.Rank, p.Blocks, steps, one))
}

// The calls, in bytes, that each protocol is measured with, and those that are like it: of more, or of fewer, others
// are known to be faster.
var protocolBytes = [ir.NumProtocols]struct{ from, to int64 }{
	ir.LL: {0, 1 << 20}, ir.LL128: {16 << 10, 16 << 20}, ir.Simple: {256 << 10, math.MaxInt64},
}

// The tiles that are tried: packets take twice the memory.
var (
	simpleTiles = []int64{32 << 10, 64 << 10, 128 << 10, 256 << 10}
	packetTiles = []int64{16 << 10, 32 << 10, 64 << 10, 128 << 10}
)

// Variants are measured whose simulated time is within a factor of the best, and of these at most a given number in
// several lanes.
const WithinBest, MostLaned = 2.5, 6

// laned returns the variants in several lanes that are measured: for calls of each size from choose.LanesFrom on those
// that search measures, as far as a program takes a number of ranks. Calls that no program can be simulated for have
// none.
func (t *Tuner) laned(sizes []int64) (list []selection.Choice) {
	for _, bytes := range sizes {
		if bytes < choose.LanesFrom {
			continue
		}
		ranked, micros, err := t.Chooser.Ranked(t.call, bytes, t.DType.Size())
		if err != nil {
			return nil
		}
		tried := 0
		for i, v := range ranked {
			if v = v.Plain(); v.Lanes < 2 || tried == MostLaned || micros[i] > WithinBest*micros[0] || t.Own.Has(v.Program) {
				continue
			}
			if tried++; !slices.Contains(list, v) {
				list = append(list, v)
				if v.Together = ir.MostTogether; t.Shared {
					list = append(list, v)
				}
			}
		}
	}
	return list
}

// forms returns the forms that a search of a size begins with: each program as wide as a guess, and as it was fastest
// before.
func (t *Tuner) forms(bytes int64) (list []*bench.Form) {
	for _, s := range t.stock {
		within := protocolBytes[s.Protocol.Row().Like]
		if s.Protocol == ir.Simple && t.Layout != "" {
			within.from = 0 // there are no packets between nodes
		}
		if bytes < within.from || bytes > within.to || s.Lanes > 1 && bytes < choose.LanesFrom {
			continue
		}
		f := bench.Form{Name: s.String(), Program: s.program, Choice: s.Choice}
		f.Choice.Width = launch.Width{Tile: plan.Tile}
		if f.Choice.Replicas, f.Choice.Threads = Guessed(bytes); s.Protocol != ir.Simple {
			f.Choice.Tile /= 2
		}
		f.Choice.Replicas = min(f.Choice.Replicas, s.replicas)
		list = append(list, &f)
		if before, ok := t.widths[s.program]; ok && before != f {
			list = append(list, &before)
		}
	}
	return list
}

// widthsOf returns the widths that are worth trying of a form.
func (t *Tuner) widthsOf(f *bench.Form, c *bench.Call) *bench.Widths {
	w := &bench.Widths{Threads: []int64{128, 256, 512}, Tiles: packetTiles}
	if f.Program.Protocol == ir.Simple {
		w.Tiles = simpleTiles
	}
	bytes := c.Bytes()
	if bytes >= 1<<20 {
		w.Threads = []int64{256, 512}
	}
	i := slices.IndexFunc(t.stock, func(s stocked) bool { return s.program == f.Program })
	most := int64(t.stock[i].replicas)
	for n := int64(1); n <= most; n *= 2 {
		few, many := bytes >= 4<<20 && 4*n < most && t.Layout == "", n > 4 && n*512 > bytes
		if !few && !many {
			w.Replicas = append(w.Replicas, n)
		}
	}
	return w
}

// inPlace is f for calls in place, or nil where there are none.
func (t *Tuner) inPlace(f *bench.Form) *bench.Form {
	if !f.Program.InPlace {
		return nil
	}
	p := t.inplace[f.Program]
	if p == nil {
		p = f.Program.Called(true)
		t.inplace[f.Program] = p
	}
	g := *f
	g.Program = p
	return &g
}

// room returns the bytes of a chunk that a replica of f has memory for, for calls that a rule of this size is for, and
// the bytes of a rank's arena that this takes. A rooted collective has a program for each root.
func (t *Tuner) room(f *bench.Form, bytes int64) (share, room int64) {
	share = f.Choice.Tile
	if bytes < Large {
		chunks := int64(max(f.Program.Coll.Divisor(), 1) * f.Choice.Replicas)
		share = min(share, ((bundle.End(bytes)+chunks-1)/chunks+limits.ChunkAlign-1)&^(limits.ChunkAlign-1))
	}
	share = max(share, 16)
	image, err := abi.NewImage(f.Program)
	if err == nil {
		err = image.One.Reserve(f.Choice.Replicas, share)
	}
	if err != nil {
		return share, math.MaxInt32
	}
	layout, err := image.One.Layout()
	if err != nil {
		return share, math.MaxInt32
	}
	room = int64(layout.Scratch + layout.Packets + layout.FlagMem)
	if t.coll.Kind.Rooted() {
		room *= int64(t.coll.Ranks)
	}
	return share, room
}

// Guessed returns a width that is about right on GPUs with some hundred multiprocessors.
func Guessed(bytes int64) (replicas, threads int) {
	switch {
	case bytes <= 16<<10:
		return 4, 128
	case bytes <= 256<<10:
		return 16, 256
	case bytes <= 2<<20:
		return 32, 512
	}
	return 64, 512
}
