package form_test

import (
	"errors"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/form"
	"mscclc/ir/irtest"
	"mscclc/ir/verify/explore"
	"mscclc/ir/verify/explore/onesided"
)

// A field is one number of a program.
type field func(value int32)

func of[T ~int | ~int16 | ~int32 | ~int64 | ~uint8](n *T) field { return func(v int32) { *n = T(v) } }

// fields returns the numbers of p, but for those of its collective.
func fields(p *either.Program) (list []field) {
	list = append(list, of(&p.Protocol), of(&p.RanksPerNode), of(&p.Sizes.Min), of(&p.Sizes.Max))
	if p.Fifo != nil {
		list = append(list, of(&p.Fifo.Channels))
	}
	tables := [][]int32{p.Scratch}
	if o := p.OneSided; o != nil {
		list = append(list, of(&o.Depth))
		tables = append(tables, o.Packets, o.Flags)
		for i := range o.Operands {
			x := &o.Operands[i]
			list = append(list, of(&x.Rank), of(&x.Index), of(&x.Nth), of(&x.Buf), of(&x.Via))
		}
	}
	for _, table := range tables {
		for i := range table {
			list = append(list, of(&table[i]))
		}
	}
	for i := range p.Rank {
		list = append(list, of(&p.Rank[i].First), of(&p.Rank[i].End))
	}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		list = append(list, of(&b.Rank), of(&b.SendPeer), of(&b.RecvPeer), of(&b.Channel), of(&b.Steps.First),
			of(&b.Steps.End))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		list = append(list, of(&s.Src), of(&s.Dst), of(&s.Count), of(&s.Class), of(&s.DepBlock), of(&s.DepStep), of(&s.Pos),
			of(&s.Op), of(&s.Flags), of(&s.SrcBuf), of(&s.DstBuf), of(&s.NSrc), of(&s.NDst))
	}
	return list
}

// copyOf returns a copy of p whose tables can be changed.
func copyOf(p *either.Program) *either.Program {
	q, c := p.Copy(), *p.Coll
	q.Coll = &c
	q.Rank, q.Blocks, q.Steps, q.Scratch = slices.Clone(q.Rank), slices.Clone(q.Blocks), slices.Clone(q.Steps),
		slices.Clone(q.Scratch)
	if o := q.OneSided; o != nil {
		o.Operands, o.Packets, o.Flags = slices.Clone(o.Operands), slices.Clone(o.Packets), slices.Clone(o.Flags)
	}
	return q
}

// originals are well-formed programs of both kinds.
func originals(t *testing.T) []*either.Program {
	list := []*either.Program{pairs(), codegentest.Ring(3), codegentest.Chain(3), codegentest.Rooted(ir.Gather, true),
		codegentest.Swap()}
	for seed := range int64(10) {
		list = append(list, codegentest.Random(rand.New(rand.NewSource(seed)), codegentest.Target(t, "msccl")),
			codegentest.RandomOneSided(rand.New(rand.NewSource(seed))))
	}
	return list
}

var values = []int32{math.MinInt32, -2, -1, 0, 1, 2, 3, 4, 5, 8, 16, 64, 255, 1 << 10, 1<<16 + 1, math.MaxInt32}

// broken is p with a fault of ir/verify/explore, or with one wrong number, or two.
func broken(rnd *rand.Rand, p *either.Program) *either.Program {
	switch k := rnd.Intn(4); {
	case k == 0 && p.OneSided == nil:
		q, _ := explore.Broken(rnd, p.Fifo, explore.Options{})
		return either.OfFifo(q)
	case k == 0:
		q, _ := onesided.Mutations[rnd.Intn(len(onesided.Mutations))].Change(rnd, p.OneSided)
		return either.OfOneSided(q)
	}
	p = copyOf(p)
	list := fields(p)
	for range 1 + rnd.Intn(8)/7 {
		list[rnd.Intn(len(list))](values[rnd.Intn(len(values))])
	}
	return p
}

// TestDoorsAgree breaks good programs: each door refuses what form refuses, and says the same.
func TestDoorsAgree(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	good, bad := 0, map[diag.Code]int{}
	for _, original := range originals(t) {
		for range irtest.Count(t, 300) {
			p := broken(rnd, original)
			found := form.Check(p, form.Unbounded)
			if len(found) == 0 {
				good++
			} else {
				bad[found[0].Code]++
			}
			for _, d := range doors {
				var got diag.List
				errors.As(d.open(p), &got)
				limited := len(got) > 0 && got[0].Code == diag.Limit // by what the door allows
				if diff := cmp.Diff(found, got); diff != "" && !limited && (len(found) > 0 || d.only) {
					t.Fatalf("%s says something else: %s", d.name, diff)
				}
			}
		}
	}
	t.Log(good, bad)
	if good < 100 || bad[diag.Malformed] < 100 || bad[diag.OutOfBounds] < 100 || bad[diag.Overlap] == 0 {
		t.Errorf("too few to say anything: %d are good, %v are not", good, bad)
	}
}
