// Package parse reads the texts of ir/text, for tests.
package parse

import (
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// textErrors is how many errors a parser reports before it gives up.
const textErrors = 20

// textCells bounds the cells of the programs that the parsers take, so that a
// number in a text cannot ask for all memory.
const textCells = 1 << 26

// A textParser reads a text form a line at a time, and a line a word at a time.
type textParser struct {
	file   string
	rest   string // of the text
	line   string // the line that is read
	number int
	offset int // of the line in the text
	at     int // where the rest of the line begins
	word   int // where the last word began
	bad    bool
	list   diag.List
}

// nextLine goes to the next line that is not empty.
func (p *textParser) nextLine() bool {
	for p.rest != "" && len(p.list) < textErrors {
		p.offset += len(p.line)
		if p.number > 0 {
			p.offset++
		}
		p.line, p.rest, _ = strings.Cut(p.rest, "\n")
		p.number++
		p.at, p.bad = 0, false
		if p.peek() != "" {
			return true
		}
	}
	return false
}

// peek returns the next word, or "" at the end of the line.
func (p *textParser) peek() string {
	at, word := p.at, p.word
	next := p.next()
	p.at, p.word = at, word
	return next
}

// next takes the next word. Words end at blanks; one that begins with a quote
// ends at the closing one.
func (p *textParser) next() string {
	for p.at < len(p.line) && strings.IndexByte(" \t\r", p.line[p.at]) >= 0 {
		p.at++
	}
	p.word = p.at
	rest := p.line[p.at:]
	if rest == "" || rest[0] == '#' {
		return ""
	}
	end := strings.IndexAny(rest, " \t\r")
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		end = len(quoted)
	}
	if end < 0 {
		end = len(rest)
	}
	p.at += end
	return rest[:end]
}

// take takes the next word if it is w.
func (p *textParser) take(w string) bool {
	if p.peek() != w {
		return false
	}
	p.next()
	return true
}

// errorf reports an error at the last word, one a line.
func (p *textParser) errorf(format string, args ...any) {
	if !p.bad {
		at := diag.Pos{Filename: p.file, Offset: p.offset + p.word, Line: max(1, p.number), Column: p.word + 1}
		p.list = append(p.list, diag.New(diag.Syntax, diag.Span{Pos: at, Len: max(1, p.at-p.word)}, format, args...))
	}
	p.bad = true
}

// end reports what is left on the line.
func (p *textParser) end() {
	if w := p.next(); w != "" {
		p.errorf("%q is more than this line can have", w)
	}
}

// number32 reads s as a number from low up.
func (p *textParser) number32(s string, low int) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < int64(low) {
		p.errorf("%q is no number from %d up", s, low)
		return int32(low)
	}
	return int32(n)
}

func (p *textParser) int(low int) int32 { return p.number32(p.next(), low) }

// string reads a word that may be quoted.
func (p *textParser) string() string {
	w := p.next()
	if strings.HasPrefix(w, `"`) {
		if s, err := strconv.Unquote(w); err == nil {
			return s
		}
	}
	if w == "" {
		p.errorf("a word is missing")
	}
	return w
}

// numbers reads "1,2,3".
func (p *textParser) numbers(s string, low int) []int32 {
	var list []int32
	for part := range strings.SplitSeq(s, ",") {
		list = append(list, p.number32(part, low))
		if p.bad {
			return nil
		}
	}
	return list
}

// names reads "i1,i2".
func (p *textParser) names(s string) []int32 {
	var list []int32
	for part := range strings.SplitSeq(s, ",") {
		list = append(list, p.name(part))
	}
	return list
}

// name reads "i7".
func (p *textParser) name(s string) int32 {
	digits, ok := strings.CutPrefix(s, "i")
	if !ok {
		p.errorf("%q is no instruction's name", s)
		return 0
	}
	return p.number32(digits, 0)
}

// splitRef reads "input[3]*2" into its parts; the count is 1 where none is
// written.
func (p *textParser) splitRef(s string) (buf string, index, count int32) {
	s, times, has := strings.Cut(s, "*")
	count = 1
	if has {
		count = p.number32(times, 0)
	}
	buf, rest, ok := strings.Cut(s, "[")
	rest, closed := strings.CutSuffix(rest, "]")
	if !ok || !closed || buf == "" {
		p.errorf("%q is no chunk, such as input[3] or output[0]*2", s)
		return "input", 0, 1
	}
	n, err := strconv.ParseInt(rest, 10, 32)
	if err != nil {
		p.errorf("%q is no index", rest)
	}
	return buf, int32(n), count
}

// bufByName finds a buffer of instructions and steps.
func (p *textParser) bufByName(name string) ir.Buf {
	for _, b := range []ir.Buf{ir.Input, ir.Output, ir.Scratch, ir.Packets, ir.Flags, ir.NoBuf} {
		if b.String() == name {
			return b
		}
	}
	if digits, ok := strings.CutPrefix(name, "scratch+"); ok {
		if n, err := strconv.ParseUint(digits, 10, 8); err == nil && n > 0 && ir.Scratch+ir.Buf(n) > ir.Scratch &&
			ir.Scratch+ir.Buf(n) < ir.NoBuf {
			return ir.Scratch + ir.Buf(n)
		}
	}
	p.errorf("%q is no buffer: input, output or scratch", name)
	return ir.Input
}

func (p *textParser) perRank(what string, ranks int) []int32 {
	n := p.numbers(p.next(), 0)
	if len(n) == 1 {
		n = slices.Repeat(n, ranks)
	}
	total := 0
	for _, x := range n {
		total += int(x)
	}
	if len(n) != ranks || total > textCells {
		p.errorf("%s has %d numbers for %d ranks, or more than %d chunks in all", what, len(n), ranks, textCells)
		return nil
	}
	return n
}
