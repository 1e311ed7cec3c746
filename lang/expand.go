package lang

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/placement"
	"mscclc/lang/syntax"
)

// Options say what a file is expanded for.
type Options struct {
	Params   Params        // of the algorithm, by name
	Inplace  *bool         // overrides the file's own way
	Protocol *ir.Protocol  // overrides the file's own
	Sizes    *ir.SizeRange // overrides the file's own
	Via      ir.Via        // how data goes from rank to rank where the file does not say

	// Open reads imported files; nil reads them by files.ReadLibrary. Paths are
	// relative to the file that imports.
	Open func(path string) ([]byte, error)
	// ImportPath names folders. Imports are searched there too, after the folder
	// of the importing file, and where Open is nil all must lie there.
	ImportPath []string

	// Judge, where not nil, says what is wrong with a header before the file's statements run, which may take long.
	Judge func(h *ir.Header) diag.List

	// Unjudged leaves it to the caller whether outputs hold what they must.
	Unjudged bool

	// Facts, where not nil, is filled with what the run saw.
	Facts *Facts

	Limits syntax.Limits
}

// An Expansion is a file's operations for concrete ranks, of the level that the
// file is of: the other is nil.
type Expansion struct {
	Chunks   *ir.ChunkDAG
	Channels *ir.ChannelProgram // as written: channels.Synchronise makes it ready, channels.Check judges it

	first diag.Span // the first statement at the level of channels
}

// Expand runs a file for concrete ranks and returns its operations on chunks,
// for the placement that is wanted. It has judged everything that the language
// judges: the operations touch only what exists, read only what is written, and
// leave what the collective says. A file at the level of channels has none. Its
// errors are a diag.List.
func Expand(f *syntax.File, opt Options) (*ir.ChunkDAG, error) {
	x, err := ExpandLevel(f, opt)
	if err == nil && x.Chunks == nil {
		err = diag.List{diag.New(diag.Unsupported, x.first,
			"an algorithm at the level of channels, where one of chunks is needed")}
	}
	if err != nil {
		return nil, err
	}
	return x.Chunks, nil
}

// ExpandLevel is Expand for files of either level.
func ExpandLevel(f *syntax.File, opt Options) (*Expansion, error) {
	own, m, err := expandAs(f, opt, nil)
	if err != nil {
		return nil, err
	}
	if m.prog.channels != nil {
		return expandChannels(f, opt, own, m)
	}
	d, err := placed(f, opt, own, m)
	if err != nil {
		return nil, err
	}
	return &Expansion{Chunks: d}, nil
}

// placed returns what a file was expanded to, for the placement that is wanted.
func placed(f *syntax.File, opt Options, own *ir.ChunkDAG, m *machine) (*ir.ChunkDAG, error) {
	inplace := own.Coll.Inplace
	if opt.Inplace != nil {
		inplace = *opt.Inplace
	}
	switch {
	case inplace && !own.Coll.Inplace:
		return expandInplace(f, opt, m)
	case !inplace && own.Coll.Inplace || m.prog.strays:
		return placement.Relocate(own, inplace, m.prog.declared), nil
	}
	return own, nil
}

// expandInplace expands a file written out of place with its buffers as one
// memory. It holds only by luck, so that every error becomes one of this try.
func expandInplace(f *syntax.File, opt Options, own *machine) (*ir.ChunkDAG, error) {
	kind, at := own.prog.coll.Kind, own.prog.declaration
	if !hasInplace[kind] {
		return nil, diag.List{diag.New(diag.NotInPlace, at, "%s has no in-place form", kind)}
	}
	yes := true
	d, _, err := expandAs(f, opt, &yes)
	if err == nil {
		return d, nil // it writes no input by name, so that nothing strays
	}
	var list diag.List
	if !errors.As(err, &list) {
		return nil, err
	}
	if list[0].Code == diag.Limit {
		return nil, list
	}
	e := diag.New(diag.NotInPlace, list[0].Span, "the file is written out of place and does not work in place: %s",
		list[0].Text)
	e.Notes = list[0].Notes
	if list[0].Span != at {
		e = e.WithNote(at, "with inplace = true here, the file itself would say how it works in place")
	}
	return nil, diag.List{e}
}

// expandAs expands f in its own way, or in the way that inplace says.
func expandAs(f *syntax.File, opt Options, inplace *bool) (*ir.ChunkDAG, *machine, error) {
	m := &machine{lim: opt.Limits.WithDefaults(), facts: opt.Facts}
	h := m.run(f, opt, inplace)
	m.made(h)
	if len(m.refused) > 0 {
		return nil, nil, m.refused
	}
	if len(m.errs) == 0 && h != nil {
		m.checkFinished()
	}
	if len(m.errs) == 0 && m.prog.channels == nil && !opt.Unjudged {
		m.checkResult()
	}
	if len(m.errs) > 0 {
		m.lookAgain(func(again *machine) { again.run(f, opt, inplace) })
		return nil, nil, syntax.Report(m.errs)
	}
	d := h.dag
	d.Ops, d.Srcs, d.Hints, d.Spans = fitted(m.prog.ops), fitted(m.prog.srcs), m.prog.hints, m.prog.spans
	d.Declaration, d.Then = m.prog.declaration, m.prog.finishing.list
	for i := range d.Hints {
		if d.Hints[i].Via == ir.ViaAny {
			d.Hints[i].Via = opt.Via
		}
	}
	return d, m, nil
}

// run runs f, and returns its header, which is nil where that is wrong.
func (m *machine) run(f *syntax.File, opt Options, inplace *bool) *header {
	c := &compiler{m: m, main: f, universe: universe(), topNames: map[string]diag.Span{}}
	h := c.header(f, opt)
	if h == nil || m.dead {
		return nil
	}
	if inplace != nil {
		h.dag.Coll.Inplace = *inplace
	}
	m.prog.packets = h.dag.Protocol != ir.Simple
	body := c.body(h)
	if opt.Judge != nil && h.ready && len(m.errs) == 0 {
		if m.refused = opt.Judge(&h.dag.Header); len(m.refused) > 0 {
			return nil
		}
	}
	if h.ready && !m.dead {
		m.prog.begin(h.dag.Coll, h.dag.Scratch)
		c.runCustom(h)
		body()
	}
	return h
}

// expandChannels makes a program of channels. What its blocks do is for the
// placement that the file is written for; one for buffers apart may also do with
// one memory, which whoever judges it finds out. One for one memory stays so: what it says
// shows how to have it with buffers apart only in a run (channels.OutOfPlace).
func expandChannels(f *syntax.File, opt Options, own *ir.ChunkDAG, m *machine) (*Expansion, error) {
	at := m.prog.declaration
	if want := opt.Inplace; want != nil && *want != own.Coll.Inplace {
		switch {
		case !hasInplace[own.Coll.Kind]:
			return nil, diag.List{diag.New(diag.NotInPlace, at, "%s has no in-place form", own.Coll.Kind)}
		case *want:
			var err error
			if own, m, err = expandAs(f, opt, want); err != nil {
				return nil, err
			}
		}
	}
	ch := m.prog.channels
	if ch.Match(m.report); len(m.errs) > 0 {
		return nil, syntax.Report(m.errs)
	}
	return &Expansion{Channels: ch.Program(&own.Header, m.prog.memory), first: ch.First}, nil
}

// runCustom runs the block of a custom collective.
func (c *compiler) runCustom(h *header) {
	if h.custom == nil {
		return
	}
	m := c.m
	m.custom, m.required = true, map[ir.Part]diag.Span{}
	m.prog.coll.Require = map[ir.Part][]ir.Part{}
	h.custom()
	m.bad, m.custom = false, false
}

// body compiles the functions and statements of the file.
func (c *compiler) body(h *header) exec {
	for _, s := range h.stmts {
		if let, ok := s.(*syntax.Let); ok {
			if _, known := c.topNames[let.Name.Text]; !known {
				c.topNames[let.Name.Text] = let.Name.Span()
			}
		}
	}
	for _, src := range h.sources {
		for _, f := range src.functions {
			c.function(f)
		}
	}
	c.scope = h.main.top
	return c.stmts(h.stmts)
}

// CheckLibrary judges a library as an algorithm that imports it would find it. opt.Open reads files.
func CheckLibrary(f *syntax.File, text []byte, opt Options) error {
	user := filepath.Join(filepath.Dir(f.Name), "verify.mscl")
	importing := fmt.Sprintf("algorithm verify()\ncollective custom(1, input = 1, output = 1) { }\nimport %q\n",
		filepath.Base(f.Name))
	tree, err := syntax.Parse(user, []byte(importing))
	if err != nil {
		return err
	}
	open := opt.Open
	opt.Params = nil
	opt.Open = func(path string) ([]byte, error) {
		if filepath.Clean(path) == filepath.Clean(f.Name) {
			return text, nil
		}
		return open(path)
	}
	_, err = Expand(tree, opt)
	return err
}

// IsLibrary reports whether f holds imports and functions only, and at least one. Any other file is judged as an
// algorithm.
func IsLibrary(f *syntax.File) bool {
	if len(f.Stmts) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Stmts, func(s syntax.Stmt) bool {
		switch s.(type) {
		case *syntax.Import, *syntax.Def:
			return false
		}
		return true
	})
}
