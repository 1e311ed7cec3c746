package lsp

import (
	"slices"

	"mscclc/lang/syntax"
)

// This file follows the blocks, brackets and statements of a file, which say where a name is seen.

func (r *resolver) push(b *block) {
	r.blocks = append(r.blocks, b)
	if b.def {
		r.defs++
	}
}

// pop ends the innermost block, and what is seen in it.
func (r *resolver) pop() {
	last := len(r.blocks) - 1
	b := r.blocks[last]
	end := 1 << 60
	if last > 0 && r.at < len(r.words) {
		end = r.words[r.at].Offset + len(r.words[r.at].Text)
	}
	for _, d := range b.decls {
		d.to = end
	}
	if b.def {
		r.defs--
	}
	r.blocks = r.blocks[:last]
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

func (r *resolver) punctuation(w *syntax.Word) {
	switch w.Text {
	case "{":
		r.unclosed()
		if b := r.blocks[len(r.blocks)-1]; b.header && b.depth == r.depth {
			b.header, b.closer = false, "}"
		} else {
			r.push(&block{closer: "}"})
		}
		r.depth++
		r.blocks[len(r.blocks)-1].depth = r.depth
	case "(", "[":
		r.depth++
		c := callee{open: w.Text}
		if i := r.at - 1; w.Text == "(" && i >= 0 && r.words[i].Kind == syntax.NameWord && r.text(-2) != "." {
			before := r.text(-2)
			c.params = before == "def" || before == "algorithm"
			if !c.params {
				c.function = r.function(r.words[i].Text)
			}
		}
		r.callees = append(r.callees, c)
		if w.Text == "[" {
			r.push(&block{closer: "]", depth: r.depth})
			r.comprehension()
		}
	case ")", "]", "}":
		r.closed(w.Text)
	}
}

// closed ends brackets and blocks as far as one that the text closes.
func (r *resolver) closed(closer string) {
	if closer == "}" {
		r.unclosed()
		r.endStatement()
	}
	if r.depth > 0 {
		r.depth--
	}
	if closer != "}" {
		if n := len(r.callees); n > 0 {
			r.callees = r.callees[:n-1]
		}
		if closer == ")" {
			return
		}
	}
	for i := len(r.blocks) - 1; i > 0; i-- {
		if r.blocks[i].closer == closer {
			for len(r.blocks) > i {
				r.pop()
			}
			return
		}
	}
}

// comprehension declares the loop variables of a list, which stand after what uses them.
func (r *resolver) comprehension() {
	depth, loops := 0, false
	for i := r.at + 1; i < len(r.words) && depth >= 0; i++ {
		switch w := &r.words[i]; {
		case closers[w.Text] != "":
			depth++
		case w.Text == ")" || w.Text == "]" || w.Text == "}":
			depth--
		case depth == 0 && w.Text == "for":
			loops = true
		case depth == 0 && loops && w.Kind == syntax.NameWord && i+1 < len(r.words) && r.words[i+1].Text == "in":
			r.declare(w, aLoop, r.words[r.at].Offset)
		}
	}
}

// function returns the function that a name stands for, or nil.
func (r *resolver) function(name string) *decl {
	if d := r.functions[name]; d != nil {
		return d
	}
	return r.imported[name]
}

// statementEnds reports whether the end of the line after the word ends a statement.
func (r *resolver) statementEnds() bool {
	if len(r.callees) > 0 {
		return false
	}
	w := &r.words[r.at]
	next := r.text(1)
	switch {
	case w.Kind == syntax.OperatorWord || slices.Contains([]string{"{", ",", "=", "..", "!"}, w.Text):
		return false
	}
	return next != "." && next != "else"
}

// endStatement ends a statement: its variable is seen from here, and functions without a block end.
func (r *resolver) endStatement() {
	offset := 0
	if r.at < len(r.words) {
		offset = r.words[r.at].Offset + len(r.words[r.at].Text)
	}
	for _, d := range r.pending {
		d.from = offset
		b := r.blocks[len(r.blocks)-1]
		b.decls = append(b.decls, d)
	}
	r.pending = nil
	for n := len(r.blocks); n > 1 && r.blocks[n-1].header; n = len(r.blocks) {
		r.pop()
	}
}
