package lsp

import (
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// A declKind is what declares a name.
type declKind uint8

const (
	aParameter declKind = iota // of the algorithm
	aScratch
	aFunction
	anArgument // of a function
	aVariable
	aLoop
)

var declWords = [...]string{"parameter", "scratch buffer", "function", "argument", "variable", "loop variable"}

// A decl is a name that a file declares.
type decl struct {
	name     string
	kind     declKind
	at       diag.Span
	from, to int    // offsets where it is seen
	header   string // of a function: its name and arguments
	args     []string
	argument map[string]*decl // of a function
	level    int              // how many functions it is within
}

// A use is a place that names something.
type use struct {
	at   diag.Span
	decl *decl // nil for words of the language, and for names that nothing declares
}

// names are the names of a text, whether or not it is of the grammar.
type names struct {
	words     []syntax.Word // without comments and the ends of lines
	decls     []*decl
	uses      []use // by offset
	functions map[string]*decl
	imports   []syntax.Word // the paths, in quotes
	imported  map[string]*decl
}

// A block is a part of a text that has names of its own.
type block struct {
	closer string  // what ends it: a bracket, or "" for the end of the statement
	decls  []*decl // of it
	depth  int     // of brackets, where it began
	def    bool    // a function, which sees no variables of the file
	header bool    // the block after a for or a def; its brace is still to come
}

// A resolver finds what names stand for, in one go over the words.
type resolver struct {
	*names
	at      int // the word
	blocks  []*block
	depth   int
	callees []callee // of the brackets that are open
	pending []*decl  // variables whose statement goes on
	defs    int      // functions that are open
}

// A callee is what a bracket belongs to.
type callee struct {
	function *decl // of the file, or nil
	open     string
	params   bool // it holds the parameters of an algorithm or a function
}

// resolve finds the names of a text, by its words. imported returns the functions of a file that it imports.
func resolve(words []syntax.Word, imported func(path string) map[string]*decl) *names {
	n := &names{functions: map[string]*decl{}, imported: map[string]*decl{}}
	ends := map[int]bool{} // the words that a line ends after
	for _, w := range words {
		switch w.Kind {
		case syntax.LineEnd:
			ends[len(n.words)-1] = true
		case syntax.CommentWord:
		default:
			n.words = append(n.words, w)
		}
	}
	r := &resolver{names: n, blocks: []*block{{closer: "end"}}}
	r.hoist(imported)
	for r.at = 0; r.at < len(n.words); r.at++ {
		r.word(&n.words[r.at])
		if ends[r.at] && r.statementEnds() {
			r.endStatement()
		}
	}
	r.endStatement()
	for len(r.blocks) > 0 {
		r.pop()
	}
	slices.SortStableFunc(n.uses, func(a, b use) int { return a.at.Offset - b.at.Offset })
	return n
}

// hoist declares the functions, which are seen everywhere, and takes those of imports.
func (r *resolver) hoist(imported func(path string) map[string]*decl) {
	for i := 0; i+1 < len(r.words); i++ {
		w, next := &r.words[i], &r.words[i+1]
		switch {
		case w.Text == "def" && w.Kind == syntax.KeywordWord && next.Kind == syntax.NameWord:
			d := &decl{name: next.Text, kind: aFunction, at: next.Span, to: 1 << 60, argument: map[string]*decl{}}
			d.header, d.args = r.headerAt(i + 1)
			if r.functions[d.name] == nil {
				r.functions[d.name] = d
			}
			r.decls = append(r.decls, d)
		case w.Text == "import" && w.Kind == syntax.KeywordWord && next.Kind == syntax.StringWord:
			r.imports = append(r.imports, *next)
			if imported == nil {
				continue
			}
			for name, d := range imported(strings.Trim(next.Text, `"`)) {
				r.imported[name] = d
			}
		}
	}
}

// headerAt returns the text of the function whose name is word i, with its arguments, and these apart.
func (r *resolver) headerAt(i int) (text string, args []string) {
	depth, one := 0, ""
	for k := i + 1; k < len(r.words); k++ {
		w := &r.words[k]
		switch {
		case closers[w.Text] != "":
			depth++
		case w.Text == ")" || w.Text == "]" || w.Text == "}":
			depth--
		}
		switch {
		case depth <= 0 || depth == 1 && w.Text == ",":
			if one != "" {
				args = append(args, one)
			}
			one = ""
		case depth == 1 && w.Text == "(":
		case w.Text == "=":
			one += " = "
		default:
			one += w.Text
		}
		if depth <= 0 {
			break
		}
	}
	return r.words[i].Text + "(" + strings.Join(args, ", ") + ")", args
}

// word takes the word at r.at.
func (r *resolver) word(w *syntax.Word) {
	switch w.Kind {
	case syntax.KeywordWord:
		r.keyword(w)
	case syntax.PunctuationWord:
		r.punctuation(w)
	case syntax.NameWord:
		r.name(w)
	}
}

// text returns the text of the word n words on, or "".
func (r *resolver) text(n int) string {
	if i := r.at + n; i >= 0 && i < len(r.words) {
		return r.words[i].Text
	}
	return ""
}

func (r *resolver) keyword(w *syntax.Word) {
	switch w.Text {
	case "for":
		if b := r.blocks[len(r.blocks)-1]; b.closer != "]" || b.depth != r.depth {
			r.push(&block{header: true, depth: r.depth})
		}
	case "def":
		r.unclosed()
		r.push(&block{header: true, def: true, depth: r.depth})
	case "let":
		r.unclosed()
	}
}

// unclosed ends the brackets that are open where none can be.
func (r *resolver) unclosed() {
	r.depth -= len(r.callees)
	r.callees = r.callees[:0]
	for n := len(r.blocks); n > 1 && r.blocks[n-1].closer == "]"; n = len(r.blocks) {
		r.pop()
	}
}

// declare declares a name in the innermost block, seen from an offset on.
func (r *resolver) declare(w *syntax.Word, kind declKind, from int) *decl {
	d := &decl{name: w.Text, kind: kind, at: w.Span, from: from, to: 1 << 60, level: r.defs}
	r.decls = append(r.decls, d)
	b := r.blocks[len(r.blocks)-1]
	b.decls = append(b.decls, d)
	return d
}

func (r *resolver) name(w *syntax.Word) {
	before, after := r.text(-1), r.text(1)
	end := w.Offset + len(w.Text)
	var inner callee
	if n := len(r.callees); n > 0 {
		inner = r.callees[n-1]
	}
	switch {
	case before == "." || before == "collective" || before == "protocol" || before == "algorithm":
	case before == "def":
		r.uses = append(r.uses, use{w.Span, r.functionAt(w)})
	case before == "scratch":
		r.uses = append(r.uses, use{w.Span, r.declare(w, aScratch, end)})
	case before == "let":
		d := &decl{name: w.Text, kind: aVariable, at: w.Span, from: 1 << 60, to: 1 << 60, level: r.defs}
		r.decls, r.pending = append(r.decls, d), append(r.pending, d)
		r.uses = append(r.uses, use{w.Span, d})
	case inner.params && (before == "(" || before == ","):
		kind := aParameter
		if r.defs > 0 {
			kind = anArgument
		}
		d := r.declare(w, kind, end)
		if r.defs > 0 {
			r.argumentOf(d)
		}
		r.uses = append(r.uses, use{w.Span, d})
	case inner.open == "(" && after == "=" && (before == "(" || before == ","):
		if f := inner.function; f != nil {
			r.uses = append(r.uses, use{w.Span, f.argument[w.Text]})
		}
	case after == "in" && !r.isDeclared(w):
		d := r.declare(w, aLoop, end)
		r.uses = append(r.uses, use{w.Span, d})
	case after == "in":
		r.uses = append(r.uses, use{w.Span, r.lookup(w.Text, w.Offset)})
	default:
		r.uses = append(r.uses, use{w.Span, r.lookup(w.Text, w.Offset)})
	}
}

// isDeclared reports whether a list declared w already.
func (r *resolver) isDeclared(w *syntax.Word) bool {
	for _, d := range r.blocks[len(r.blocks)-1].decls {
		if d.at == w.Span {
			return true
		}
	}
	return false
}

// functionAt returns the function that is declared at w.
func (r *resolver) functionAt(w *syntax.Word) *decl {
	for _, d := range r.decls {
		if d.kind == aFunction && d.at == w.Span {
			return d
		}
	}
	return nil
}

// argumentOf notes d as an argument of the function whose header it stands in.
func (r *resolver) argumentOf(d *decl) {
	for i := r.at; i > 1; i-- {
		if r.words[i].Text == "(" && r.words[i-2].Text == "def" {
			if f := r.functionAt(&r.words[i-1]); f != nil {
				f.argument[d.name] = d
			}
			return
		}
	}
}

// lookup finds what a name stands for at an offset, or nil.
func (r *resolver) lookup(name string, offset int) *decl {
	for i := len(r.blocks) - 1; i >= 0; i-- {
		for _, d := range slices.Backward(r.blocks[i].decls) {
			if d.name == name && d.from <= offset && r.sees(d) {
				return d
			}
		}
	}
	return r.function(name)
}

// sees reports whether the place at hand sees d: a function sees no variables of the file.
func (r *resolver) sees(d *decl) bool {
	return d.level == r.defs || d.kind == aParameter || d.kind == aScratch
}

// useAt returns the use at an offset, or nil.
func (n *names) useAt(offset int) *use {
	i, _ := slices.BinarySearchFunc(n.uses, offset, func(u use, at int) int { return u.at.Offset - at })
	for _, k := range []int{i, i - 1} {
		if k >= 0 && k < len(n.uses) {
			if u := &n.uses[k]; u.at.Offset <= offset && offset <= u.at.Offset+u.at.Len {
				return u
			}
		}
	}
	return nil
}
