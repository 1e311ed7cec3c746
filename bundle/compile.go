package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/codegen/program"
	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/selection"
)

// This file compiles and proves the programs of a bundle.

// A programKey distinguishes programs.
type programKey struct {
	selection.Choice // without a width; staged unless it is Direct
	kind             ir.Kind
	ranks, root      int
	nodes            string // as choose.NodesText writes them
	then             string // the epilogue, as epilogue.List.String writes it
}

// direct reports whether the program may reach buffers of other ranks.
func (k *programKey) direct() bool { return k.Placement == selection.Direct }

// A made program is one whose memory is still to be laid out.
type made struct {
	Program
	number   uint32
	image    *abi.OneImage
	coll     *ir.Collective
	replicas int
	tile     int64
	rule     diag.Span // the rule that has it need most memory
}

// program compiles a program of the catalog, once.
func (b *builder) program(key programKey) (*made, error) {
	if m := b.made[key]; m != nil {
		return m, nil
	}
	p, err := b.compile(key)
	if err != nil {
		return nil, err
	}
	m, err := tabulate(p, key)
	if err == nil {
		b.made[key] = m
	}
	return m, err
}

// compile compiles a program for calls in place and out of place, as choose.ForBoth does. A program of the user's that
// is compiled already is proven as it is.
func (b *builder) compile(key programKey) (*either.Program, error) {
	i := slices.IndexFunc(b.Own, func(o choose.Own) bool { return o.Name == key.Program })
	if i >= 0 && b.Own[i].Tree == nil {
		return takeOwn(&b.Own[i], key)
	}
	name, _, _ := choose.Unshaped(key.Program)
	from := choose.Own{File: name + ".mscl", Options: mscclc.Options{Lang: lang.Options{Open: algorithms.Open}}}
	if i >= 0 {
		from = b.Own[i]
	} else {
		var err error
		if from.Tree, err = choose.CatalogTree(name); err != nil {
			hint := "mscclc list names its programs; name files of your own after the command"
			if base := path.Base(key.Program); base != key.Program && slices.Contains(b.programs(), base) {
				hint = fmt.Sprintf("a rule names a file of yours without its folder: %q", base)
			} else if near := diag.Meant(key.Program, b.programs()); near != "" {
				hint = "did you mean " + near + "? " + hint
			}
			return nil, diag.List{diag.New(diag.Unsupported, diag.Span{}, "the catalog has no program %q", key.Program).
				WithHint("%s", hint)}
		}
	}
	if key.then != "" { // the output holds finished rows, and is not the input's memory
		p, err := compileAs(key, &from, false, false)
		if err == nil {
			p.InPlace, p.OutOfPlace = false, true
			err = Prove(p, key.direct(), key.node())
		}
		return p, err
	}
	return choose.ForBoth(key.kind,
		func(inplace, both bool) (*either.Program, error) { return compileAs(key, &from, inplace, both) },
		func(p *either.Program) error { return Prove(p, key.direct(), key.node()) })
}

// programs returns the names that rules may have: those of the catalog, and those of the user's files.
func (b *builder) programs() []string {
	names := algorithms.Names()
	for i := range b.Own {
		names = append(names, b.Own[i].Name)
	}
	return names
}

// compileAs compiles a program, staged unless it is to be direct, for calls in place, out of place, or both.
func compileAs(key programKey, from *choose.Own, inplace, both bool) (*either.Program, error) {
	opt := from.Options
	params, info := lang.Params{}, from.Tree.Info()
	_, shape, _ := choose.Unshaped(key.Program)
	for name, n := range shape {
		params[name] = n
	}
	switch {
	case info.Has("ranks"):
		params["ranks"] = key.ranks
	case shape["nodes"] == 0 && info.Has("nodes") && info.Has("gpus"):
		nodes, err := key.equalNodes(from)
		if err != nil {
			return nil, err
		}
		params["nodes"], params["gpus"] = nodes, key.ranks/nodes
	}
	if info.Has("root") {
		params["root"] = key.root
	}
	opt.OneSided, opt.Unproven = true, true
	var err error
	if opt.Then, err = epilogue.Parse(key.then); err != nil {
		return nil, err
	}
	opt.Lang.Params, opt.Lang.Inplace, opt.Lang.Protocol = params, &inplace, &key.Protocol
	opt.Core = core.Options{Staged: !key.direct(), Both: both, MaxInsts: opt.Passes.MaxInsts}
	key.Into(&opt.Core)
	opt.Nodes = func(int) ([]int32, error) { return key.node(), nil }
	p, err := mscclc.CompileFile(from.Tree, opt)
	if err != nil {
		return nil, err
	}
	if shape["nodes"] > 0 { // which are no nodes of a machine
		p.RanksPerNode = 0
	}
	return p, key.meets(p, from.File)
}

// placed returns an error about the program of r with the position of r, where a file has it.
func (r *Rule) placed(err error) error {
	var list diag.List
	if !errors.As(err, &list) || r.Span == (diag.Span{}) {
		return err
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].Span == (diag.Span{}) {
			list[i].Span = r.Span
		} else {
			list[i] = list[i].WithNote(r.Span, "this rule names the program")
		}
	}
	return list
}

// Prove says what keeps a program out of bundles: an error is a diag.List. The program must be one-sided, and for calls
// in place and out of place, where its collective has both. choose.ProveStaged proves it or, if it may be direct,
// choose.ProveDirect. node has the node of each rank, or is nil for one node: what ranks read of another node must have
// arrived there, as verify.AcrossNodes proves.
func Prove(p *either.Program, direct bool, node []int32) error {
	bad := func(hint, format string, args ...any) error {
		return diag.List{diag.New(diag.Unsupported, p.Declaration, format, args...).WithHint("%s", hint)}
	}
	if err := fitForBundle(p); err != nil {
		return err
	}
	if err := finished(p, direct); err != nil {
		return err
	}
	switch {
	case direct && p.Coll.Kind.Rooted():
		return bad("leave out \"direct\"", "%s has a root, and ranks of such a call may leave out buffers", p.Name)
	case len(p.Then) == 0 && (!p.OutOfPlace || p.InPlace != choose.HasInPlace(p.Coll.Kind)):
		return bad("a call of a bundle may be either", "%s is not for calls in place and out of place", p.Name)
	}
	prove := choose.ProveStaged
	if direct {
		prove = choose.ProveDirect
	}
	if err := prove(p); err != nil || node == nil {
		return err
	}
	return verify.AcrossNodes(p, node).Err()
}

// fitForBundle says what keeps a program out of every bundle.
func fitForBundle(p *either.Program) error {
	bad := func(hint, format string, args ...any) error {
		return diag.List{diag.New(diag.Unsupported, p.Declaration, format, args...).WithHint("%s", hint)}
	}
	switch {
	case p.OneSided == nil:
		return bad("compile it with --sided one or --sided lowered",
			"%s sends and receives by FIFOs, and bundles take one-sided programs", p.Name)
	case p.Coll.Ranks > limits.Ranks:
		return bad(fmt.Sprintf("at most %d ranks", limits.Ranks), "%s has %d ranks", p.Name, p.Coll.Ranks)
	case slices.ContainsFunc(p.OneSided.Operands, func(x onesided.Operand) bool { return x.Rank == ir.AllRanks }):
		return bad("copy to each rank by itself", "%s uses the switch, which a bundle has no memory for", p.Name)
	case p.OneSided.OnePass:
		return bad("compile it for --target program", "launches of %s have one tile iteration", p.Name)
	}
	return nil
}

// tabulate makes the tables of a proven program. Its memory is not laid out.
func tabulate(p *either.Program, key programKey) (*made, error) {
	img, err := abi.NewImage(p)
	if err != nil {
		return nil, err
	}
	one := img.One
	m := &made{image: one, coll: p.Coll, Program: Program{Parts: partsOf(one, p.Coll.Ranks), Source: program.Encode(p),
		Where: []byte(where(p))}}
	node := key.node()
	if node != nil {
		if m.Net, err = deliver(img, node, m.Parts); err != nil {
			return nil, err
		}
	}
	m.ProgramRow = ProgramRow{Kind: uint32(p.Coll.Kind), Ranks: uint32(p.Coll.Ranks), Root: uint32(p.Coll.Root),
		Chunks: uint32(p.Coll.Chunks), Protocol: uint32(p.Protocol), Depth: uint32(one.Depth), OnePass: bit(one.OnePass),
		Copies: bit(one.Copies), Lines: bit(one.Lines), Even: bit(img.Even), InPlace: bit(p.InPlace),
		OutOfPlace: bit(p.OutOfPlace), Bitwise: bit(choose.SameBits(p)), Direct: bit(key.direct()),
		Scratch: uint32(one.Scratch), Packets: uint32(one.Packets), Flags: uint32(one.Flags),
		Blocks: uint32(len(one.Blocks))}
	if node != nil {
		m.Nodes = uint32(slices.Max(node)) + 1
	}
	m.Ordered = uint32(bit(bitwise.InRankOrder(p)))
	m.setThen(p.Then)
	copy(m.Name[:limits.Name], key.title())
	if err := m.checkSize(); err != nil {
		return nil, diag.List{diag.New(diag.Limit, p.Declaration, "%s is too large for a bundle: %v", p.Name, err).
			WithHint("fewer --lanes, instances or chunks")}
	}
	return m, nil
}

// title names the program for readers, in at most limits.Name bytes. A longer name is cut, and ends with a hash of all
// of it, so that names stay different.
func (k *programKey) title() string {
	name := strings.Map(printable, k.Program) + " " + k.Protocol.String() + k.LanesText()
	if k.direct() {
		name += " direct"
	}
	if k.then != "" {
		name += " then " + k.then
	}
	if k.nodes != "" {
		name += " on nodes of " + k.nodes
	}
	if len(name) <= limits.Name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "~" + hex.EncodeToString(sum[:4])
	return strings.ToValidUTF8(name[:limits.Name-len(end)], "") + end
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// where writes the file and the line of each step.
func where(p *either.Program) string {
	var b strings.Builder
	for i := range p.Steps {
		span := p.Span(p.Steps[i].Pos)
		fmt.Fprintf(&b, "%s:%d\n", strings.Map(printable, span.Filename), span.Line)
	}
	return b.String()
}

// printable keeps a line of a file's name whole.
func printable(r rune) rune {
	if r < ' ' {
		return '?'
	}
	return r
}

// record returns what was proven of a program of a set.
func (p *Program) record(s *Set) Record {
	sum := sha256.Sum256(p.Source)
	named := ""
	if p.Named != nil {
		named = p.Named.Name
	}
	return Record{Named: named, Name: p.Title(), Ranks: int(p.Ranks), Nodes: s.Nodes(), Root: int(p.Root),
		InPlace:    p.InPlace != 0,
		OutOfPlace: p.OutOfPlace != 0, Bitwise: p.Bitwise != 0, Direct: p.Direct != 0,
		SHA256: hex.EncodeToString(sum[:])}
}
