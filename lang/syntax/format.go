package syntax

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// This file prints the one true format: the author's tokens, comments and
// lines, with blanks, indents and empty lines by rule. A block that is not on
// one line has its braces at line ends and its statements on lines of their
// own; else stays beside the } of such a block; there is at most one empty line
// between statements and none at the edges of a block; a comma before a closing
// bracket on the same line goes.

// Format returns src in the one true format. The result has the same tree,
// and is its own format. Errors are a diag.List of syntax errors.
func Format(filename string, src []byte) ([]byte, error) {
	return FormatLimited(filename, src, Limits{})
}

// FormatLimited is Format under other limits than the usual.
func FormatLimited(filename string, src []byte, lim Limits) ([]byte, error) {
	f, err := ParseLimited(filename, src, lim)
	if err != nil {
		return nil, err
	}
	p := &printer{items: f.items()}
	p.braces()
	p.emptyLines()
	p.commas()
	p.layOut()
	return p.bytes(), nil
}

// commentColumn is where comments after code start, and commentGap how far
// after the code where that is longer.
const (
	commentColumn = 54
	commentGap    = 4
)

// An item is a token that is printed.
type item struct {
	typ    lexer.TokenType
	text   string
	lines  int  // newlines before it
	starts bool // a statement, or a comment between statements
	gone   bool // not printed after all
	unary  bool
	toElse bool // an else, or a comment before one
	match  int  // of a bracket, its other half
}

func (it *item) is(text string) bool { return it.typ == tPunct && it.text == text }

// items takes the tokens that are printed out of f, and notes the newlines
// between them.
func (f *File) items() []item {
	list := make([]item, 0, len(f.Tokens))
	lines, ended := 0, true
	var open []int
	prev := item{typ: tEnd}
	for i := range f.Tokens {
		t := &f.Tokens[i]
		switch t.Type {
		case tEnd, tBlank:
			lines++
			ended = ended || t.Type == tEnd
			continue
		case lexer.EOF:
			continue
		}
		it := item{typ: t.Type, text: strings.TrimRight(t.Value, " \t"), lines: lines, starts: ended}
		lines = 0
		if t.Type != tComment {
			it.unary = it.is("!") || it.text == "-" && it.typ == tOp && !prev.endsOperand()
			ended = it.is("{")
			prev = it
		}
		switch at := len(list); {
		case it.is("(") || it.is("[") || it.is("{"):
			open = append(open, at)
		case it.is(")") || it.is("]") || it.is("}"):
			it.match = open[len(open)-1]
			list[it.match].match = at
			open = open[:len(open)-1]
		}
		list = append(list, it)
	}
	toElse := false
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].typ != tComment {
			toElse = list[i].typ == tKeyword && list[i].text == "else"
		}
		list[i].toElse = toElse
	}
	return list
}

// endsOperand reports whether a - after it subtracts.
func (it *item) endsOperand() bool {
	switch it.typ {
	case tIdent, tInt, tString:
		return true
	case tKeyword:
		return it.text == "true" || it.text == "false"
	}
	return it.is(")") || it.is("]")
}

// A printer lays items out in lines.
type printer struct {
	items []item
	lines []outLine
}

type outLine struct {
	empty   bool // an empty line comes first
	indent  int
	code    []byte
	comment string
}

// braces decides which blocks are on one line, and breaks the lines of others.
func (p *printer) braces() {
	breaks := make([]int, len(p.items)+1) // how many items before each begin a line
	for i := range p.items {
		breaks[i+1] = breaks[i]
		if p.items[i].lines > 0 {
			breaks[i+1]++
		}
	}
	for i := range p.items {
		it := &p.items[i]
		if !it.is("{") || breaks[it.match+1] == breaks[i+1] {
			continue
		}
		first := i + 1
		if next := &p.items[first]; next.typ == tComment && next.lines == 0 {
			first++
		}
		p.items[first].lines = max(1, p.items[first].lines)
		end := &p.items[it.match]
		end.lines = max(1, end.lines)
		if it.match+1 < len(p.items) {
			if other := &p.items[it.match+1]; other.typ != tComment && other.toElse {
				other.lines = 0
			}
		}
	}
}

// emptyLines leaves at most one empty line, and none where it separates
// nothing.
func (p *printer) emptyLines() {
	for i := range p.items {
		it := &p.items[i]
		edge := i == 0 || p.items[i-1].is("{") || it.is("}") || i > 1 && p.items[i-2].is("{") && p.items[i-1].lines == 0 &&
			p.items[i-1].typ == tComment
		if edge || !it.starts {
			it.lines = min(it.lines, 1)
		}
		if i > 0 && p.items[i-1].typ == tComment {
			it.lines = max(it.lines, 1)
		}
	}
}

// commas drops those before a closing bracket on the same line.
func (p *printer) commas() {
	for i := 0; i+1 < len(p.items); i++ {
		next := &p.items[i+1]
		if p.items[i].is(",") && next.lines == 0 && (next.is(")") || next.is("]")) {
			p.items[i].gone = true
			next.lines = p.items[i].lines
		}
	}
}

// layOut makes lines.
func (p *printer) layOut() {
	type bracket struct {
		indent int
		block  bool
	}
	var open []bracket
	statement := 0 // the indent of the statement
	var prev *item
	for i := range p.items {
		it := &p.items[i]
		if it.gone {
			continue
		}
		closes := it.is(")") || it.is("]") || it.is("}")
		if it.lines > 0 || len(p.lines) == 0 {
			indent := 0
			if n := len(open); n > 0 && closes {
				indent = open[n-1].indent
			} else if n > 0 {
				indent = open[n-1].indent + 1
			}
			inBlock := len(open) == 0 || open[len(open)-1].block
			switch {
			case it.starts && !closes:
				statement = indent
			case inBlock && !closes && !it.toElse:
				indent++
			}
			p.lines = append(p.lines, outLine{indent: indent, empty: it.lines > 1 && len(p.lines) > 0})
			prev = nil
		} else if it.starts && it.typ != tComment && !closes {
			statement = p.lines[len(p.lines)-1].indent // in a block on one line
		}
		line := &p.lines[len(p.lines)-1]
		if closes {
			if it.is("}") {
				statement = open[len(open)-1].indent
			}
			open = open[:len(open)-1]
		}
		if it.typ == tComment {
			line.comment = it.text
			continue
		}
		if prev != nil && spaced(prev, it) {
			line.code = append(line.code, ' ')
		}
		line.code = append(line.code, it.text...)
		switch {
		case it.is("{"):
			open = append(open, bracket{statement, true})
		case it.is("(") || it.is("["):
			open = append(open, bracket{line.indent, false})
		}
		prev = it
	}
}

// spaced reports whether a blank separates two items of a line.
func spaced(a, b *item) bool {
	switch {
	case a.unary || a.is("(") || a.is("[") || a.is(".") || a.is(".."):
		return false
	case b.is(")") || b.is("]") || b.is(",") || b.is(".") || b.is(".."):
		return false
	case b.is("(") || b.is("["):
		return !(a.typ == tIdent || a.is(")") || a.is("]") || a.typ == tKeyword && a.text == "parallelize")
	}
	return true
}

// bytes prints the lines, comments in neighbouring lines below each other.
func (p *printer) bytes() []byte {
	var out bytes.Buffer
	for i := 0; i < len(p.lines); {
		end, widest := i, 0
		for end < len(p.lines) && (end == i || p.beside(end-1) && p.beside(end) && !p.lines[end].empty) {
			widest = max(widest, p.width(end))
			end++
		}
		column := commentColumn
		if widest+2 > column {
			column = widest + commentGap
		}
		for ; i < end; i++ {
			p.write(&out, i, column)
		}
	}
	return out.Bytes()
}

// beside reports whether line i has code and a comment.
func (p *printer) beside(i int) bool { return p.lines[i].comment != "" && len(p.lines[i].code) > 0 }

func (p *printer) width(i int) int {
	return 4*p.lines[i].indent + utf8.RuneCount(p.lines[i].code)
}

func (p *printer) write(out *bytes.Buffer, i, column int) {
	l := &p.lines[i]
	if l.empty {
		out.WriteByte('\n')
	}
	out.WriteString(strings.Repeat("    ", l.indent))
	out.Write(l.code)
	if p.beside(i) {
		out.WriteString(strings.Repeat(" ", column-p.width(i)))
	}
	out.WriteString(l.comment)
	out.WriteByte('\n')
}
