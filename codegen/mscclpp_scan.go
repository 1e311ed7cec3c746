package codegen

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mscclc/files"
	"mscclc/ir/diag"
)

// A planScan goes through JSON value by value, with the path and the position of each. What it finds it notes and goes on
// behind the value, so that a reader need not look at errors; at diag.Shown it stands at the end. What is kept of a plan is
// counted by holds, and bounded.
type planScan struct {
	*jsonTokens
	path  []planStep
	found diag.List
	held  int64
	over  *diag.Diagnostic // that held is too much
}

// maxHeld is how many bytes a plan may take in memory when it is read; one of 512 ranks that all talk to all has 250 MB of text, and takes
// less. Only tests change it.
var maxHeld int64 = 256 << 20

// A planStep is a step of a path: a key, or an index of the list that the key names.
type planStep struct {
	key   string
	index int // -1 for none
}

// newPlanScan begins to read JSON.
func newPlanScan(name string, r io.Reader) *planScan {
	return &planScan{jsonTokens: newJSONTokens(name, r)}
}

// finish reads what is left, and returns what was found: an error of JSON alone, and otherwise all that was noted.
func (s *planScan) finish() error {
	if err := s.jsonTokens.err(); err != nil {
		return err
	}
	if s.over != nil {
		return diag.List{*s.over}
	}
	if found := s.found.Sort(); len(found) > 0 {
		return found[:min(len(found), diag.Shown)]
	}
	return nil
}

// full reports whether enough is noted.
func (s *planScan) full() bool { return len(s.found) >= diag.Shown || s.over != nil }

// peek is the first byte of the next token, 0 at the end.
func (s *planScan) peek() byte {
	if s.full() {
		return 0
	}
	return s.jsonTokens.peek()
}

// holds counts n bytes that are kept of the plan. Beyond maxHeld the scan stands at the end, and that is all that is told.
func (s *planScan) holds(n uintptr) {
	if s.held += int64(n); s.held > maxHeld && s.over == nil {
		d := diag.New(diag.Limit, s.spanAt(s.here(), 1), "the plan takes more than %s of memory up to here, the most that is read", files.SizeText(maxHeld))
		d = d.WithHint("make a plan of fewer ranks or operations")
		s.over = &d
	}
}

// mark is the position from at to the end of the value that was read last, or of the line.
func (s *planScan) mark(at jsonPos) PlanPos {
	n := s.last - at.offset
	if s.broke >= 0 && s.broke < s.last {
		n = s.broke - at.offset
	}
	return PlanPos{Offset: int32(at.offset), Line: int32(at.line), Column: int32(at.column), Len: int32(n)}
}

// say notes an error at at, with the path to it.
func (s *planScan) say(code diag.Code, at jsonPos, format string, args ...any) *diag.Diagnostic {
	d := diag.New(code, s.spanAt(at, 1), "%s", pathed(s.pathText(), format, args...))
	s.found = append(s.found, d)
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

// took goes over c where it is next.
func (s *planScan) took(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.take()
	return true
}

// skip goes over a value of any kind, and is deep in it without a stack.
func (s *planScan) skip() {
	for depth := 0; ; {
		switch s.peek() {
		case 0:
			return
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.take()
		if depth <= 0 {
			return
		}
	}
}

// excerpt is how the next value begins, as it is written.
func (s *planScan) excerpt() (head []byte, start int) {
	start = s.here().offset
	switch c := s.peek(); c {
	case '{', '[':
		for s.end-s.at < maxQuoted && s.fill(s.at) {
		}
		head = append([]byte{c}, s.buf[s.at:min(s.end, s.at+maxQuoted)]...)
	case '"':
		head = append(append([]byte{c}, clip(s.raw)...), c)
	default:
		head = append(head, clip(s.raw)...)
	}
	return head, start
}

// wrong notes that the next value is not what it should be, and goes over it.
func (s *planScan) wrong(want string) {
	if s.peek() == 0 {
		return
	}
	at := s.here()
	head, start := s.excerpt()
	s.skip()
	if s.full() {
		return
	}
	s.say(diag.Malformed, at, "is %s, not %s", clip(head[:min(len(head), s.last-start)]), want)
}

// object hands the keys of an object to read, as indices in keys and where they stand; read goes over the value. It returns
// which keys there were, as bits, and where the object begins.
func (s *planScan) object(keys []string, read func(key int, at jsonPos)) (seen uint32, start jsonPos) {
	start = s.here()
	if s.peek() != '{' {
		s.wrong("an object")
		return 0, start
	}
	s.take()
	for s.peek() == '"' {
		at := s.here()
		name := s.take()
		i := slices.IndexFunc(keys, func(k string) bool { return k == string(name) })
		switch {
		case i < 0:
			text := fmt.Sprintf("unknown key %q", clip(name))
			s.skip()
			s.say(diag.Malformed, at, "%s", text).Hint = "the keys here are " + strings.Join(keys, ", ")
		case seen&(1<<i) != 0:
			s.skip()
			s.say(diag.Malformed, at, "key %q stands twice", keys[i])
		default:
			seen |= 1 << i
			s.path = append(s.path, planStep{keys[i], -1})
			read(i, at)
			s.path = s.path[:len(s.path)-1]
		}
	}
	s.took('}')
	return seen, start
}

// missing notes the keys of an object at start that must be there and are not.
func (s *planScan) missing(keys []string, need, seen uint32, start jsonPos) {
	var lack []string
	for i, k := range keys {
		if need&^seen&(1<<i) != 0 {
			lack = append(lack, strconv.Quote(k))
		}
	}
	switch {
	case len(lack) == 0 || s.full():
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
	for i := 0; s.peek() != ']' && s.peek() != 0; i++ {
		s.path[len(s.path)-1] = planStep{key.key, i}
		read(i)
	}
	s.path[len(s.path)-1] = key
	s.took(']')
}
