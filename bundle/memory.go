package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"mscclc/bundle/limits"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file decides how much memory programs have, and where it lies.

// need has m's memory made for a rule of a set, which stands at: its replicas, and its tile or the largest share of its
// calls.
func (m *made) need(r *RuleRow, s *Set, at diag.Span) {
	before := int64(m.replicas) * m.tile
	m.replicas = max(m.replicas, int(r.Replicas))
	if r.When&WhenThen != 0 { // a tile has a whole row at least, however short a share is
		m.tile = max(m.tile, int64(r.Tile))
	}
	for t := range data.NumDTypes {
		if s.Copier[t] != none && (r.DType == Any || r.DType == uint8(t)) {
			m.tile = max(m.tile, min(int64(r.Tile), m.share(r, t)))
		}
	}
	m.tile = max(m.tile, limits.TileAlign)
	if int64(m.replicas)*m.tile > before {
		m.rule = at
	}
}

// tooWide says that a launch of m in a given number of replicas has more CTAs than r has, which are most.
func (r *Rule) tooWide(m *made, replicas, most int) error {
	n, flag, fewer := m.CTAs(replicas), "--ctas ", "fewer replicas"
	if r.CTAs > 0 {
		flag = "\"ctas\":"
	}
	if r.Lanes > 0 {
		fewer = "fewer replicas or lanes"
	}
	together := ""
	if n != replicas*m.BlocksOf() {
		together = fmt.Sprintf(", of which some have %d replicas together in a CTA", m.Shared())
	}
	return diag.List{diag.New(diag.Limit, diag.Span{}, "%s on %d ranks has %s of %s%s, which are %s, and rules have %d",
		m.Title(), r.Ranks, diag.Counted(replicas, "replica"), diag.Counted(m.BlocksOf(), "block"), together,
		diag.Counted(n, "CTA"), most).
		WithHint("%s%d, or %s", flag, n, fewer)}
}

// share returns the most bytes of a chunk that a replica has in a call of a rule.
func (m *made) share(r *RuleRow, t data.DType) int64 {
	if r.UpTo > 1<<50 {
		return limits.Tile
	}
	chunks := int64(max(m.coll.Chunks, 1))
	elems := data.PieceElems(m.coll, int64(r.UpTo), t)
	chunk := ((elems+chunks-1)/chunks*int64(t.Size()) + 15) &^ 15 // as long as that of a call that divides worse
	return min(int64(abi.ShareOf(uint64(chunk), uint64(r.Replicas))), limits.Tile)
}

// lay gives each program of a set its part of the arena.
func (s *Set) lay(used []*made) error {
	at := uint64(0)
	for _, m := range used {
		if err := m.image.Reserve(m.replicas, m.tile); err != nil {
			return m.tooLarge(s, err)
		}
		m.Replicas, m.Tile = uint32(m.image.Replicas), uint64(m.image.Tile)
		l, err := m.image.Layout()
		if err != nil {
			return m.tooLarge(s, err)
		}
		at = m.place(at, &l)
	}
	s.Arena = at
	if at > limits.Arena {
		return s.tooLarge("", at, limits.Arena, used, (*Program).Memory)
	}
	pinned := uint64(0)
	for _, m := range used {
		pinned += m.pinned()
	}
	if pinned > limits.Pinned {
		return s.tooLarge(" on the host", pinned, limits.Pinned, used, (*Program).pinned)
	}
	return nil
}

// tooLarge says at the rule of m why it has no memory.
func (m *made) tooLarge(s *Set, why error) error {
	return diag.List{diag.New(diag.Limit, m.rule, "%s on %s: %v", m.Title(), s.Title(), why).
		WithHint("fewer replicas, or a shorter tile")}
}

// place lays out p's memory from an offset of the arena on, and returns where that of the next program begins.
func (p *ProgramRow) place(at uint64, l *abi.OneLayout) uint64 {
	up := func(n uint64) uint64 { return (n + limits.PartAlign - 1) &^ (limits.PartAlign - 1) }
	p.ScratchAt = at
	p.PacketsAt = p.ScratchAt + up(l.Scratch)
	p.FlagsAt = p.PacketsAt + up(l.Packets)
	p.EndAt = p.FlagsAt + up(l.FlagMem)
	return p.EndAt
}

// tooLarge says which programs take the room of a memory, the largest first. of says what it has of a program.
func (s *Set) tooLarge(where string, need uint64, most int64, used []*made, of func(*Program) uint64) error {
	used = slices.Clone(used)
	slices.SortStableFunc(used, func(a, b *made) int { return cmp.Compare(of(&b.Program), of(&a.Program)) })
	d := diag.New(diag.Limit, used[0].rule, "the programs for %s need %s of a rank's memory%s, and a bundle has at most %s",
		s.Title(), mebibytes(need), where, diag.SizeText(most))
	for _, m := range used[:min(len(used), diag.Shown)] {
		d = d.WithNote(m.rule, "%s has %s: %s with tiles of %s", titleAt(&m.Program), mebibytes(of(&m.Program)),
			diag.Counted(int(m.Replicas), "replica"), diag.SizeText(int64(m.Tile)))
	}
	return diag.List{d.WithHint("fewer programs or replicas, or shorter tiles")}
}

// laid refuses a set whose memory is not laid out as Build does it.
func (b *Bundle) laid(s *Set) error {
	var used []*made
	for _, n := range s.Programs {
		p := b.Programs[n]
		tables := p.tables()
		m := &made{Program: *p, image: &tables,
			coll: &ir.Collective{Kind: p.kind(), Ranks: int(p.Ranks), Root: int(p.Root), Chunks: int(p.Chunks)}}
		for i := range s.Rules {
			if s.Rules[i].Program == n {
				m.need(&s.Rules[i], s, diag.Span{})
			}
		}
		used = append(used, m)
	}
	again := *s
	if err := again.lay(used); err != nil {
		return err
	}
	for i, m := range used {
		if p := b.Programs[s.Programs[i]]; p.ProgramRow != m.ProgramRow {
			return fmt.Errorf("%s has other memory than its rules need", titleAt(p))
		}
	}
	if again.Arena != s.Arena {
		return fmt.Errorf("its arena has %d bytes, and its programs need %d", s.Arena, again.Arena)
	}
	return nil
}
