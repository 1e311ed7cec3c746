package bundle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir/diag"
)

// This file checks what the sections of a bundle say of each other.

// check refuses a bundle whose sections do not go together.
func (b *Bundle) check() error {
	next := 0
	for i := range b.Sets {
		s := &b.Sets[i]
		err := b.checkPrograms(s, next)
		if next += len(s.Programs); err == nil {
			err = b.checkSet(s)
		}
		if err != nil {
			return fmt.Errorf("the set for %s: %w", s.Title(), err)
		}
	}
	if next != len(b.Programs) {
		return fmt.Errorf("no set has program %d", next)
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

// checkPrograms checks the programs of a set, which are numbered from next on.
func (b *Bundle) checkPrograms(s *Set, next int) error {
	for i, n := range s.Programs {
		if int64(n) != int64(next+i) || int(n) >= len(b.Programs) || int(b.Programs[n].Ranks) != s.Ranks {
			return fmt.Errorf("it cannot have program %d", n)
		}
		p := b.Programs[n]
		if p.Nodes != s.nodes() || (p.Nodes > 0) != (p.Net != nil) {
			return fmt.Errorf("program %d is for %d nodes, or does not say what it sends", n, p.Nodes)
		}
		if err := p.checkCalls(s); err != nil {
			return fmt.Errorf("program %d: %w", n, err)
		}
		err := p.checkTables(s.Node)
		if err == nil && p.Net != nil {
			err = p.checkNet(s.Node)
		}
		if err != nil {
			return fmt.Errorf("program %d: %w", n, err)
		}
	}
	return nil
}

func (b *Bundle) checkSet(s *Set) error {
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
	if n := s.Finishers; n > 0 && (s.Node != nil || !isFinisher(b.Images, n-1) || n > 1 && isFinisher(b.Images, n-2)) {
		return fmt.Errorf("the first of its images that finish rows is not %d", n-1)
	}
	most := 0
	for i := range s.Rules {
		n, err := b.checkRule(s, &s.Rules[i])
		if err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
		if most = max(most, n); n > limits.CTAs {
			return fmt.Errorf("rule %d has %d CTAs, and a launch has at most %d", i, n, limits.CTAs)
		}
	}
	if most != s.CTAs {
		return fmt.Errorf("its rules have up to %d CTAs, and not %d", most, s.CTAs)
	}
	if err := b.checkNamed(s); err != nil {
		return err
	}
	return b.checkMemory(s)
}

// hasImage reports whether b has an image, of kernels that a set runs.
func (b *Bundle) hasImage(s *Set, n uint32) bool {
	return int64(n) < int64(len(b.Images)) && strings.HasPrefix(b.Images[n].Name, b.imagePrefix(s))
}

// checkRule checks a rule of a set, and returns its CTAs.
func (b *Bundle) checkRule(s *Set, r *RuleRow) (ctas int, err error) {
	if err := r.check(uint32(s.Ranks), s.nodes()); err != nil || r.Program == NCCLRow {
		return 0, err
	}
	if !slices.Contains(s.Programs, r.Program) {
		return 0, fmt.Errorf("the set does not have program %d", r.Program)
	}
	p := b.Programs[r.Program]
	return p.CTAs(int(r.Replicas)), r.checkProgram(&p.ProgramRow, p.Named != nil, uint32(p.Shared()),
		uint32(bit(s.Invariant)))
}

// checkMemory refuses programs whose memory is too small, overlaps another's or is outside the arena.
func (b *Bundle) checkMemory(s *Set) error {
	pinned, end := uint64(0), uint64(0)
	for _, n := range s.Programs {
		p := b.Programs[n]
		tables := p.tables()
		l, err := tables.Layout()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Title(), err)
		}
		room := func(from, to, need uint64) bool { return from%limits.PartAlign == 0 && from <= to && to-from >= need }
		if !room(p.ScratchAt, p.PacketsAt, l.Scratch) || !room(p.PacketsAt, p.FlagsAt, l.Packets) ||
			!room(p.FlagsAt, p.EndAt, l.FlagMem) || p.EndAt > s.Arena {
			return fmt.Errorf("%s needs more memory than it has", p.Title())
		}
		if pinned += p.pinned(); pinned > limits.Pinned {
			return fmt.Errorf("its programs need more than %d bytes of memory of the host", limits.Pinned)
		}
		if p.ScratchAt < end {
			return fmt.Errorf("%s begins in the memory of the program before it", titleAt(p))
		}
		end = p.EndAt
	}
	return nil
}

// checkSize refuses a bundle that is larger than any may be.
func (b *Bundle) checkSize() error {
	sections, length := 1+len(b.Sets)+5*len(b.Programs)+len(b.Images), len(Encode(b))
	if sections > limits.Sections || length > limits.File {
		return diag.List{diag.New(diag.Limit, diag.Span{}, "the bundle needs up to %d sections and %s, and a bundle has "+
			"at most %d and %s", sections, mebibytes(uint64(length)), limits.Sections, diag.SizeText(limits.File)).
			WithHint("make a bundle for each number of ranks")}
	}
	return nil
}
