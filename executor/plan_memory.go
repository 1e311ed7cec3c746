package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"mscclc/ir"
)

// This file is the memory of a plan. A rank has an arena, which all ranks reach: its
// scratch, packets and flags, one behind the other. A seat has one that is its own:
// states, a status and tables.

// lay gives the offsets of parts of so many bytes, and the whole.
func lay(parts ...uint64) (at []uint64, bytes uint64) {
	for _, n := range parts {
		at = append(at, bytes)
		bytes += (n + 255) &^ 255
	}
	return at, bytes
}

// allocate makes the memory of this process's ranks.
func (p *Plan) allocate(types []DType) error {
	l, ranks := &p.layout, uint64(p.program().Coll.Ranks)
	for _, s := range p.seats {
		at, bytes := lay(l.Scratch, l.Packets, l.FlagMem)
		for range s.ranks {
			address, err := s.gpu.Alloc(int64(bytes + 1)) // a rank may have none of these
			if err != nil {
				return err
			}
			s.arenas = append(s.arenas, address)
		}
		s.place(at, s.ranks, s.arenas)
		table := uint64(0)
		if ranks > OneRanks {
			table = ranks * uint64(unsafe.Sizeof(OneMemory{})) * callTables
			for i := range callTables {
				s.free = append(s.free, i)
			}
		}
		states := uint64(len(s.part.Blocks)) * uint64(p.one().Columns) * uint64(unsafe.Sizeof(OneState{}))
		own, bytes := lay(states, uint64(unsafe.Sizeof(Status{})), bytesOf(s.part.Blocks), bytesOf(s.part.Steps), bytesOf(s.part.Operands), table)
		var err error
		if s.own, err = s.gpu.Alloc(int64(bytes)); err != nil {
			return err
		}
		s.at.states, s.at.status, s.at.blocks, s.at.steps, s.at.operands, s.at.tables = s.own+own[0], s.own+own[1], s.own+own[2], s.own+own[3], s.own+own[4], s.own+own[5]
		if err := errors.Join(s.setLimit(p.wait), s.gpu.Poke(s.at.blocks, raw(s.part.Blocks)), s.gpu.Poke(s.at.steps, raw(s.part.Steps)),
			s.gpu.Poke(s.at.operands, raw(s.part.Operands))); err != nil {
			return err
		}
		for _, t := range types {
			if err := s.gpu.Load(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// place notes where ranks have their parts of arenas.
func (s *seat) place(at []uint64, ranks []int, arenas []uint64) {
	for i, r := range ranks {
		s.memory[r] = OneMemory{Scratch: arenas[i] + at[0], Packets: arenas[i] + at[1], Flags: arenas[i] + at[2]}
	}
}

// raw is a table as bytes.
func raw[T any](rows []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), bytesOf(rows))
}

// bytesAt is one row as bytes.
func bytesAt[T any](row *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(row)), unsafe.Sizeof(*row))
}

func bytesOf[T any](rows []T) uint64 { return uint64(len(rows)) * uint64(unsafe.Sizeof(*new(T))) }

// touches says, by buffer, of which other ranks a seat's steps access memory. A rank's
// scratch, packets and flags are one arena, which all reach: the runtime has flags of
// its own there.
func (s *seat) touches(ranks int) map[ir.Buf][]bool {
	t := map[ir.Buf][]bool{}
	for _, buf := range [3]ir.Buf{ir.Input, ir.Output, ir.Flags} {
		t[buf] = make([]bool, ranks)
	}
	all := OneOperand{Rank: ir.AllRanks, Buf: uint8(ir.Flags)}
	for _, o := range append([]OneOperand{all}, s.part.Operands...) {
		for r := range t[ir.Buf(o.Buf)] {
			t[ir.Buf(o.Buf)][r] = t[ir.Buf(o.Buf)][r] || o.Rank == int16(r) || o.Rank == ir.AllRanks
		}
	}
	for _, r := range s.ranks {
		for _, list := range t {
			list[r] = false
		}
	}
	return t
}

// shared says which buffers of a call some step accesses on another rank.
func (p *Plan) shared() (list []ir.Buf) {
	one := p.one()
	for _, buf := range [2]ir.Buf{ir.Input, ir.Output} {
		if slices.ContainsFunc(one.Blocks, func(b OneBlock) bool {
			return slices.ContainsFunc(one.Operands[b.FirstOperand:b.FirstOperand+b.Operands], func(o OneOperand) bool {
				return ir.Buf(o.Buf) == buf && o.Rank != int16(b.Rank)
			})
		}) {
			list = append(list, buf)
		}
	}
	return list
}

// reach has every seat reach the arenas of all ranks.
func (p *Plan) reach(ctx context.Context, err error) error {
	handles := map[int][]byte{}
	if err == nil {
		handles, err = p.share(func(s *seat, i int) (uint64, bool) { return s.arenas[i], true })
	}
	all, err := p.swap(ctx, handles, err)
	if err != nil {
		return err
	}
	at, _ := lay(p.layout.Scratch, p.layout.Packets, p.layout.FlagMem)
	for _, s := range p.seats {
		for r, touched := range s.touches(p.program().Coll.Ranks)[ir.Flags] {
			if !touched {
				continue
			}
			address, e := p.address(s, r, all[r], func(of *seat, i int) uint64 { return of.arenas[i] })
			if e != nil {
				err = errors.Join(err, e)
				continue
			}
			s.place(at, []int{r}, []uint64{address})
		}
	}
	_, err = p.agree(ctx, nil, err)
	return err
}

// share makes handles of memory of this process's ranks, where others need them.
func (p *Plan) share(of func(s *seat, i int) (address uint64, ok bool)) (map[int][]byte, error) {
	handles := map[int][]byte{}
	if p.x == nil || p.x.Size() == 1 {
		return handles, nil
	}
	for _, s := range p.seats {
		for i, r := range s.ranks {
			address, ok := of(s, i)
			if !ok {
				continue
			}
			h, err := s.gpu.Share(address)
			if err != nil {
				return nil, fmt.Errorf("rank %d: %w", r, err)
			}
			handles[r] = h
		}
	}
	return handles, nil
}

// address is where a seat finds memory of another rank: of this process, by peer
// access, or by a handle.
func (p *Plan) address(s *seat, rank int, handle []byte, own func(of *seat, i int) uint64) (uint64, error) {
	if of := p.of[rank]; of != nil {
		if of.gpu != s.gpu {
			if err := s.gpu.Connect(of.gpu); err != nil {
				return 0, err
			}
		}
		return own(of, slices.Index(of.ranks, rank)), nil
	}
	if handle == nil {
		return 0, fmt.Errorf("rank %d has not said where its memory is", rank)
	}
	address, err := s.gpu.Reach(handle)
	if err != nil {
		return 0, fmt.Errorf("memory of rank %d: %w", rank, err)
	}
	s.leave = append(s.leave, handle)
	return address, nil
}

// free gives everything back, as far as it was made.
func (p *Plan) free() error {
	var errs []error
	if p.deaf != nil {
		p.deaf()
	}
	if p.flight != nil {
		errs = append(errs, p.flight.Close())
	}
	for _, s := range p.seats {
		for _, h := range s.leave {
			errs = append(errs, s.gpu.Leave(h))
		}
		for _, a := range append(s.arenas, s.own) {
			if a != 0 {
				errs = append(errs, s.gpu.Free(a))
			}
		}
		if s.stream != nil {
			errs = append(errs, s.stream.Close())
		}
	}
	return errors.Join(errs...)
}
