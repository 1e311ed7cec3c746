package bundle

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/selection"
)

// This file compiles and proves the programs that jobs run by their names.

// A NamedSpec is a program that jobs run by its name. It may be of any collective, also of a custom one.
type NamedSpec struct {
	Name    string      // by which jobs find it: 1 to limits.Name bytes
	Program string      // of the catalog, or of Spec.Own
	Params  lang.Params // of an algorithm, beside its ranks
}

// namedRoom is how much of the arena a named program has, unless its shortest tile needs more.
const namedRoom = 16 << 20

// named returns the rows of the named programs for n ranks. Programs that are for other numbers of ranks only are left
// out, and namedAll refuses those that no set has.
func (b *builder) named(n int) (list []layerRow, err error) {
	for i := range b.Named {
		s := &b.Named[i]
		p, span, err := b.compileNamed(s, n)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		m, err := tabulate(p, programKey{Choice: selection.Choice{Program: s.Program, Protocol: p.Protocol}, ranks: n})
		if err != nil {
			return nil, err
		}
		m.Named = namedOf(s.Name, p.Coll)
		row, err := b.namedRow(m, span)
		if err != nil {
			return nil, err
		}
		rule := &Rule{Kind: p.Coll.Kind, Ranks: n, When: WhenNamed, Choice: selection.Choice{Program: s.Program}, Span: span}
		list = append(list, layerRow{row, rule, m})
	}
	return list, nil
}

// namedRow returns the rule of a named program: in as many replicas as there are CTAs for, with tiles as long as
// namedRoom lets them be.
func (b *builder) namedRow(m *made, span diag.Span) (RuleRow, error) {
	row := RuleRow{Kind: uint8(m.Kind), DType: Any, RedOp: Any, Root: Any, When: WhenNamed, UpTo: math.MaxUint64,
		Threads: limits.Threads}
	if m.kind().Rooted() {
		row.Root = uint8(m.Root)
	}
	replicas := max(1, sort.Search(b.CTAs, func(n int) bool { return m.CTAs(n+1) > b.CTAs }))
	tile := int64(plan.Tile)
	room := func() uint64 {
		one := *m.image
		if one.Reserve(replicas, tile) != nil {
			return math.MaxUint64
		}
		l, err := one.Layout()
		if err != nil {
			return math.MaxUint64
		}
		return l.Scratch + l.Packets
	}
	for ; room() > namedRoom && tile > shortest; tile /= 2 {
	}
	for ; room() > namedRoom && replicas > 1; replicas /= 2 {
	}
	for ; room() > namedRoom && tile > limits.ChunkAlign; tile /= 2 {
	}
	row.Replicas, row.Tile = uint32(replicas), uint64(tile)
	if n := m.CTAs(replicas); n > b.CTAs {
		return row, diag.List{diag.New(diag.Limit, span, "%s has %s on a rank, and a launch of this bundle has at most %d",
			m.Named.Name, diag.Counted(n, "thread block"), b.CTAs).WithHint("--ctas %d", n)}
	}
	return row, nil
}

// compileNamed compiles and proves a program for n ranks. It is nil if the program is for other numbers of ranks only.
// span is where its file begins.
func (b *builder) compileNamed(s *NamedSpec, n int) (p *either.Program, span diag.Span, err error) {
	from := choose.Own{Name: s.Program, File: s.Program + ".mscl",
		Options: mscclc.Options{Lang: lang.Options{Open: algorithms.Open}}}
	if i := slices.IndexFunc(b.Own, func(o choose.Own) bool { return o.Name == s.Program }); i >= 0 {
		from = b.Own[i]
	} else if from.Tree, err = choose.CatalogTree(s.Program); err != nil {
		return nil, span, diag.List{diag.New(diag.Unsupported, span, "the catalog has no program %q", s.Program).
			WithHint("mscclc list names its programs; a file of your own is NAME=FILE.mscl")}
	}
	span = diag.FileSpan(from.File)
	if from.Tree == nil {
		p, err = compiledNamed(&from, n)
	} else {
		p, err = namedOfText(&from, s, n)
	}
	return p, span, err
}

// compiledNamed proves a program that is compiled already. A two-sided one is lowered.
func compiledNamed(o *choose.Own, n int) (*either.Program, error) {
	i := slices.IndexFunc(o.Compiled[:], func(p *either.Program) bool { return p != nil })
	if i < 0 || o.Compiled[i].Coll.Ranks != n {
		return nil, nil
	}
	p := o.Compiled[i].Copy()
	p.InPlace, p.OutOfPlace = o.Compiled[1] != nil, o.Compiled[0] != nil
	if p.OneSided == nil {
		if p.Protocol != ir.Simple {
			return nil, diag.List{diag.New(diag.Unsupported, diag.FileSpan(o.File), "the two-sided program is in protocol %v, and"+
				" bundles take those in Simple only", p.Protocol).WithHint("make the file anew, in protocol Simple")}
		}
		var err error
		if p, err = mscclc.Lower(p, 0); err != nil {
			return nil, err
		}
	}
	return p, proveNamed(p)
}

// namedOfText compiles an algorithm: for calls in place and out of place if one program serves both, else for those
// that its file is written for.
func namedOfText(from *choose.Own, s *NamedSpec, n int) (p *either.Program, err error) {
	params, info := lang.Params{}, from.Tree.Info()
	maps.Copy(params, s.Params)
	switch {
	case info.Has("ranks"):
		params["ranks"] = n
	case info.Has("nodes") && info.Has("gpus") && s.Params["nodes"] == nil:
		params["nodes"], params["gpus"] = 1, n
	}
	compile := func(inplace *bool, both bool) (*either.Program, error) {
		opt := from.Options
		opt.OneSided, opt.Unproven = true, true
		opt.Lang.Params, opt.Lang.Inplace = params, inplace
		opt.Core = core.Options{Staged: true, Both: both, MaxInsts: opt.Passes.MaxInsts}
		return mscclc.CompileFile(from.Tree, opt)
	}
	first, err := compile(nil, false)
	if err != nil || first.Coll.Ranks != n {
		return nil, err
	}
	if first.Coll.Kind == ir.Opaque {
		return nil, diag.List{diag.New(diag.Unsupported, diag.FileSpan(from.File), "the file does not say what its collective is")}
	}
	placed := func(inplace, both bool) (*either.Program, error) { return compile(&inplace, both) }
	p, err = choose.ForBoth(first.Coll.Kind, placed, proveNamed)
	if err == nil {
		return p, nil
	}
	first.InPlace, first.OutOfPlace = first.Coll.Inplace, !first.Coll.Inplace
	return first, proveNamed(first)
}

// proveNamed says what keeps a program from being run by a name, as Prove does for programs of rules. It proves the
// program for the calls that it is for.
func proveNamed(p *either.Program) error {
	bad := func(hint, format string, args ...any) error {
		return diag.List{diag.New(diag.Unsupported, p.Declaration, format, args...).WithHint("%s", hint)}
	}
	if err := fitForBundle(p); err != nil {
		return err
	}
	if len(p.Then) > 0 {
		return bad("a rule with \"then\" names it", "%s finishes rows, whose calls have more than buffers", p.Name)
	}
	if !p.InPlace && !p.OutOfPlace {
		return bad("compile it anew", "%s is for no calls", p.Name)
	}
	return choose.ProveStaged(p)
}

// namedAll refuses named programs that are in no set.
func (b *builder) namedAll() error {
	for i := range b.Named {
		s := &b.Named[i]
		if !slices.ContainsFunc(b.out.Programs, func(p *Program) bool { return p.Named != nil && p.Named.Name == s.Name }) {
			return diag.List{diag.New(diag.Unsupported, diag.Span{}, "program %s is for other numbers of ranks than the bundle, which"+
				" is for %v", s.Name, b.Ranks).WithHint("--ranks")}
		}
	}
	return nil
}

// checkNamed refuses names that a bundle cannot have.
func (s *Spec) checkNamed() error {
	seen := map[string]bool{}
	for i := range s.Named {
		n := &s.Named[i]
		control := slices.ContainsFunc([]byte(n.Name), func(c byte) bool { return c < ' ' })
		if len(n.Name) > limits.Name || n.Name == "" || control || seen[n.Name] {
			return fmt.Errorf("a named program has 1 to %d bytes of name, without control characters, and no other has it: %q",
				limits.Name, n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}
