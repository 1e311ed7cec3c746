package syntax

import (
	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// This file decides which newlines end a statement.

// A terminator retypes every Newline to End or Blank and checks that brackets
// match: which newlines count depends on what is open.
type terminator struct {
	tokens []lexer.Token
	open   []int // indices of the brackets that are open
	errs   diag.List
	deep   int // most brackets that were ever open at once
	deepAt int // where that was
}

func newTerminator(tokens []lexer.Token) *terminator { return &terminator{tokens: tokens} }

// retype does the work, in place, and returns the tokens.
func (t *terminator) retype() []lexer.Token {
	prev := -1 // the last token that is neither comment nor newline, or the last End
	next := t.following()
	for i := range t.tokens {
		tok := &t.tokens[i]
		switch tok.Type {
		case tComment:
		case tNewline:
			if t.inParens() && startsStatement(&t.tokens[next[i]]) {
				t.unclosed(next[i])
			}
			tok.Type = tBlank
			if t.ends(prev, next[i]) {
				tok.Type = tEnd
				prev = i
			}
		default:
			t.bracket(i)
			prev = i
		}
	}
	for _, i := range t.open {
		t.fault(i, "%s is never closed", t.tokens[i].Value).Hint = "add " + closers[t.tokens[i].Value] + " where it ends"
	}
	return t.tokens
}

// following gives for each token the next one that is neither comment nor newline.
func (t *terminator) following() []int {
	next := make([]int, len(t.tokens))
	after := len(t.tokens) - 1
	for i := len(t.tokens) - 1; i >= 0; i-- {
		next[i] = after
		if typ := t.tokens[i].Type; typ != tComment && typ != tNewline {
			after = i
		}
	}
	return next
}

// ends reports whether a newline between two tokens ends a statement.
func (t *terminator) ends(prev, next int) bool {
	if prev < 0 || t.inParens() {
		return false
	}
	switch p := &t.tokens[prev]; p.Type {
	case tEnd, tOp:
		return false
	case tPunct:
		switch p.Value {
		case "{", ",", "=", "..", "!":
			return false
		}
	}
	n := &t.tokens[next]
	return !(n.Type == tPunct && n.Value == "." || n.Type == tKeyword && n.Value == "else")
}

func (t *terminator) inParens() bool {
	return len(t.open) > 0 && t.tokens[t.open[len(t.open)-1]].Value != "{"
}

// startsStatement knows the words that are never inside ( ) or [ ].
func startsStatement(tok *lexer.Token) bool {
	if tok.Type != tKeyword {
		return false
	}
	switch tok.Value {
	case "true", "false", "for", "if", "in", "by", "else":
		return false
	}
	return true
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

func (t *terminator) bracket(i int) {
	tok := &t.tokens[i]
	if tok.Type != tPunct {
		return
	}
	switch tok.Value {
	case "{":
		t.unclosed(i)
		fallthrough
	case "(", "[":
		t.open = append(t.open, i)
		if len(t.open) > t.deep {
			t.deep, t.deepAt = len(t.open), i
		}
	case "}":
		t.unclosed(i)
		fallthrough
	case ")", "]":
		n := len(t.open) - 1
		switch {
		case n < 0:
			t.fault(i, "%s closes nothing", tok.Value)
		case closers[t.tokens[t.open[n]].Value] == tok.Value:
			t.open = t.open[:n]
		default:
			open := t.open[n]
			d := t.fault(i, "%s does not close %s", tok.Value, t.tokens[open].Value)
			d.Notes = append(d.Notes,
				diag.Note{Span: TokenSpan(&t.tokens[open]), Text: t.tokens[open].Value + " is opened here"})
			if tok.Value != "}" && t.inParens() {
				t.open = t.open[:n]
			}
		}
	}
}

// unclosed reports the ( and [ that are open where token i begins or ends a
// block or begins a statement, which cannot be inside them.
func (t *terminator) unclosed(i int) {
	for t.inParens() {
		n := len(t.open) - 1
		d := t.fault(t.open[n], "%s is never closed", t.tokens[t.open[n]].Value)
		d.Notes = append(d.Notes, diag.Note{Span: TokenSpan(&t.tokens[i]), Text: "it would have to be closed before this"})
		t.open = t.open[:n]
	}
}

func (t *terminator) fault(i int, format string, args ...any) *diag.Diagnostic {
	t.errs = append(t.errs, diag.New(diag.Syntax, TokenSpan(&t.tokens[i]), format, args...))
	return &t.errs[len(t.errs)-1]
}

// TokenSpan returns the text of t, as far as its first line goes.
func TokenSpan(t *lexer.Token) diag.Span {
	return diag.Span{Pos: diag.Pos(t.Pos), Len: len(t.Value)}
}
