package diag

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown is how many diagnostics Fprint prints before it counts the rest. What
// reads a file looks for as many errors and then stops, so that a list of just
// that many may not be all.
const Shown = 20

// ShownOfSteps is how many diagnostics of one code Fprint prints that are about
// steps of a program: what is wrong with one step is wrong with its like on
// every rank.
const ShownOfSteps = 4

// excerptWidth bounds the characters of a source line that are shown.
const excerptWidth = 160

// underlined is the most characters of a whole line that are underlined.
const underlined = 80

// Fprint prints l as clang prints errors: sorted by position, each with its
// source line and a caret, then its notes and its hint, and at the end how
// many there are. Sources gives a file's text, or nil where there is none; it
// may be nil itself.
func Fprint(w io.Writer, l List, sources func(file string) []byte, colour bool) error {
	b := bufio.NewWriter(w)
	p := printer{Writer: b, sources: sources, lines: map[string]*Lines{}}
	if colour {
		p.bold, p.red, p.cyan, p.green, p.plain = "\x1b[1m", "\x1b[1;31m", "\x1b[36m", "\x1b[32m", "\x1b[0m"
	}
	sorted := append(List(nil), l...).Sort()
	shown, ofCode := 0, map[Code]int{}
	for i := range sorted {
		d := &sorted[i]
		if ofCode[d.Code]++; shown == Shown || d.Step >= 0 && ofCode[d.Code] > ShownOfSteps {
			continue
		}
		p.diagnostic(d)
		shown++
	}
	if n := len(sorted); n > shown {
		fmt.Fprintf(b, "%s, %d more not shown\n", counted(sorted), n-shown)
	} else if n == Shown {
		fmt.Fprintf(b, "%s, and perhaps more\n", counted(sorted))
	} else if n > 0 {
		fmt.Fprintf(b, "%s\n", counted(sorted))
	}
	return b.Flush()
}

// counted says how many errors and warnings there are.
func counted(l List) string {
	var n [2]int
	for i := range l {
		if l[i].Code.Warning() {
			n[1]++
		} else {
			n[0]++
		}
	}
	var parts []string
	for i, what := range []string{"error", "warning"} {
		if n[i] > 0 {
			parts = append(parts, Counted(n[i], what))
		}
	}
	return strings.Join(parts, " and ")
}

// Summary says how many problems l has, and of which codes: "2 problems: race, unused".
func (l List) Summary() string {
	text := Counted(len(l), "problem")
	if len(l) == Shown {
		text += " or more" // the readers stop there
	}
	var codes []string
	seen := map[Code]bool{}
	for _, d := range l {
		if !seen[d.Code] {
			seen[d.Code] = true
			codes = append(codes, string(d.Code))
		}
	}
	return text + ": " + strings.Join(codes, ", ")
}

// Counted returns a number with the noun that it counts: "1 error", "2 errors", "3 classes".
func Counted(n int, noun string) string { return fmt.Sprintf("%d %s", n, Plural(n, noun)) }

// Plural returns the noun that stands after a number.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return noun + "s"
}

type printer struct {
	*bufio.Writer
	sources func(file string) []byte
	lines   map[string]*Lines

	bold, red, cyan, green, plain string
}

func (p *printer) diagnostic(d *Diagnostic) {
	fmt.Fprintf(p, "%s%s%s:%s %s%s%s [%s]\n", p.where(d.Span), p.red, d.severity(), p.plain, p.bold, printableLines(d.Text),
		p.plain, d.Code)
	p.excerpt(d.Span)
	for _, n := range d.Notes {
		fmt.Fprintf(p, "%s%snote:%s %s\n", p.where(n.Span), p.cyan, p.plain, printableLines(n.Text))
		p.excerpt(n.Span)
	}
	if d.Hint != "" {
		fmt.Fprintf(p, "  %shint:%s %s\n", p.cyan, p.plain, printableLines(d.Hint))
	}
}

func (p *printer) where(s Span) string {
	if at := s.Pos.String(); at != "" {
		return p.bold + Printable(Shorten(at)) + ":" + p.plain + " "
	}
	return ""
}

// excerpt prints the line that s is on, less its indentation, and a caret with
// a tail under the span.
func (p *printer) excerpt(s Span) {
	line, ok := p.line(s.Filename, s.Line)
	if !ok || s.Column < 1 || s.Column > len(line)+1 {
		return
	}
	before, at := line[:s.Column-1], line[s.Column-1:]
	before = strings.TrimLeft(before, " \t")
	before, cutBefore := lastRunes(before, excerptWidth/2)
	length := utf8.RuneCountInString(at[:clampLen(at, s.Len)])
	at, cutAt := firstRunes(at, excerptWidth-utf8.RuneCountInString(before))
	length = min(length, utf8.RuneCountInString(at))

	lead, tail := "", ""
	if cutBefore {
		lead = "..."
	}
	if cutAt {
		tail = "..."
	}
	fmt.Fprintf(p, "    %s%s%s%s\n", lead, Printable(before), Printable(at), tail)
	if before == "" && length > underlined && length == utf8.RuneCountInString(at) {
		return // a whole line of XML, say
	}
	pad := strings.Repeat(" ", len(lead)+utf8.RuneCountInString(before))
	fmt.Fprintf(p, "    %s%s^%s%s\n", pad, p.green, strings.Repeat("~", max(0, length-1)), p.plain)
}

// Lines finds lines of a text. Finding them in their order is one pass over it.
type Lines struct {
	text     []byte
	line, at int // the line that was found last, from 1, and where it begins
}

// NewLines returns the lines of a text, which it keeps.
func NewLines(text []byte) *Lines { return &Lines{text: text, line: 1} }

// Line returns line n, from 1, without its end. It reports false where the text has no such line.
func (l *Lines) Line(n int) ([]byte, bool) {
	if n < l.line {
		l.line, l.at = 1, 0
	}
	for ; l.line < n; l.line++ {
		end := bytes.IndexByte(l.text[l.at:], '\n')
		if end < 0 {
			return nil, false
		}
		l.at += end + 1
	}
	line, _, _ := bytes.Cut(l.text[l.at:], []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), n > 0 && l.text != nil
}

func (p *printer) line(file string, n int) (string, bool) {
	if p.sources == nil || n < 1 {
		return "", false
	}
	src, ok := p.lines[file]
	if !ok {
		src = NewLines(p.sources(file))
		p.lines[file] = src
	}
	line, ok := src.Line(n)
	return string(line), ok
}

func clampLen(s string, n int) int { return min(max(n, 0), len(s)) }

func firstRunes(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

func lastRunes(s string, n int) (string, bool) {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:], at > 0
}

// A word of a message of more than longestWord bytes is cut after shownOfWord: no name that a person gives is as long.
const (
	longestWord = 400
	shownOfWord = 80
)

// MaxClip is how many bytes of a value of a file a message quotes.
const MaxClip = 40

// Clip returns the beginning of a value of a file: as much as a message quotes.
func Clip(value []byte) []byte { return value[:min(len(value), MaxClip)] }

// Shorten returns the text of a message with its longest words cut: each is a value of a file or of the command line,
// which may have any length. The cut word says how long it was.
func Shorten(text string) string {
	if len(text) <= longestWord {
		return text
	}
	words := strings.SplitAfter(text, " ")
	for i, word := range words {
		if len(word) <= longestWord {
			continue
		}
		cut := shownOfWord
		for cut > 0 && !utf8.RuneStart(word[cut]) {
			cut--
		}
		words[i] = fmt.Sprintf("%s... (%d bytes) ", word[:cut], len(strings.TrimSuffix(word, " ")))
	}
	return strings.TrimSuffix(strings.Join(words, ""), " ")
}

// printableLines is Printable of each line of a text. Those after the first are indented: they begin no message.
func printableLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n    ")
}

// Printable returns s with each character that could move the cursor or hide
// text replaced, one for one; a file's own words reach the terminal in messages.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}
