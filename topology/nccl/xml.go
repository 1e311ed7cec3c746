package nccl

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"mscclc/files"
	"mscclc/ir/diag"
)

// What a file of NCCL's may have: bytes, elements, and elements in each other. NCCL's own are some kilobytes.
const (
	maxDump     = 4 << 20
	maxElements = 1 << 16
	maxNesting  = 100
)

// dumps is how a file of NCCL's begins, after a declaration and comments.
var dumps = regexp.MustCompile(`\A\x{feff}?(\s|<\?[^>]*>|<!--(?s:.*?)-->)*<(system|graphs)[\s>/]`)

// IsDump reports whether a file that begins so is a topology that NCCL wrote, or one of its graphs.
func IsDump(head []byte) bool { return dumps.Match(head) }

// An element is one of a topology that NCCL wrote.
type element struct {
	tag    string
	attrs  []xml.Attr
	line   int
	subs   []*element
	looked bool // it was read, or a note says why not
}

// attr returns the value of an attribute, or "".
func (e *element) attr(key string) string {
	for _, a := range e.attrs {
		if a.Name.Local == key {
			return a.Value
		}
	}
	return ""
}

// has reports whether e has an attribute.
func (e *element) has(key string) bool {
	for _, a := range e.attrs {
		if a.Name.Local == key {
			return true
		}
	}
	return false
}

// all returns what lies in e and has a tag.
func (e *element) all(tag string) (list []*element) {
	for _, s := range e.subs {
		if s.tag == tag {
			list = append(list, s)
		}
	}
	return list
}

// numeral is what C's strtol reads of a text in base 0: decimal, hexadecimal after 0x, octal after 0.
var numeral = regexp.MustCompile(`^[ \t\n\v\f\r]*([+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*))`)

// number returns an attribute as NCCL reads numbers, by strtol into an int: what follows the digits does not count, and
// of larger numbers the lowest 32 bits are left. ok is false where there are no digits, which NCCL takes for 0.
func (e *element) number(key string) (n int64, ok bool) {
	digits, _ := e.numeral(key)
	long, _ := strconv.ParseInt(digits, 0, 64) // out of range it is the nearest, as of strtol
	return int64(int32(long)), digits != ""
}

// numeral returns the digits of an attribute, with what strtol takes before them, and what it does not read after
// them.
func (e *element) numeral(key string) (digits, rest string) {
	text := e.attr(key)
	if found := numeral.FindStringSubmatch(text); found != nil {
		return found[1], text[len(found[0]):]
	}
	return "", text
}

// number is e.number, with a note where it is not what a reader of the file would take it for.
func (d *dump) number(e *element, key string) (int64, bool) {
	n, ok := e.number(key)
	digits, rest := e.numeral(key)
	if fraction, ok := strings.CutPrefix(rest, "."); ok { // 16.0 is 16 to anybody
		rest = strings.TrimLeft(fraction, "0")
	}
	plain, err := strconv.ParseInt(strings.TrimPrefix(digits, "+"), 10, 64)
	hex := strings.Contains(strings.ToLower(digits), "x")
	if ok && (strings.TrimSpace(rest) != "" || !hex && (err != nil || plain != n)) {
		d.notes.Add(e.line, "numbers are read as NCCL reads them: the digits that come first, octal after 0, 32 bits",
			fmt.Sprintf("%s=%q is %d", key, e.attr(key), n))
	}
	return n, ok
}

// readElements reads the outermost elements of an XML file, with what lies in them. The error is a diag.List.
func readElements(name string, r io.Reader) (roots []*element, err error) {
	d := xml.NewDecoder(files.Limit(name, r, "a topology that NCCL wrote", maxDump))
	d.Strict = false // as NCCL reads values: entities mean nothing there
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []*element
	for count := 0; ; {
		token, err := d.RawToken()
		line, column := d.InputPos()
		fault := func(code diag.Code, format string, args ...any) ([]*element, error) {
			at := diag.Pos{Filename: name, Line: line, Column: column}
			return nil, diag.List{diag.New(code, diag.Span{Pos: at}, format, args...)}
		}
		var limit diag.List
		switch {
		case err == io.EOF && len(open) == 0:
			return roots, nil
		case err == io.EOF:
			return fault(diag.Malformed, "the file ends in <%s>, which line %d begins", open[len(open)-1].tag,
				open[len(open)-1].line)
		case errors.As(err, &limit):
			return nil, limit
		case err != nil:
			return fault(diag.Malformed, "not XML: %v", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if count++; count > maxElements || len(open) > maxNesting {
				return fault(diag.Limit, "the file has more than %d elements, or more than %d in each other", maxElements,
					maxNesting)
			}
			e := &element{tag: t.Name.Local, attrs: t.Copy().Attr, line: line}
			if len(open) == 0 {
				roots = append(roots, e)
			} else {
				in := open[len(open)-1]
				in.subs = append(in.subs, e)
			}
			open = append(open, e)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1].tag != t.Name.Local {
				return fault(diag.Malformed, "</%s> ends what is not begun there", t.Name.Local)
			}
			open = open[:len(open)-1]
		}
	}
}
