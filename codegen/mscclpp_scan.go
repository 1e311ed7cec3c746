package codegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mscclc/ir/diag"
)

// maxPlanFile is the size of the largest plan that is read: of 128 ranks that all talk to all, they have 25 MB.
const maxPlanFile = 256 << 20

// A planScan goes through JSON that is known to be valid, value by value, with the path and the position of each. What it
// finds it notes and goes on behind the value, so that a reader need not look at errors; at maxReports it stands at the end.
type planScan struct {
	name  string
	b     []byte
	at    int
	path  []planStep
	found diag.List

	line, newline, counted int // line of b[counted], and where that begins
}

// A planStep is a step of a path: a key, or an index of the list that the key names.
type planStep struct {
	key   string
	index int // -1 for none
}

// newPlanScan reads all of r, which must be JSON.
func newPlanScan(name string, r io.Reader) (*planScan, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPlanFile+1))
	s := &planScan{name: name, b: text, line: 1}
	switch {
	case err != nil:
		return nil, diag.List{diag.New(diag.Io, fileSpan(name), "cannot read: %v", err)}
	case len(text) > maxPlanFile:
		return nil, diag.List{diag.New(diag.Limit, fileSpan(name), "plan is longer than %d bytes", maxPlanFile)}
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		s.at = 3
	}
	if !json.Valid(text[s.at:]) {
		var bad *json.SyntaxError
		err := json.Unmarshal(text[s.at:], new(any))
		at := len(text)
		if errors.As(err, &bad) {
			at = s.at + max(0, int(bad.Offset)-1)
		}
		return nil, diag.List{diag.New(diag.Malformed, s.span(at, 1), "plan is no JSON: %v", err)}
	}
	if !utf8.Valid(text) {
		return nil, diag.List{diag.New(diag.Malformed, fileSpan(name), "plan is not in UTF-8")}
	}
	return s, nil
}

// span is the position of n bytes at at. Positions are asked for in ascending order but for errors.
func (s *planScan) span(at, n int) diag.Span {
	at = min(at, len(s.b))
	if at < s.counted {
		s.line, s.newline, s.counted = 1, 0, 0
	}
	run := s.b[s.counted:at]
	if lines := bytes.Count(run, []byte{'\n'}); lines > 0 {
		s.line += lines
		s.newline = s.counted + bytes.LastIndexByte(run, '\n') + 1
	}
	s.counted = at
	return diag.Span{Pos: diag.Pos{Filename: s.name, Offset: at, Line: s.line, Column: at - s.newline + 1}, Len: n}
}

// mark is the position from at to the end of the value that was read last, or of the line.
func (s *planScan) mark(at int) PlanPos {
	n := s.at - at
	if i := bytes.IndexByte(s.b[at:s.at], '\n'); i >= 0 {
		n = i
	}
	x := s.span(at, n)
	return PlanPos{Offset: int32(x.Offset), Line: int32(x.Line), Column: int32(x.Column), Len: int32(n)}
}

// say notes an error at at, with the path to it.
func (s *planScan) say(code diag.Code, at int, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, s.span(at, 1), "%s", pathed(s.pathText(), format, args...))
	s.found = append(s.found, d)
	if len(s.found) >= maxReports {
		s.at = len(s.b)
	}
	return &s.found[len(s.found)-1]
}

// pathed puts a path before a message.
func pathed(path, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if path == "" {
		return "plan: " + text
	}
	return path + ": " + text
}

func (s *planScan) pathText() string {
	var b strings.Builder
	for _, p := range s.path {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p.key)
		if p.index >= 0 {
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
		}
	}
	return b.String()
}

func (s *planScan) blanks() {
	for s.at < len(s.b) && blank(s.b[s.at]) {
		s.at++
	}
}

// peek is the first byte of the next value, 0 at the end.
func (s *planScan) peek() byte {
	s.blanks()
	if s.at >= len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// took goes over c where it is next.
func (s *planScan) took(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// skip goes over a value of any kind, and is deep in it without a stack.
func (s *planScan) skip() {
	for depth := 0; ; {
		switch c := s.peek(); c {
		case 0:
			return
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case ',', ':':
			s.at++
			continue
		case '"':
			s.string()
		default:
			s.word()
		}
		if depth <= 0 {
			return
		}
	}
}

// string goes over a string and returns what stands between its quotes.
func (s *planScan) string() []byte {
	start := s.at + 1
	for s.at++; s.at < len(s.b) && s.b[s.at] != '"'; s.at++ {
		if s.b[s.at] == '\\' {
			s.at++
		}
	}
	end := min(s.at, len(s.b))
	s.at = min(s.at+1, len(s.b))
	return s.b[start:end]
}

// word goes over a number, true, false or null.
func (s *planScan) word() []byte {
	start := s.at
	for s.at < len(s.b) && !blank(s.b[s.at]) && strings.IndexByte(",]}", s.b[s.at]) < 0 {
		s.at++
	}
	return s.b[start:s.at]
}

// wrong notes that the next value is not what it should be, and goes over it.
func (s *planScan) wrong(want string) {
	at, end := s.at, 0
	s.skip()
	if end = s.at; len(s.found) >= maxReports {
		return
	}
	s.say(diag.Malformed, at, "is %s, not %s", clip(s.b[at:end]), want)
}

// object hands the keys of an object to read, as indices in keys and where they stand; read goes over the value. It returns
// which keys there were, as bits, and where the object begins.
func (s *planScan) object(keys []string, read func(key, at int)) (seen uint32, start int) {
	if s.peek() != '{' {
		s.wrong("an object")
		return 0, s.at
	}
	start = s.at
	s.at++
	for s.peek() == '"' {
		at := s.at
		name := s.string()
		s.took(':')
		s.blanks()
		i := slices.IndexFunc(keys, func(k string) bool { return k == string(name) })
		switch {
		case i < 0:
			s.skip()
			s.say(diag.Malformed, at, "unknown key %q", clip(name)).Hint = "the keys here are " + strings.Join(keys, ", ")
		case seen&(1<<i) != 0:
			s.skip()
			s.say(diag.Malformed, at, "key %q stands twice", name)
		default:
			seen |= 1 << i
			s.path = append(s.path, planStep{keys[i], -1})
			read(i, at)
			s.path = s.path[:len(s.path)-1]
		}
		s.took(',')
	}
	s.took('}')
	return seen, start
}

// missing notes the keys of an object at start that must be there and are not.
func (s *planScan) missing(keys []string, need, seen uint32, start int) {
	var lack []string
	for i, k := range keys {
		if need&^seen&(1<<i) != 0 {
			lack = append(lack, strconv.Quote(k))
		}
	}
	switch {
	case len(lack) == 0 || len(s.found) >= maxReports:
	case len(lack) == 1:
		s.say(diag.Malformed, start, "key %s is missing", lack[0])
	default:
		s.say(diag.Malformed, start, "keys %s are missing", strings.Join(lack, ", "))
	}
}

// list hands the elements of a list to read, which goes over one.
func (s *planScan) list(read func(i int)) {
	if !s.took('[') {
		s.wrong("a list")
		return
	}
	top := &s.path[len(s.path)-1]
	key := *top
	for i := 0; s.peek() != ']' && s.at < len(s.b); i++ {
		s.path[len(s.path)-1] = planStep{key.key, i}
		read(i)
		s.took(',')
	}
	s.path[len(s.path)-1] = key
	s.took(']')
}
