package lang

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file evaluates the lines at the top of a file: the algorithm, the
// collective and the other declarations.

// A header is what these lines say.
type header struct {
	dag     *ir.ChunkDAG
	main    *source
	sources []*source
	stmts   []syntax.Stmt // of the file, after the declarations
	custom  exec          // the block of a custom collective, or nil
	ready   bool          // there is enough to run the statements
}

// maxScratch is how many scratch buffers there can be: their numbers have 8
// bits, and one is kept for what in place adds.
const maxScratch = int(ir.NoBuf-ir.Scratch) - 1

// header evaluates the declarations of f. It returns nil where nothing else
// can be judged.
func (c *compiler) header(f *syntax.File, opt Options) *header {
	m := c.m
	lines := c.sorted(f)
	if lines == nil {
		return nil
	}
	open := opt.Open
	if open == nil {
		open = func(path string) ([]byte, error) { return files.ReadLibrary(path, opt.ImportPath, int64(m.lim.File)+1) }
	}
	im := &importer{c: c, open: open, path: opt.ImportPath, loaded: map[string]*source{}, failed: map[string]bool{},
		inside: map[string]bool{filepath.Clean(f.Name): true}}
	h := &header{dag: &ir.ChunkDAG{}, stmts: lines.stmts}
	h.main = im.source(f, true)
	h.sources = append(im.order, h.main)
	h.dag.Name = lines.algorithm.Name
	params, ok := c.params(lines.algorithm, opt.Params)
	c.scope = h.main.top
	for _, n := range params {
		c.declare(n)
	}
	for i, s := range lines.scratch {
		if i >= maxScratch {
			m.report(diag.Limit, s.Span(), "more than %d scratch buffers", maxScratch)
			return nil
		}
		b := value{kind: kBuffer, n: int64(ir.Scratch) + int64(i)}
		c.declare(&name{text: s.Name.Text, span: s.Name.Span(), sort: aConstant, kind: kBuffer, slot: &b})
		m.prog.scratch = append(m.prog.scratch, ir.ScratchDecl{Name: s.Name.Text, Span: s.Name.Span()})
	}
	if !ok {
		return h // every number depends on them
	}
	h.ready = c.declarations(h, lines, opt)
	return h
}

// fileLines are the statements of a file by what they are.
type fileLines struct {
	algorithm    *syntax.Algorithm
	collective   *syntax.Collective
	protocol     *syntax.Protocol
	sizes        *syntax.Sizes
	ranksPerNode *syntax.RanksPerNode
	scratch      []*syntax.Scratch
	stmts        []syntax.Stmt
}

// sorted checks which lines there are and their order.
func (c *compiler) sorted(f *syntax.File) *fileLines {
	m := c.m
	var l fileLines
	first := diag.Span{Pos: diag.Pos{Filename: f.Name, Line: 1, Column: 1}, Len: 1}
	if len(f.Stmts) > 0 {
		first = f.Stmts[0].Base().Span()
		l.algorithm, _ = f.Stmts[0].(*syntax.Algorithm)
	}
	if l.algorithm == nil {
		m.noAlgorithm(f, first)
		return nil
	}
	var statement syntax.Stmt // the first one
	for _, s := range f.Stmts[1:] {
		if !l.take(m, s) {
			if _, def := s.(*syntax.Def); !def {
				l.stmts = append(l.stmts, s)
			}
			if statement == nil {
				statement = s
			}
		} else if statement != nil {
			d := m.report(diag.Declaration, s.Base().Span(), "declarations come before functions and statements")
			*d = d.WithNote(statement.Base().Span(), "the first of these is here")
		}
	}
	if l.collective == nil {
		d := m.report(diag.Declaration, l.algorithm.Span(), "the file has no collective line")
		d.Hint = "add a line below this one that says what must hold at the end, such as collective allreduce(ranks)"
	}
	return &l
}

// noAlgorithm reports that f does not begin with an algorithm line.
func (m *machine) noAlgorithm(f *syntax.File, first diag.Span) {
	late := slices.IndexFunc(f.Stmts, func(s syntax.Stmt) bool { _, is := s.(*syntax.Algorithm); return is })
	if late >= 0 {
		span := f.Stmts[late].Base().Span()
		d := m.report(diag.Declaration, span, "the algorithm line must come first, and is on line %d", span.Line)
		*d = d.WithNote(first, "this comes before it")
		d.Hint = "move it above all other lines but comments"
		return
	}
	if len(f.Stmts) == 0 {
		m.report(diag.Declaration, first, "the file is empty, or has only comments").Hint =
			"an algorithm begins with algorithm NAME(ranks = 8)"
		return
	}
	d := m.report(diag.Declaration, first, "the file has no algorithm line, so it is a library")
	d.Hint = "a first line algorithm NAME(ranks = 8) makes it an algorithm"
	if len(f.Stmts) == 0 {
		return
	}
	if s, is := f.Stmts[0].(*syntax.Simple); is {
		if word, is := s.X.Left.X.(*syntax.Name); is && diag.Meant(word.Text, []string{"algorithm"}) != "" {
			d.Hint = "did you mean algorithm? " + d.Hint
		}
	}
}

// take puts s where it belongs if it is a declaration, and says whether it is.
func (l *fileLines) take(m *machine, s syntax.Stmt) bool {
	var old syntax.Stmt
	what := ""
	switch s := s.(type) {
	case *syntax.Algorithm:
		old, what = l.algorithm, "algorithm"
	case *syntax.Collective:
		if what = "collective"; l.collective == nil {
			l.collective = s
			return true
		}
		old = l.collective
	case *syntax.Protocol:
		if what = "protocol"; l.protocol == nil {
			l.protocol = s
			return true
		}
		old = l.protocol
	case *syntax.Sizes:
		if what = "sizes"; l.sizes == nil {
			l.sizes = s
			return true
		}
		old = l.sizes
	case *syntax.RanksPerNode:
		if what = "ranks_per_node"; l.ranksPerNode == nil {
			l.ranksPerNode = s
			return true
		}
		old = l.ranksPerNode
	case *syntax.Scratch:
		l.scratch = append(l.scratch, s)
		return true
	default:
		_, is := s.(*syntax.Import)
		return is
	}
	d := m.report(diag.Declaration, s.Base().Span(), "%s is declared twice", what)
	*d = d.WithNote(old.Base().Span(), "it was declared here first")
	return true
}

// declarations evaluates the lines below the algorithm and says whether the
// statements can run.
func (c *compiler) declarations(h *header, l *fileLines, opt Options) bool {
	m := c.m
	if l.collective == nil {
		return false
	}
	m.prog.declaration = l.collective.Span()
	coll := c.collective(l.collective)
	ok := coll != nil
	for i, s := range l.scratch {
		n := c.number(s.Chunks, kInt, "the chunks of a scratch buffer").get()
		if !m.bad && (n < 0 || n > m.lim.Cells) {
			m.fault(diag.OutOfBounds, s.Chunks.Span(), "scratch %s has %d chunks: there must be 0 to %d, the limit cells",
				s.Name.Text, n, m.lim.Cells)
		}
		m.prog.scratch[i].Chunks = int(n)
		ok = !m.recover() && ok
	}
	ok = c.protocol(h, l.protocol, opt) && ok
	ok = c.sizes(h, l.sizes, opt) && ok
	if coll == nil {
		return false
	}
	ok = c.ranksPerNode(h, l.ranksPerNode, coll) && ok
	if ok && !m.fits(coll) {
		return false
	}
	h.dag.Coll, h.dag.Scratch = coll, m.prog.scratch
	if coll.Kind == ir.Custom {
		c.custom = true
		h.custom = c.block(l.collective.Body)
		c.custom = false
	}
	return ok
}

// fits reports whether the buffers are within the limit cells. If they are not, the message also names the other limits
// that the program will reach, as far as the collective says so. Operations of a file of channels may move many chunks
// in one evaluation step, so that these limits alone refuse nothing here.
func (m *machine) fits(coll *ir.Collective) bool {
	have, written := cells(coll, m.prog.scratch), written(coll)
	if have <= m.lim.Cells {
		return true
	}
	var over, hints []string
	for _, l := range []struct {
		name         string
		least, limit int64
		text         string
	}{
		{"cells", have, m.lim.Cells, "all buffers of all ranks have %d chunks"},
		{"steps", written, m.lim.Steps, "to write the outputs by chunks takes at least %d evaluation steps"},
		{"ops", min(written, int64(coll.Ranks)-1), m.lim.Ops, "to write the outputs takes at least %d operations"},
	} {
		if l.least > l.limit {
			over = append(over, fmt.Sprintf(l.text+"; the limit %s is %d", l.least, l.name, l.limit))
			hints = append(hints, syntax.MoreHint(l.name, l.least))
		}
	}
	d := m.stop(diag.Limit, m.prog.declaration, "%s", strings.Join(over, ", and "))
	d.Hint = strings.Join(hints, "; ")
	return false
}

func (c *compiler) protocol(h *header, s *syntax.Protocol, opt Options) bool {
	ok := true
	if s != nil {
		names := ir.ProtocolNames()
		name, _ := diag.Spelled(s.Name.Text, names)
		p, known := ir.ProtocolByName(name)
		if !known {
			d := c.m.report(diag.Undefined, s.Name.Span(), "there is no protocol %s", s.Name.Text)
			d.Hint = "the protocols are " + ir.ProtocolList("and")
			if near := diag.Meant(s.Name.Text, names); near != "" {
				*d = d.WithHint("did you mean %s? %s", near, d.Hint).WithFix(s.Name.Text, near)
			}
		}
		h.dag.Protocol, ok = p, known
	}
	if opt.Protocol != nil {
		h.dag.Protocol = *opt.Protocol
	}
	return ok
}

func (c *compiler) sizes(h *header, s *syntax.Sizes, opt Options) bool {
	m, ok := c.m, true
	if s != nil {
		low, high := c.number(s.Min, kInt, "the smallest size").get(), c.number(s.Max, kInt, "the end of the sizes").get()
		if !m.bad && (low < 0 || low >= high) {
			m.fault(diag.OutOfBounds, s.Span(), "sizes %d..%d hold no size", low, high)
		}
		h.dag.Sizes, ok = ir.SizeRange{Min: low, Max: high}, !m.recover()
	}
	if opt.Sizes != nil {
		h.dag.Sizes = *opt.Sizes
	}
	return ok
}

func (c *compiler) ranksPerNode(h *header, s *syntax.RanksPerNode, coll *ir.Collective) bool {
	m := c.m
	h.dag.RanksPerNode = coll.Ranks
	if s == nil {
		return true
	}
	n := c.number(s.N, kInt, "ranks_per_node").get()
	if !m.bad && (n < 1 || int64(coll.Ranks)%n != 0) {
		d := m.fault(diag.OutOfBounds, s.N.Span(), "%d ranks do not make nodes of %d", coll.Ranks, n)
		*d = d.WithNote(m.prog.declaration, "there are %d ranks", coll.Ranks)
	}
	h.dag.RanksPerNode = int(n)
	return !m.recover()
}
