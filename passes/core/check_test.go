package core

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// checks holds a checker for each property, which says why it does not hold. They share nothing with the passes but
// the State.
var checks = [NumProperties]func(s *State) error{
	checkMeaning, checkSingle, checkActed, checkDepends, checkOrdered, checkPlaced, checkSynced, checkLeft, checkProven,
}

// check returns the first of the wanted properties that s lacks, and why.
func check(s *State, want Property) error {
	if err := checkForm(s); err != nil {
		return fmt.Errorf("not well formed: %w", err)
	}
	for i, holds := range checks {
		if p := Property(1) << i; want&p != 0 {
			if err := holds(s); err != nil {
				return fmt.Errorf("not %v: %w", p, err)
			}
		}
	}
	return nil
}

// lacking returns the names of all wanted properties that s lacks.
func lacking(s *State, want Property) (names []string) {
	if checkForm(s) != nil {
		return []string{"form"}
	}
	for i, holds := range checks {
		p := Property(1) << i
		if p == Proven && len(names) > 0 {
			break // emit trusts what it gets
		}
		if want&p != 0 && holds(s) != nil {
			names = append(names, p.String())
		}
	}
	return names
}

// A checkedMove is a run or a Move of the list.
type checkedMove struct {
	name       string
	rank       int32 // noRank of a run
	lane       int32
	srcs, dsts []spot
	count      int32
	class      int32
	index      int32
}

// listed returns the runs, or the Moves in the order that the latest pass gave them.
func listed(s *State) (list []checkedMove) {
	if s.moves == nil {
		for i := range s.runs {
			r := &s.runs[i]
			list = append(list, checkedMove{fmt.Sprintf("run %d", i), noRank, 0, r.srcs, []spot{r.dst}, r.count, r.class, int32(i)})
		}
		return list
	}
	order := s.order
	if groups := s.latest(); groups != nil {
		order = nil
		for g := range groups {
			order = append(order, groups[g].moves...)
		}
	} else if order == nil {
		for i := range s.moves {
			order = append(order, int32(i))
		}
	}
	for _, i := range order {
		m := &s.moves[i]
		list = append(list, checkedMove{fmt.Sprintf("m%d", i), m.rank, m.lane, m.srcs, m.dsts, m.count, m.class, i})
	}
	return list
}

// checkForm: every operand is of chunks that exist.
func checkForm(s *State) error {
	for _, m := range listed(s) {
		if m.lane < 0 || m.lane >= s.lanes {
			return fmt.Errorf("%s is of lane %d, and ranks have %d", m.name, m.lane, s.lanes)
		}
		if m.rank != noRank && (m.rank < 0 || m.rank >= s.n) || m.count < 1 || len(m.srcs) == 0 || len(m.dsts) == 0 {
			return fmt.Errorf("%s of rank %d has %d sources, %d destinations and %d chunks",
				m.name, m.rank, len(m.srcs), len(m.dsts), m.count)
		}
		for _, x := range slices.Concat(m.srcs, m.dsts) {
			if x.rank < ir.AllRanks || x.rank >= s.n {
				return fmt.Errorf("%s: rank %d", m.name, x.rank)
			}
			for r := range s.n {
				if (x.rank == ir.AllRanks || x.rank == r) && (x.index < 0 || x.index+m.count > chunksOf(s, r, x.buf)) {
					return fmt.Errorf("%s: %v[%d] of rank %d, %d chunks", m.name, x.buf, x.index, r, m.count)
				}
			}
		}
	}
	return nil
}

func chunksOf(s *State, rank int32, buf ir.Buf) int32 {
	switch buf {
	case ir.Input:
		return int32(s.c.Coll.InChunks(int(rank)))
	case ir.Output:
		return int32(s.c.Coll.OutChunks(int(rank)))
	}
	return s.slots
}

// checkMeaning: one block that makes all moves in the order of the list does what the collective says, in all
// placements.
func checkMeaning(s *State) error {
	sizes := slices.Repeat([]int32{s.slots}, int(s.n))
	p := &onesided.Program{Program: ir.Program{Header: s.c.Header, Even: s.even, Scratch: sizes}, Depth: 1, Packets: sizes,
		Flags: make([]int32, s.n)}
	for _, m := range listed(s) {
		at, srcs := int32(len(p.Operands)), len(m.srcs)
		step := ir.Step{Op: ir.Move, Count: m.count, Class: m.class, Pos: -1, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf,
			Src: at, NSrc: int16(srcs), Dst: at + int32(srcs), NDst: int16(len(m.dsts)), DepBlock: -1, DepStep: -1}
		for _, x := range slices.Concat(m.srcs, m.dsts) {
			p.Operands = append(p.Operands, onesided.Operand{Rank: x.rank, Buf: x.buf, Index: x.index, Via: x.via})
		}
		p.Steps = append(p.Steps, step)
	}
	p.Blocks = []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{End: int32(len(p.Steps))}}}
	p.Rank = make([]ir.Range, s.n)
	for r := range p.Rank {
		p.Rank[r] = ir.Range{First: int32(min(r, 1)), End: 1}
	}
	for _, v := range s.views {
		if err := eval.OneSided(p.Called(v.mem != s.mem || p.Coll.Inplace)).Err(); err != nil {
			return err
		}
	}
	return nil
}

// checkSingle: each chunk of scratch and of packets is written once, and not read before. Packets are read once, by
// the rank that has them.
func checkSingle(s *State) error {
	wrote, read := make([]string, s.slots), make([]string, s.slots)
	bufs := make([]ir.Buf, s.slots)
	for _, m := range listed(s) {
		for _, x := range m.srcs {
			for k := x.index; !x.user() && k < x.index+m.count; k++ {
				switch {
				case wrote[k] == "":
					return fmt.Errorf("%s reads %v[%d], which nothing has written", m.name, x.buf, k)
				case x.buf != bufs[k]:
					return fmt.Errorf("%s reads %d as %v, and %s wrote it as %v", m.name, k, x.buf, wrote[k], bufs[k])
				case x.buf == ir.Packets && (read[k] != "" || m.rank != x.rank):
					return fmt.Errorf("%s of rank %d reads packets[%d] of rank %d, and %q has", m.name, m.rank, k, x.rank, read[k])
				}
				read[k] = m.name
			}
		}
		for _, x := range m.dsts {
			for k := x.index; !x.user() && k < x.index+m.count; k++ {
				if wrote[k] != "" || x.buf == ir.Packets && x.rank == m.rank {
					return fmt.Errorf("%s of rank %d writes %v[%d] of rank %d, and %q has", m.name, m.rank, x.buf, k, x.rank, wrote[k])
				}
				wrote[k], bufs[k] = m.name, x.buf
			}
		}
	}
	for k := range read {
		if bufs[k] == ir.Packets && read[k] == "" {
			return fmt.Errorf("nothing reads packets[%d], which %s writes", k, wrote[k])
		}
	}
	return nil
}

// checkActed: a Move reads what its own rank has, or what all have by way of the switch, unless somebody pulls.
// A port makes copies. Packets go to other ranks, where data are not plain. Where Staged, only a rank itself reaches
// its input and output.
func checkActed(s *State) error {
	pulls := slices.ContainsFunc(s.c.Hints, func(h ir.Hint) bool { return h.Pull })
	for _, m := range listed(s) {
		own := func(x spot) bool { return x.rank == m.rank }
		for _, x := range m.srcs {
			if !own(x) && x.via != ir.ViaSwitch && (!pulls || !slices.ContainsFunc(m.dsts, own)) {
				return fmt.Errorf("%s of rank %d reads from rank %d", m.name, m.rank, x.rank)
			}
		}
		for _, x := range slices.Concat(m.srcs, m.dsts) {
			switch {
			case s.opt.Staged && x.user() && !own(x):
				return fmt.Errorf("%s of rank %d reaches %v of rank %d", m.name, m.rank, x.buf, x.rank)
			case (x.rank == ir.AllRanks) != (x.via == ir.ViaSwitch):
				return fmt.Errorf("%s: rank %d via %v", m.name, x.rank, x.via)
			case x.via == ir.ViaPort && (own(x) || len(m.srcs)+len(m.dsts) != 2):
				return fmt.Errorf("%s: a port between %d sources and %d destinations", m.name, len(m.srcs), len(m.dsts))
			case x.buf == ir.Packets && s.c.Protocol == ir.Simple:
				return fmt.Errorf("%s: packets where data are plain", m.name)
			}
		}
	}
	return nil
}

// checkPlaced: the chunks that are used of each rank's scratch, and of its packets, are numbered from 0, those of an
// operand in a row.
func checkPlaced(s *State) error {
	used := map[spot]int32{} // rank, buffer and number; the place
	size := map[spot]int32{}
	for _, m := range listed(s) {
		for _, x := range slices.Concat(m.srcs, m.dsts) {
			for k := int32(0); !x.user() && k < m.count; k++ {
				at := spot{rank: x.rank, buf: x.buf, index: s.places.of[x.index+k]}
				if at.index != s.places.of[x.index]+k {
					return fmt.Errorf("%s: chunk %d of %v[%d] lies at %d", m.name, k, x.buf, s.places.of[x.index], at.index)
				}
				if place, ok := used[at]; ok && place != x.index+k {
					return fmt.Errorf("%s: two values have %v[%d] of rank %d", m.name, at.buf, at.index, at.rank)
				}
				used[at] = x.index + k
				all := spot{rank: x.rank, buf: x.buf}
				size[all] = max(size[all], at.index+1)
			}
		}
	}
	for r := range s.n {
		for buf, n := range map[ir.Buf]int32{ir.Scratch: s.places.scratch[r], ir.Packets: s.places.packets[r]} {
			if size[spot{rank: r, buf: buf}] != n {
				return fmt.Errorf("rank %d has %d chunks of %v, and uses %d", r, n, buf, size[spot{rank: r, buf: buf}])
			}
		}
	}
	for at := range used {
		if at.index > 0 {
			at.index--
			if _, ok := used[at]; !ok {
				return fmt.Errorf("%v[%d] of rank %d is not used", at.buf, at.index, at.rank)
			}
		}
	}
	return nil
}

// checkProven: verify proves the program that s becomes.
func checkProven(s *State) error {
	p, err := emitted(s)
	if err != nil {
		return err
	}
	_, list := verify.Check(either.OfOneSided(p), verify.Options{})
	return list.Err()
}

// emitted is emit, which leaves s as it was.
func emitted(s *State) (*onesided.Program, error) {
	t, sync := *s, *s.sync
	t.sync, sync.State = &sync, &t
	return t.emit()
}
