package bundle

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"mscclc/executor/data"
	"mscclc/ir"
)

// This file checks what the sections of a bundle say of each other.

// check refuses a bundle whose sections do not go together.
func (b *Bundle) check() error {
	of := make([]int, len(b.Programs)) // 1 + the set that has a program
	for i := range b.Sets {
		s := &b.Sets[i]
		for _, n := range s.Programs {
			if int64(n) >= int64(len(of)) || of[n] != 0 || int(b.Programs[n].Ranks) != s.Ranks {
				return fmt.Errorf("the set for %s cannot have program %d", s.Title(), n)
			}
			if p := b.Programs[n]; p.Nodes != s.nodes() || (p.Nodes > 0) != (p.Net != nil) {
				return fmt.Errorf("program %d is for %d nodes, or does not say what it sends, in the set for %s", n, p.Nodes,
					s.Title())
			}
			of[n] = i + 1
		}
		if err := b.checkSet(s); err != nil {
			return fmt.Errorf("the set for %s: %w", s.Title(), err)
		}
	}
	for i, n := range of {
		if n == 0 {
			return fmt.Errorf("no set has program %d", i)
		}
	}
	for i, p := range b.Programs {
		steps := 0
		for r := range p.Parts {
			steps += len(p.Parts[r].Steps)
		}
		if n := bytes.Count(p.Where, []byte("\n")); n != steps || n > 0 && p.Where[len(p.Where)-1] != '\n' {
			return fmt.Errorf("program %d has %d steps and %d source positions", i, steps, n)
		}
	}
	return nil
}

func (b *Bundle) checkSet(s *Set) error {
	if s.Ranks < 2 || s.Ranks > MostRanks || s.Device == "" || len(s.Device) > MostName ||
		strings.ContainsRune(s.Device, 0) {
		return fmt.Errorf("the device %q, or as many ranks, cannot be", s.Device)
	}
	if s.Device != b.Sets[0].Device {
		return fmt.Errorf("it is for %q, and others for %q", s.Device, b.Sets[0].Device)
	}
	for t := range data.NumDTypes {
		image, copier := s.Image[t], s.Copier[t]
		if image != none && (!b.hasImage(s, image) || b.Images[image].DType != t) ||
			copier != none && (!b.hasImage(s, copier) || b.Images[copier].DType.Size() != t.Size()) {
			return fmt.Errorf("images %d and %d do not reduce and move %v", image, copier, t)
		}
	}
	most := 0
	for i := range s.Rules {
		n, err := b.checkRule(s, &s.Rules[i])
		if err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
		most = max(most, n)
	}
	if most != s.CTAs {
		return fmt.Errorf("its rules have up to %d CTAs, and not %d", most, s.CTAs)
	}
	return b.checkMemory(s)
}

// hasImage reports whether b has an image, of kernels that a set runs.
func (b *Bundle) hasImage(s *Set, n uint32) bool {
	return int64(n) < int64(len(b.Images)) && strings.HasPrefix(b.Images[n].Name, b.imagePrefix(s))
}

// checkRule checks a rule of a set, and returns its CTAs.
func (b *Bundle) checkRule(s *Set, r *RuleRow) (ctas int, err error) {
	kind := ir.Kind(r.Kind)
	switch {
	case !slices.Contains(Kinds, kind):
		return 0, fmt.Errorf("it is for collective %d", r.Kind)
	case r.DType != Any && r.DType >= uint8(data.NumDTypes) || r.RedOp != Any && r.RedOp >= uint8(data.NumRedOps) ||
		r.Root != Any && int(r.Root) >= s.Ranks:
		return 0, fmt.Errorf("type %d, operation %d or root %d is out of range", r.DType, r.RedOp, r.Root)
	case r.When&(WhenEager|WhenCaptured) == 0 || r.When > WhenEager|WhenCaptured|WhenWindows:
		return 0, fmt.Errorf("no launches are %#x", r.When)
	case r.When&WhenWindows != 0 && s.Node != nil:
		return 0, fmt.Errorf("it is for windows, and ranks of several nodes have none")
	case r.When&WhenWindows != 0 && kind.Rooted():
		return 0, fmt.Errorf("it is for windows, and for %v, of which ranks may leave out buffers", kind)
	case r.Program == NCCLRow && (r.Columns != 0 || r.Threads != 0 || r.Tile != 0):
		return 0, fmt.Errorf("it is NCCL's, and has replicas, threads or a tile")
	case r.Program == NCCLRow:
		return 0, nil
	case !slices.Contains(s.Programs, r.Program):
		return 0, fmt.Errorf("the set does not have program %d", r.Program)
	}
	p := b.Programs[r.Program]
	switch {
	case p.Kind != uint32(kind):
		return 0, fmt.Errorf("it is for %v, and %s is for %v", kind, p.Title(), p.kind())
	case kind.Rooted() && uint32(r.Root) != p.Root:
		return 0, fmt.Errorf("it is for root %d, and %s for root %d", r.Root, p.Title(), p.Root)
	case p.Direct != 0 && r.When&WhenWindows == 0:
		return 0, fmt.Errorf("%s reaches buffers of other ranks, and it is not for windows", p.Title())
	case r.Columns < 1 || r.Columns > p.Columns:
		return 0, fmt.Errorf("it has %d replicas, and %s has memory for %d", r.Columns, p.Title(), p.Columns)
	case r.Threads < WarpThreads || r.Threads > MostThreads || r.Threads%WarpThreads != 0:
		return 0, fmt.Errorf("it has blocks of %d threads", r.Threads)
	case p.uneven(r.Threads):
		return 0, fmt.Errorf("it has blocks of %d threads, which %d replicas do not share evenly", r.Threads, p.Shared())
	case r.Tile < 16 || r.Tile > mostTile:
		return 0, fmt.Errorf("it has tiles of %d bytes", r.Tile)
	}
	return p.CTAs(int(r.Columns)), nil
}

// uneven reports whether a block of so many threads cannot be parted among the replicas that share it. Their parts are
// powers of two, of whole warps.
func (p *Program) uneven(threads uint32) bool {
	n := p.Shared()
	return n > 1 && (bits.OnesCount32(threads) > 1 || int(threads) < WarpThreads*n)
}

// checkMemory refuses programs whose memory is too small, overlaps another's or is outside the arena.
func (b *Bundle) checkMemory(s *Set) error {
	if s.Arena > MostArena {
		return fmt.Errorf("its arena has %d bytes, and %d are the most", s.Arena, MostArena)
	}
	var list []*Program
	pinned := uint64(0)
	for _, n := range s.Programs {
		p := b.Programs[n]
		tables := p.tables()
		l, err := tables.Layout()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Title(), err)
		}
		room := func(from, to, need uint64) bool { return from%partAlign == 0 && from <= to && to-from >= need }
		if !room(p.ScratchAt, p.PacketsAt, l.Scratch) || !room(p.PacketsAt, p.FlagsAt, l.Packets) ||
			!room(p.FlagsAt, p.EndAt, l.FlagMem) || p.EndAt > s.Arena {
			return fmt.Errorf("%s needs more memory than it has", p.Title())
		}
		if pinned += p.pinned(); pinned > MostPinned {
			return fmt.Errorf("its programs need more than %d bytes of memory of the host", MostPinned)
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b *Program) int {
		return cmp.Or(cmp.Compare(a.ScratchAt, b.ScratchAt), cmp.Compare(a.EndAt, b.EndAt))
	})
	for i := 1; i < len(list); i++ {
		if list[i].ScratchAt < list[i-1].EndAt {
			return fmt.Errorf("%s and %s share memory", titleAt(list[i-1]), titleAt(list[i]))
		}
	}
	return nil
}
