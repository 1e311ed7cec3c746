package bundle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir/diag"
)

// This file has rules that are built in give way where the programs of all rules need more memory than a set has.

// A layer lays out the memory of a set.
type layer struct {
	set  *Set
	rows []layerRow
	gave []string // what gave way
	wide []int    // the CTAs of launches of built-in rules that are left out, since they have more than a launch may have
	was  map[*made]int64
}

// A layerRow is a row of a set, with its rule and the program that it runs; nil is NCCL.
type layerRow struct {
	RuleRow
	rule *Rule
	runs *made
}

// shortest bounds how much shorter tiles get before a program gives way as a whole: to a quarter, and to this.
const shortest = 16 << 10

// unshare gives the rows programs of their own, since other sets may have the same ones, which lie elsewhere in their
// memory.
func (l *layer) unshare() {
	own := map[*made]*made{}
	for i := range l.rows {
		m := l.rows[i].runs
		if m == nil {
			continue
		}
		if own[m] == nil {
			own[m] = new(*m)
			own[m].image = new(*m.image)
		}
		l.rows[i].runs = own[m]
	}
}

// tellWide notes that built-in rules are left out, whose launches have more CTAs than most.
func (l *layer) tellWide(most int) {
	if len(l.wide) > 0 {
		l.gave = append(l.gave, fmt.Sprintf("%s of %s that are built in are left out: their launches have up to %d CTAs, and a "+
			"launch of this bundle has at most %d", diag.Counted(len(l.wide), "rule"), l.set.Title(), slices.Max(l.wide), most))
	}
}

// used returns the programs of all rows, in order.
func (l *layer) used() (list []*made) {
	for _, r := range l.rows {
		if r.runs != nil && !slices.Contains(list, r.runs) {
			list = append(list, r.runs)
		}
	}
	return list
}

// lay gives each program its part of the arena. Where there is too little, built-in programs get shorter tiles, those
// with the longest first. If that does not suffice, NCCL gets the calls of some, and then the calls of the user's
// candidates. notify is called with what gave way. An error names rules of the user's.
func (l *layer) lay(notify func(string)) error {
	l.was = map[*made]int64{}
	for {
		used := l.used()
		for _, m := range used {
			m.replicas, m.tile, m.rule = 0, 0, diag.Span{}
		}
		for i := range l.rows {
			if r := &l.rows[i]; r.runs != nil {
				r.runs.need(&r.RuleRow, l.set, r.rule.Span)
			}
		}
		for _, m := range used {
			l.was[m] = cmp.Or(l.was[m], m.tile)
		}
		err := l.set.lay(used)
		if err == nil {
			break
		}
		if !l.shorten(used) && !l.drop(used, (*Rule).builtIn) && !l.drop(used, (*Rule).Candidate) {
			return err
		}
	}
	for _, m := range l.used() {
		if m.tile < l.was[m] {
			l.shorter(m)
		}
	}
	for _, text := range l.gave {
		if notify != nil {
			notify(text)
		}
	}
	return nil
}

// builtIn reports whether all rows of a program are of rules that are built in.
func (l *layer) builtIn(m *made) bool {
	return !slices.ContainsFunc(l.rows, func(r layerRow) bool { return r.runs == m && !r.rule.BuiltIn })
}

// shorten halves the longest tiles of a built-in program. Of several, it takes the smallest that saves what is missing,
// or else the largest. It returns false where no tiles are left to be shorter.
func (l *layer) shorten(used []*made) bool {
	var best *made
	missing := l.set.Arena - min(l.set.Arena, limits.Arena)
	better := func(a, b *made) bool {
		enough := func(m *made) bool { return m.Memory()/2 >= missing }
		switch {
		case a.tile != b.tile:
			return a.tile > b.tile
		case enough(a) != enough(b):
			return enough(a)
		case enough(a):
			return a.Memory() < b.Memory()
		}
		return a.Memory() > b.Memory()
	}
	for _, m := range used {
		may := m.Scratch+m.Packets > 0 && m.tile/2 >= max(shortest, l.was[m]/4) && l.builtIn(m)
		if may && (best == nil || better(m, best)) {
			best = m
		}
	}
	if best == nil {
		return false
	}
	tile := uint64(best.tile/2) &^ (limits.ChunkAlign - 1)
	for i := range l.rows {
		if r := &l.rows[i]; r.runs == best {
			r.Tile = min(r.Tile, tile)
		}
	}
	return true
}

// shorter notes that the tiles of a program are shorter, and which calls that makes slower.
func (l *layer) shorter(m *made) {
	for i := range l.rows {
		r := &l.rows[i]
		if r.runs != m {
			continue
		}
		types := l.set.typesOf(&r.RuleRow)
		from := int64(math.MaxInt64)
		for _, t := range types {
			from = min(from, int64(sort.Search(1<<40, func(n int) bool {
				call := r.RuleRow
				call.UpTo = uint64(n)
				return m.share(&call, t) > m.tile
			})))
		}
		if uint64(from) > r.UpTo {
			continue
		}
		l.gave = append(l.gave, fmt.Sprintf("%s has tiles of %s instead of %s, since all rules need more memory than there is: calls of "+
			"%v from %s on take more tile iterations than were measured", l.titleOf(m), diag.SizeText(m.tile),
			diag.SizeText(l.was[m]), m.kind(), mebibytes(uint64(from))))
		return
	}
}

// typesOf returns the types of calls that a rule is for, and that the set has kernels for.
func (s *Set) typesOf(r *RuleRow) (list []data.DType) {
	for t := range data.NumDTypes {
		if s.Copier[t] != none && (r.DType == Any || r.DType == uint8(t)) {
			list = append(list, t)
		}
	}
	return list
}

// builtIn reports whether r is none of the user's, and NCCL may run its calls.
func (r *Rule) builtIn() bool { return r.BuiltIn && !r.Invariant }

// drop gives the calls of a program's rules to NCCL, of the rules that yield: of the program where that costs the least
// time for the memory that it saves, as the rules say, or saves the most memory. It returns false where no such rule is
// left.
func (l *layer) drop(used []*made, yields func(*Rule) bool) bool {
	var best *made
	least := math.Inf(1)
	for _, m := range used {
		price, some := 0.0, false
		for _, r := range l.rows {
			if r.runs != m || !yields(r.rule) {
				continue
			}
			some = true
			if ours, nccl := r.rule.micros[0], r.rule.micros[1]; ours > 0 && nccl > ours {
				price += math.Log(nccl / ours)
			}
		}
		price /= math.Max(float64(m.Memory()), 1)
		if some && (best == nil || price < least || price == least && m.Memory() > best.Memory()) {
			best, least = m, price
		}
	}
	if best == nil {
		return false
	}
	text := fmt.Sprintf("NCCL runs calls of %v instead of %s, since all rules need more memory than there is: ", best.kind(),
		l.titleOf(best))
	var calls []string
	for i := range l.rows {
		if r := &l.rows[i]; r.runs == best && yields(r.rule) {
			calls = append(calls, r.lost(l.rows[:i]))
			r.runs, r.Program, r.Replicas, r.Threads, r.Tile = nil, NCCLRow, 0, 0, 0
		}
	}
	l.omit()
	for i, c := range calls {
		if i > 0 {
			text += "; "
		}
		text += c
	}
	l.gave = append(l.gave, text)
	return true
}

// omit leaves out candidates whose program was dropped: calls that no rule fits are NCCL's. A collective without other
// rules keeps one that says so.
func (l *layer) omit() {
	var kept []layerRow
	for i, r := range l.rows {
		of := func(o layerRow) bool { return o.Kind == r.Kind }
		switch {
		case r.runs != nil || r.When&WhenCandidate == 0:
		case slices.ContainsFunc(kept, of) || slices.ContainsFunc(l.rows[i+1:], of):
			continue
		default:
			r.When &^= WhenCandidate
		}
		kept = append(kept, r)
	}
	l.rows = kept
}

// lost says which calls NCCL runs instead of r's program, and what that costs. before are the rows before r.
func (r *layerRow) lost(before []layerRow) string {
	text := "captured"
	switch {
	case r.When&(WhenEager|WhenCaptured) == WhenEager|WhenCaptured:
		text = "eager and captured"
	case r.When&WhenEager != 0:
		text = "eager"
	}
	above := uint64(0)
	for _, b := range before {
		if b.Kind == r.Kind && b.When == r.When && b.restriction() == r.restriction() {
			above = max(above, b.UpTo)
		}
	}
	switch {
	case above > 0 && r.UpTo < math.MaxUint64:
		text += fmt.Sprintf(" above %s up to %s", diag.SizeText(int64(above)), diag.SizeText(int64(r.UpTo)))
	case above > 0:
		text += " above " + diag.SizeText(int64(above))
	case r.UpTo < math.MaxUint64:
		text += " up to " + diag.SizeText(int64(r.UpTo))
	default:
		text += " of any size"
	}
	text += r.restriction()
	if ours, nccl := r.rule.micros[0], r.rule.micros[1]; ours > 0 && nccl > 0 {
		text += fmt.Sprintf(" (measured %g us, and NCCL %g us)", ours, nccl)
	}
	return text
}

// titleOf names a program of a set for notes.
func (l *layer) titleOf(m *made) string {
	what := "the built-in program"
	if !slices.ContainsFunc(l.rows, func(r layerRow) bool { return r.runs == m && !r.rule.Candidate() }) {
		what = "the candidate"
	}
	return fmt.Sprintf("%s %s for %s", what, titleAt(&m.Program), l.set.Title())
}
