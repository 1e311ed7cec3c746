package plan

import (
	"errors"
	"math/bits"
	"slices"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/executor/data"
)

// This file is the memory of a plan of a two-sided program. A rank's arena has the slots of
// the connections that it receives on, and counters of all its connections: who polls
// a counter does so at home. Scratch is as long as a call's chunks need, and of
// no concern to other ranks.

// A connPlace says where a connection's slots and its tail are in the arena of its receiver,
// and its head in its sender's.
type connPlace struct{ slots, tail, head uint64 }

var errSlots = errors.New("slots are out of range")

// lay lays out all arenas; every process does it alike.
func (p *twoSided) lay() error {
	conns, ranks := p.checked.Image.Conns, p.program().Coll.Ranks
	high, each := bits.Mul64(uint64(p.cut.Slots), p.stride)
	if high != 0 || each > 1<<46 {
		return errSlots
	}
	received, counters := make([]uint64, ranks), make([]uint64, ranks)
	for _, c := range conns {
		if received[c.Dst]++; received[c.Dst] > 1<<46/each {
			return errSlots
		}
	}
	p.bytes, p.place = make([]uint64, ranks), make([]connPlace, len(conns))
	first := slices.Clone(received) // where the counters begin
	for r := range first {
		first[r], received[r] = received[r]*each, 0
	}
	row := func(r int32) uint64 {
		at := first[r] + counters[r]*uint64(unsafe.Sizeof(abi.Counters{}))
		counters[r]++
		return at
	}
	for i, c := range conns {
		p.place[i] = connPlace{slots: received[c.Dst] * each, tail: row(c.Dst) + uint64(unsafe.Offsetof(abi.Counters{}.Tail)),
			head: row(c.Src)}
		received[c.Dst]++
	}
	for r := range p.bytes {
		p.bytes[r] = first[r] + counters[r]*uint64(unsafe.Sizeof(abi.Counters{}))
	}
	return nil
}

func (p *twoSided) arena(rank int) uint64 { return p.bytes[rank] }

// reaches reports, indexed by rank, whether a seat reaches the ranks with which its own share a connection.
func (p *twoSided) reaches(s *seat) []bool {
	list := make([]bool, len(p.bytes))
	for _, c := range p.checked.Image.Conns {
		src, dst := slices.Contains(s.ranks, int(c.Src)), slices.Contains(s.ranks, int(c.Dst))
		list[c.Src] = list[c.Src] || dst && !src
		list[c.Dst] = list[c.Dst] || src && !dst
	}
	return list
}

func (p *twoSided) sit(s *seat) (needs, error) {
	t := newTwoPart(p.checked.Image, s.ranks)
	s.two = t
	if c := p.program().Coll; p.piece > 0 {
		const rounding = 32 // bytes of a chunk, at most, for any type
		if _, err := p.scratches(s, data.NewGeometry(c, p.piece+rounding*int64(c.Chunks), 1), 1); err != nil {
			return needs{}, err
		}
	}
	return needs{states: uint64(len(t.blocks)) * uint64(unsafe.Sizeof(abi.State{})),
		tables: [][]byte{raw(t.steps), raw(t.blocks), raw(make([]abi.ConnMemory, len(t.conns))), raw(t.all)},
		call:   uint64(len(s.ranks)) * uint64(unsafe.Sizeof(abi.RankMemory{})), calls: twoCalls}, nil
}

// reached gives the blocks the addresses of their connections.
func (p *twoSided) reached(s *seat) error {
	rows := make([]abi.ConnMemory, len(s.two.conns))
	for i, number := range s.two.conns {
		c, at := p.checked.Image.Conns[number], p.place[number]
		rows[i] = abi.ConnMemory{Slots: s.reach[c.Dst] + at.slots, Head: s.reach[c.Src] + at.head,
			Tail: s.reach[c.Dst] + at.tail}
	}
	return s.gpu.Poke(s.at.tables[2], raw(rows))
}

// A scratch is one piece of memory for all ranks of a seat. Launches of a plan follow
// each other on a GPU, so that all calls share it; it is kept for those that were bound
// before there was a longer one.
type scratch struct{ address, bytes uint64 }

// scratch returns how many elements of it a rank has in a call.
func (p *twoSided) scratch(rank int, geo data.Geometry) int64 {
	if p.program().Scratch == nil || p.program().Scratch[rank] == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(p.program().Scratch[rank]), uint64(geo.Chunk))
	if high != 0 || low > 1<<62 {
		return 1 << 62
	}
	return int64(low)
}

// scratches gives a call's scratch of each rank of a seat.
func (p *twoSided) scratches(s *seat, geo data.Geometry, size int) ([]uint64, error) {
	var parts []uint64
	for _, r := range s.ranks {
		parts = append(parts, uint64(p.scratch(r, geo))*uint64(size))
	}
	at, bytes := lay(parts...)
	t := s.two
	if have := len(t.scratch); bytes > 0 && (have == 0 || t.scratch[have-1].bytes < bytes) {
		if have > 0 {
			bytes = max(bytes, 2*t.scratch[have-1].bytes) // so that all together are no more than twice the last
		}
		address, err := s.gpu.Alloc(int64(bytes))
		if err != nil {
			return nil, err
		}
		t.scratch = append(t.scratch, scratch{address, bytes})
	}
	for i := range at {
		if parts[i] == 0 {
			at[i] = 0
		} else {
			at[i] += t.scratch[len(t.scratch)-1].address
		}
	}
	return at, nil
}

// buffers returns what is to be freed.
func (t *twoPart) buffers() (list []uint64) {
	if t != nil {
		for _, s := range t.scratch {
			list = append(list, s.address)
		}
	}
	return list
}
