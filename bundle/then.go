package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/selection"
)

// This file has programs with an epilogue: what becomes of each row of a complete sum on its way to the output
// (ir/epilogue). runtime/src/bundle/then.cc reads the fields of their rows, and checks the same.

// setThen has the row of a program say which epilogue it has.
func (p *ProgramRow) setThen(l epilogue.List) {
	p.Stages = uint8(len(l))
	for i, s := range l {
		p.Stage[i] = uint8(s.Kind)
		switch {
		case s.Kind == epilogue.Activation:
			p.Function = uint8(s.Fn)
		case s.Row().Last:
			t, _ := data.DTypeByName(s.Type) // epilogue.List.Check knows no other names
			p.Type, p.Block = uint8(t), uint32(s.Block)
		}
	}
}

// Then returns the epilogue of p, which is empty where it has none.
func (p *ProgramRow) Then() (l epilogue.List) {
	for i := range min(int(p.Stages), len(p.Stage)) {
		s := epilogue.Stage{Kind: epilogue.Kind(p.Stage[i])}
		if s.Kind >= epilogue.NumKinds {
			return append(l, s) // List.Check refuses it
		}
		if s.Kind == epilogue.Activation {
			s.Fn = epilogue.Function(p.Function)
		}
		if s.Row().Last && p.Type < uint8(data.NumDTypes) {
			s.Type = data.DType(p.Type).String()
		}
		if s.Row().Block {
			s.Block = int(p.Block)
		}
		l = append(l, s)
	}
	return l
}

// checkThen refuses an epilogue that no program has.
func (p *ProgramRow) checkThen() error {
	again, l := ProgramRow{}, p.Then()
	if err := l.Check(); err != nil {
		return err
	}
	again.setThen(l)
	if again.Stages != p.Stages || again.Stage != p.Stage || again.Function != p.Function || again.Type != p.Type ||
		again.Block != p.Block {
		return fmt.Errorf("its epilogue says what none of its stages has")
	}
	return nil
}

// finishers is what names of images begin with that finish rows.
const finishers = "rows_"

// isFinisher reports whether there is an image of that number, and it finishes rows.
func isFinisher(images []Image, n uint32) bool {
	return int64(n) < int64(len(images)) && strings.HasPrefix(images[n].Name, finishers)
}

// then reports whether some rule is for calls with an epilogue.
func (b *builder) then() bool {
	for i := range b.Rules {
		if b.Rules[i].Then != "" {
			return true
		}
	}
	return false
}

// finishersOf returns what a set's row says of the images that finish rows: 1 + the number of the first, or 0.
func finishersOf(images []Image) uint32 {
	for i := range images {
		if isFinisher(images, uint32(i)) {
			return uint32(i) + 1
		}
	}
	return 0
}

// finishes reports whether all programs of b have an epilogue.
func (b *Bundle) finishes() bool {
	return len(b.Programs) > 0 && !slices.ContainsFunc(b.Programs, func(p *Program) bool { return p.Stages == 0 })
}

// checkThen refuses a rule that no call with an epilogue can have.
func (r *Rule) checkThen() error {
	if r.Then == "" {
		return nil
	}
	l, err := epilogue.Parse(r.Then)
	switch {
	case err != nil:
		return err
	case len(l) == 0:
		return fmt.Errorf("\"then\" lacks its stages; they are %s", strings.Join(epilogue.Names(), ", "))
	case r.Kind != ir.AllReduce:
		return fmt.Errorf("a rule with \"then\" is for an AllReduce, whose output holds finished rows")
	case r.Program == "" || r.Candidate() || r.When&WhenWindows != 0 || r.Nodes != "" || r.Placement == selection.Direct:
		return fmt.Errorf("a rule with \"then\" has a staged program for any buffers of one node, and is no candidate")
	case r.RedOp != Any && data.RedOp(r.RedOp) != data.Sum:
		return fmt.Errorf("a rule with \"then\" is for sums, and not for %v", data.RedOp(r.RedOp))
	case l.String() != r.Then:
		return fmt.Errorf("%q is written %q", r.Then, l)
	}
	return nil
}

// finished says why a program with an epilogue is none for bundles, whose calls with one are out of place.
func finished(p *either.Program, direct bool) error {
	if len(p.Then) == 0 {
		return nil
	}
	bad := func(hint, format string, args ...any) error {
		return diag.List{diag.New(diag.Unsupported, p.Declaration, format, args...).WithHint("%s", hint)}
	}
	switch {
	case p.Coll.Kind != ir.AllReduce:
		return bad("a bundle finishes rows of an allreduce", "%s finishes rows of %v", p.Name, p.Coll.Kind)
	case direct:
		return bad("leave out \"direct\"", "%s finishes rows, and reaches buffers of other ranks", p.Name)
	case p.InPlace || !p.OutOfPlace:
		return bad("compile it for calls out of place", "%s finishes rows, and is for calls in place", p.Name)
	}
	return nil
}

// otherThen says that a program has an epilogue that its rule does not have.
func (k *programKey) otherThen(has, file string) error {
	if has == "" {
		return diag.List{diag.New(diag.Unsupported, diag.FileSpan(file), "%s finishes no rows, and its rule has \"then\"",
			k.Program).WithHint("leave out \"then\", or name a program with an epilogue")}
	}
	return diag.List{diag.New(diag.Unsupported, diag.FileSpan(file), "%s finishes rows by %s, and its rule is for %s",
		k.Program, has, cmp.Or(k.then, "calls without an epilogue")).WithHint(`a rule for this program has "then":"%s"`, has)}
}

// A rowsRung is a program of the ladder for rows, as rung is one of Ladder.
type rowsRung struct {
	upTo    int64
	program string
	proto   ir.Protocol
	ctas    int64
	tile    int64
}

// rowsTile is the bytes of the shortest tiles of programs that finish rows: the longest row that all rules take.
// usualRow is the bytes of a row that is not short: a CTA finishes a row at a time.
const rowsTile, usualRow = 32 << 10, 16 << 10

// RowsLadder returns rules for calls with an epilogue on a number of ranks: in one step while only the number of steps
// counts, and then in two. Two ranks move as many bytes in one step as in two. More CTAs are faster as long as there
// are rows: a launch has at most ctas CTAs a rank. Launches of LL and LL128 are short, since each CTA has one tile: a
// tile has room for one usual row beside a CTA's share. Ranks whose packets may not be lines go on with the last rule.
//
// Sizes of LL follow from times on two H200s, all others from simulations (kernels/NOTES.md). From eight ranks on,
// there are fewer CTAs, so that bundles have room for two epilogues.
func RowsLadder(ranks, ctas int, then epilogue.List) (list []Rule) {
	n := int64(ranks)
	two, last := (8<<20)/n, rowsRung{0, "rows/after", ir.Simple, 64, rowsTile}
	most, tile := min(int64(ctas), 128, 384/max(n-1, 1)), int64(rowsTile)
	if ranks == 2 {
		two, last = 8<<20, rowsRung{0, "rows/onestep", ir.Simple, int64(ctas), rowsTile}
		tile = min(max(two/most, usualRow), 64<<10) + usualRow
	}
	var before rowsRung
	for _, r := range []rowsRung{
		{512 << 10 / n, "rows/onestep", ir.LL, 16, rowsTile},
		{1 << 20 / n, "rows/onestep", ir.LL, 32, rowsTile},
		{2 << 20 / n, "rows/onestep", ir.LL128, 64, tile},
		{two, "rows/onestep", ir.LL128, most, tile},
		last,
	} {
		if r.proto != ir.Simple {
			r.ctas = min(r.ctas, most, max(r.upTo/(8<<10), 1))
			r.upTo = min(r.upTo, r.ctas*(r.tile-usualRow))
		}
		if k := len(list); r.upTo > 0 && k > 0 && r.upTo <= list[k-1].UpTo {
			continue
		}
		if r.ctas = min(r.ctas, int64(ctas)); r.proto == before.proto && r.ctas == before.ctas {
			list[len(list)-1].UpTo = r.upTo
			continue
		}
		before = r
		rule := Forward(ir.AllReduce, ranks)
		rule.Program, rule.Protocol, rule.UpTo, rule.Tile = r.program, r.proto, r.upTo, r.tile
		rule.Replicas, rule.CTAs, rule.Then = int(r.ctas), int(r.ctas), then.String()
		list = append(list, rule)
	}
	return list
}

// thenRules returns the rules for calls with an epilogue on a number of ranks of one node. Of each epilogue, these are
// the rules of the first table that has some.
func thenRules(ranks int, tables []*Measured) (list []Rule) {
	seen := map[string]bool{}
	for _, m := range tables {
		var found []string
		for i := range m.Rules {
			r := &m.Rules[i]
			if r.Ranks == ranks && r.Then != "" && !seen[r.Then] {
				seen[r.Then] = true
				found = append(found, r.Then)
			}
		}
		for _, text := range found {
			of := func(when string) []Rule {
				return firstOf([]*Measured{m}, ir.AllReduce, ranks, "", when, func(r *Rule) bool { return r.Then == text })
			}
			list = append(list, joined(of(Eager), of(Captured))...)
		}
	}
	return list
}
