package choose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"mscclc/files"
	"mscclc/ir/diag"
)

// maxTable bounds a table's file, which is JSON whatever it is called.
const maxTable = 16 << 20

// ReadTable reads a table, whose file messages call name, and refuses one of which it would
// misread or pass over a part. The error is a diag.List that names fields as the JSON does.
func ReadTable(name string, r io.Reader) (*Table, error) { return Shelf(nil).ReadTable(name, r) }

// ReadTable reads a table whose rules may also name the user's programs.
func (s Shelf) ReadTable(name string, r io.Reader) (*Table, error) {
	text, err := files.ReadAll(name, r, "a table", maxTable)
	if err != nil {
		return nil, err
	}
	t := &tableReader{scan: newScan(name, text), table: &Table{}, own: s, known: map[entryKey]diag.Span{}}
	t.read()
	if len(t.found) > 0 {
		return nil, t.found
	}
	return t.table, nil
}

// A scan reads JSON value by value, and knows where each stands. What is wrong with a
// value is noted and the value passed over; what is no JSON ends the reading.
type scan struct {
	name  string
	text  []byte
	json  *json.Decoder
	lines []int // where each begins
	found diag.List
	ended bool
}

func newScan(name string, text []byte) *scan {
	s := &scan{name: name, text: text, json: json.NewDecoder(bytes.NewReader(text)), lines: []int{0}}
	s.json.UseNumber()
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// here is where the next value, or what stands there instead, begins.
func (s *scan) here() diag.Span {
	at := int(s.json.InputOffset())
	for at < len(s.text) && strings.IndexByte(" \t\r\n,:", s.text[at]) >= 0 {
		at++
	}
	line := sort.SearchInts(s.lines, at+1)
	return diag.Span{Pos: diag.Pos{Filename: s.name, Offset: at, Line: line, Column: at - s.lines[line-1] + 1}, Len: 1}
}

func (s *scan) fail(at diag.Span, format string, args ...any) *diag.Diagnostic {
	s.found = append(s.found, diag.New(diag.Malformed, at, format, args...))
	if len(s.found) >= diag.Shown {
		s.ended = true
	}
	return &s.found[len(s.found)-1]
}

// token is the next one, or nil where there is none.
func (s *scan) token() json.Token {
	if s.ended {
		return nil
	}
	at := s.here()
	t, err := s.json.Token()
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		s.fail(at, "no table: the text ends too soon")
	case err != nil:
		s.fail(at, "no table: %v", err)
	default:
		return t
	}
	s.ended = true
	return nil
}

// value is the next value if it is a T; one that is not is passed over.
func value[T any](s *scan, what string, is string) (v T, ok bool) {
	at := s.here()
	t := s.token()
	if v, ok = t.(T); ok || s.ended {
		return v, ok
	}
	s.fail(at, "%s is %s, not %s", what, kindOf(t), is)
	if d, nested := t.(json.Delim); nested && (d == '{' || d == '[') {
		s.pass(1)
	}
	return v, false
}

// skip passes over the next value.
func (s *scan) skip() {
	if d, nested := s.token().(json.Delim); nested && (d == '{' || d == '[') {
		s.pass(1)
	}
}

// pass goes to the end of what depth objects and lists are open.
func (s *scan) pass(depth int) {
	for depth > 0 && !s.ended {
		switch s.token() {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return fmt.Sprintf("the string %q", short(t))
	case json.Number:
		return short(t.String())
	case nil:
		return "null"
	}
	return fmt.Sprint(t)
}

// short is so much of a text as a message can have.
func short(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}

// A field of an object, and what reads its value.
type field struct {
	name string
	must bool
	read func(what string)
}

// object reads an object that has these fields; what names it.
func (s *scan) object(what string, fields ...field) {
	at := s.here()
	if !s.begins('{', what, "an object") {
		return
	}
	seen := make([]*diag.Span, len(fields))
	for !s.ended && s.json.More() {
		at := s.here()
		name, ok := s.token().(string)
		if !ok {
			return
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case i < 0:
			d := s.fail(at, "%s has no field %q", what, short(name))
			d.Hint = "there are " + names(fields)
			s.skip()
		case seen[i] != nil:
			d := s.fail(at, "%s has %q twice", what, name)
			*d = d.WithNote(*seen[i], "it is here already")
			s.skip()
		default:
			seen[i] = &at
			fields[i].read(fmt.Sprintf("%s: %q", what, name))
		}
	}
	s.token() // }
	for i, f := range fields {
		if f.must && seen[i] == nil && !s.ended {
			s.fail(at, "%s has no %q", what, f.name)
		}
	}
}

func names(fields []field) string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.name
	}
	return strings.Join(list, ", ")
}

// list reads a list, whose elements each reads.
func (s *scan) list(what string, each func(i int)) {
	if !s.begins('[', what, "a list") {
		return
	}
	for i := 0; !s.ended && s.json.More(); i++ {
		each(i)
	}
	s.token() // ]
}

// begins takes what an object or a list begins with.
func (s *scan) begins(with json.Delim, what, is string) bool {
	at := s.here()
	t := s.token()
	if t == with || s.ended {
		return !s.ended
	}
	s.fail(at, "%s is %s, not %s", what, kindOf(t), is)
	if _, nested := t.(json.Delim); nested {
		s.pass(1)
	}
	return false
}

// whole reads a whole number from least to most.
func (s *scan) whole(what string, least, most int64) int64 {
	at := s.here()
	n, ok := value[json.Number](s, what, "a number")
	if !ok {
		return least
	}
	v, err := n.Int64()
	if err != nil || v < least || v > most {
		s.fail(at, "%s is %s, and no whole number from %d to %d", what, short(n.String()), least, most)
		return least
	}
	return v
}

// oneOf reads a string that is one of some.
func (s *scan) oneOf(what string, list []string) string {
	at := s.here()
	v, ok := value[string](s, what, "a string")
	if ok && !slices.Contains(list, v) {
		d := s.fail(at, "%s is %q", what, short(v))
		d.Hint = "there are " + strings.Join(list, ", ")
		return ""
	}
	return v
}
