package topology

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"mscclc/files"
	"mscclc/ir/diag"
)

// What one file may make: places, links, links side by side, and numbers.
const (
	MaxPlaces = 1 << 17
	MaxLinks  = 1 << 20
	MaxWidth  = 1 << 20
	MaxNumber = 1 << 30

	maxFile    = 64 << 10
	maxNesting = 100
)

// Read reads a topology, with the values that params give its parameters. Its errors are a diag.List.
func Read(name string, r io.Reader, params map[string]int) (*Topology, error) {
	text, err := files.ReadAll(name, r, "a topology", maxFile)
	if err != nil {
		return nil, err
	}
	whole := diag.Span{Pos: diag.Pos{Filename: name, Line: 1, Column: 1}}
	if deepest(text) > maxNesting {
		return nil, diag.List{diag.New(diag.Limit, whole, "brackets are nested more than %d deep", maxNesting)}
	}
	src := strings.TrimRight(string(text), "\n") + "\n"
	f, err := parser.ParseString(name, src)
	if err != nil {
		var at participle.Error
		if errors.As(err, &at) {
			return nil, diag.List{misplaced(src, at)}
		}
		return nil, diag.List{diag.New(diag.Syntax, whole, "%v", err)}
	}
	b := &builder{t: &Topology{Name: f.Head.Name, Doc: firstSentence(src), Nodes: 1}, vars: map[string]int{"nodes": 1},
		groups: map[string]*group{}}
	b.params(f.Head, params)
	if len(b.errs) == 0 {
		b.build(f.Stmts)
	}
	if len(b.errs) > 0 {
		return nil, b.errs.Sort()
	}
	b.t.Notes = b.notes.All()
	return b.t, nil
}

// forms are those of a line, by its first word.
var forms = map[string]string{
	"topology": "topology NAME(PARAMETER = NUMBER, ...)", "device": "device NAME",
	"class": "class NAME 0.3us 365GB/s, and the word network after it where it is one", "node": "node {",
	"gpu": "gpu [NUMBER]", "nic": "nic [NUMBER]", "switch": "switch NAME [NUMBER]",
	"link": "link END END CLASS [x NUMBER], where an END is NAME, NAME[i] or NAME[*]",
}

// misplaced says what stands in a line that its form has no place for.
func misplaced(src string, err participle.Error) diag.Diagnostic {
	at := err.Position()
	before := src[:min(at.Offset, len(src))]
	rest, _, _ := strings.Cut(src[len(before):], "\n")
	word := lineWord.FindString(rest)
	line := strings.Fields(before[strings.LastIndexByte(before, '\n')+1:] + rest + " ")
	text, hint := "unexpected "+diag.Printable(word),
		"a line begins with topology, which is the first, device, class, node, gpu, nic, switch or link"
	switch {
	case len(rest) == 0:
		text = "unexpected end of the line"
	case keyword.MatchString(word):
		text += ", which is a word of this form and no name"
	}
	if len(line) > 0 {
		if form := forms[lineWord.FindString(line[0])]; form != "" {
			hint = "such a line is " + form
		}
	}
	return diag.New(diag.Syntax, span(at, max(len(word), 1)), "%s", text).WithHint("%s", hint)
}

var (
	lineWord = regexp.MustCompile(`^(\w+|[^\w\s])`)
	keyword  = regexp.MustCompile(`^` + keywords + `$`)
)

func deepest(text []byte) int {
	deep, most := 0, 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			deep++
			most = max(most, deep)
		case ')', ']', '}':
			deep--
		}
	}
	return most
}

func firstSentence(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return diag.Printable(strings.TrimSpace(sentence))
}

func span(p lexer.Position, n int) diag.Span { return diag.Span{Pos: diag.Pos(p), Len: n} }
