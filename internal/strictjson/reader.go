package strictjson

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/diag"
)

// Options say what a text is and how much of it is read.
type Options struct {
	What      string            // what messages call the text, such as "plan"
	MaxBytes  int64             // of the text
	MaxMemory int64             // of what the caller keeps of it; see Reader.Holds
	Smaller   string            // a hint what to do where one of them is exceeded; "" for the usual one of MaxBytes
	Forms     map[string]string // what the values of keys are, for hints: "a number"
	Ignore    diag.Code         // of the warnings that unknown keys are; "" for errors
	IgnoredBy string            // who ignores them
	Lists     [3]string         // the keys of lists whose indices are the rank, block and step of errors, or ""
}

// A Reader goes through JSON value by value, with the path and the position of each. What it finds wrong it notes, and
// goes on after the value, so that its caller need not look at errors until Finish; when it has found diag.MaxUnfolded
// errors it stands at the end of the text.
type Reader struct {
	*tokens
	opt   Options
	path  []step
	found diag.List
	near  diag.List  // of unknown keys that are ignored: those that are nearly known
	kinds diag.Kinds // and a warning of all

	unknowns int
	held     int64
	over     *diag.Diagnostic // that held is too much
}

// A step is a step of a path: a key, or an index of the list that the key names.
type step struct {
	key   string
	index int // -1 for none
}

// NewReader begins to read the JSON of r, which messages call name.
func NewReader(name string, r io.Reader, opt Options) *Reader {
	return &Reader{tokens: newTokens(name, r, opt), opt: opt}
}

// Finish reads what is left and returns what was found: an error of JSON alone, and otherwise what was noted, folded.
func (s *Reader) Finish() error {
	if err := s.tokens.err(); err != nil {
		return err
	}
	if s.over != nil {
		return diag.List{*s.over}
	}
	if found := s.found; len(found) > 0 {
		return append(found, s.near...).Folded()
	}
	return nil
}

// Ignored returns the warnings of keys that are unknown, where Options have them ignored.
func (s *Reader) Ignored() diag.List { return s.kinds.List() }

// Errors returns how many errors are noted so far.
func (s *Reader) Errors() int { return len(s.found) }

// Full reports whether enough is noted.
func (s *Reader) Full() bool { return len(s.found) >= diag.MaxUnfolded || s.over != nil }

// Peek returns what the next token begins with: a bracket, the quote of a string, or the first byte of a word. It
// returns 0 at the end, at an error of JSON, and when enough errors are noted.
func (s *Reader) Peek() byte {
	if s.Full() {
		return 0
	}
	return s.tokens.peek()
}

// Here returns where the next token begins.
func (s *Reader) Here() Pos { return s.tokens.here() }

// Take goes over the next token and returns its text, a string without its quotes, which holds until the next Peek.
func (s *Reader) Take() []byte { return s.tokens.take() }

// Holds counts n bytes that the caller keeps of the text. The caller may keep MaxMemory, or a quarter more than the
// bytes that were read, which is enough for what is written as plans. Beyond that the Reader stands at the end, and
// Finish says only that.
func (s *Reader) Holds(n uintptr) {
	most := max(s.opt.MaxMemory, int64(s.base+s.at)*5/4)
	if s.held += int64(n); s.held > most && s.over == nil {
		d := diag.New(diag.Limit, s.spanAt(s.Here(), 1),
			"the %s takes more than %s of memory up to here, the most that is read", s.what, diag.SizeText(most))
		d = d.WithHint("%s", s.opt.Smaller)
		s.over = &d
	}
}

// Len returns how many bytes lie from at to the end of the value that was read last, or to the end of its line.
func (s *Reader) Len(at Pos) int {
	if s.broke >= 0 && s.broke < s.last {
		return s.broke - at.Offset
	}
	return s.last - at.Offset
}

// Span returns where the value that was read last stands, which begins at at.
func (s *Reader) Span(at Pos) diag.Span { return s.spanAt(at, s.Len(at)) }

// Say notes an error at at, with the path to it.
func (s *Reader) Say(code diag.Code, at Pos, format string, args ...any) *diag.Diagnostic {
	path := s.pathText()
	if path == "" {
		path = s.what
	}
	d := diag.New(code, s.spanAt(at, 1), "%s: %s", path, fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = s.index(s.opt.Lists[0]), s.index(s.opt.Lists[1]), s.index(s.opt.Lists[2])
	s.found = append(s.found, d)
	return &s.found[len(s.found)-1]
}

// Within has do say things of an element of a list at key in the object that the path names.
func (s *Reader) Within(key string, index int, do func()) {
	s.path = append(s.path, step{key, index})
	do()
	s.path = s.path[:len(s.path)-1]
}

// index returns the index that the path has of the list at key, the outermost of that key, or -1.
func (s *Reader) index(key string) int {
	i := slices.IndexFunc(s.path, func(p step) bool { return p.key == key })
	if i < 0 {
		return -1
	}
	return s.path[i].index
}

func (s *Reader) pathText() string {
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
func (s *Reader) took(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.Take()
	return true
}

// Skip goes over a value of any kind, and is deep in it without a stack.
func (s *Reader) Skip() {
	for depth := 0; ; {
		switch s.Peek() {
		case 0:
			return
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.Take()
		if depth <= 0 {
			return
		}
	}
}

// excerpt returns how the next value begins, as it is written.
func (s *Reader) excerpt() (head []byte, start int) {
	start = s.Here().Offset
	switch c := s.Peek(); c {
	case '{', '[':
		for s.end-s.at < diag.MaxClip && s.fill(s.at) {
		}
		head = append([]byte{c}, s.buf[s.at:min(s.end, s.at+diag.MaxClip)]...)
	case '"':
		head = append(append([]byte{c}, diag.Clip(s.raw)...), c)
	default:
		head = append(head, diag.Clip(s.raw)...)
	}
	return head, start
}

// Wrong notes that the next value is not what it should be, and goes over it.
func (s *Reader) Wrong(want string) {
	if s.Peek() == 0 {
		return
	}
	at := s.Here()
	head, start := s.excerpt()
	s.Skip()
	if s.Full() {
		return
	}
	s.Say(diag.Malformed, at, "is %s, not %s", diag.Clip(head[:min(len(head), s.last-start)]), want)
}

// Object hands the keys of an object to read, as indices in keys and where they stand; read goes over the value. It
// returns which keys there were, as bits, and where the object begins.
func (s *Reader) Object(keys []string, read func(key int, at Pos)) (seen uint32, start Pos) {
	start = s.Here()
	if s.Peek() != '{' {
		s.Wrong("an object")
		return 0, start
	}
	s.Take()
	for s.Peek() == '"' {
		at := s.Here()
		name := s.Take()
		i := slices.IndexFunc(keys, func(k string) bool { return k == string(name) })
		switch {
		case i < 0:
			s.unknown(at, string(name), keys)
		case seen&(1<<i) != 0:
			s.Skip()
			s.Say(diag.Malformed, at, "key %q stands twice", keys[i])
		default:
			seen |= 1 << i
			s.path = append(s.path, step{keys[i], -1})
			read(i, at)
			s.path = s.path[:len(s.path)-1]
		}
	}
	s.took('}')
	return seen, start
}

// unknown notes a key that is none of some, and goes over its value. Where it is ignored, it is a warning; and an error
// beside others if it is nearly one of these.
func (s *Reader) unknown(at Pos, name string, keys []string) {
	if s.unknowns++; s.opt.Ignore != "" && s.unknowns > diag.MaxUnfolded && s.kinds.More(s.opt.Ignore, "") {
		s.Skip()
		return
	}
	text, near := fmt.Sprintf("unknown key %q", diag.Clip([]byte(name))), diag.Nearest(name, keys)
	s.Skip()
	if s.Full() {
		return
	}
	hint := "the keys here are " + strings.Join(keys, ", ")
	if near != "" {
		hint = "did you mean " + near + "?"
	}
	s.Say(diag.Malformed, at, "%s", text).Hint = hint
	if s.opt.Ignore == "" {
		return
	}
	last := len(s.found) - 1
	d := s.found[last]
	s.found = s.found[:last]
	if near != "" && len(s.near) < diag.Shown {
		s.near = append(s.near, d)
	}
	d.Code, d.Text = s.opt.Ignore, d.Text+", which "+s.opt.IgnoredBy+" ignores"
	if near == "" {
		d.Hint = ""
	}
	s.kinds.Add(d, "")
}

// Missing notes the keys of an object at start that must be there and are not, with what their values are.
func (s *Reader) Missing(keys []string, need, seen uint32, start Pos) {
	var lack, forms []string
	for i, k := range keys {
		if need&^seen&(1<<i) != 0 {
			lack = append(lack, strconv.Quote(k))
			if form := s.opt.Forms[k]; form != "" {
				forms = append(forms, strconv.Quote(k)+" is "+form)
			}
		}
	}
	if len(lack) == 0 || s.Full() {
		return
	}
	what := "keys %s are missing"
	if len(lack) == 1 {
		what = "key %s is missing"
	}
	s.Say(diag.Malformed, start, what, strings.Join(lack, ", ")).Hint = strings.Join(forms, ", ")
}

// A Field is a key of an object, and what reads its value.
type Field struct {
	Key  string
	Must bool // stand in the object
	Read func()
}

// Fields reads an object of these fields, in any order.
func (s *Reader) Fields(fields ...Field) {
	keys, need := make([]string, len(fields)), uint32(0)
	for i, f := range fields {
		if keys[i] = f.Key; f.Must {
			need |= 1 << i
		}
	}
	before := len(s.found)
	seen, start := s.Object(keys, func(key int, _ Pos) { fields[key].Read() })
	if seen != 0 || len(s.found) == before {
		s.Missing(keys, need, seen, start)
	}
}

// List hands the elements of a list to read, which goes over one.
func (s *Reader) List(read func(i int)) {
	if !s.took('[') {
		s.Wrong("a list")
		return
	}
	top := &s.path[len(s.path)-1]
	key := *top
	for i := 0; s.Peek() != ']' && s.Peek() != 0; i++ {
		s.path[len(s.path)-1] = step{key.key, i}
		read(i)
	}
	s.path[len(s.path)-1] = key
	s.took(']')
}
