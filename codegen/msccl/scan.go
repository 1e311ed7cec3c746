package msccl

import (
	"bytes"
	"errors"
	"io"

	"mscclc/ir/diag"
)

// A tagScanner cuts XML into tags as a stream: elements with attributes,
// without text, entities or document types, which programs do not have. A tag
// lies in memory whole and is at most maxTag bytes long, so that nothing a file
// says makes the scanner allocate.
type tagScanner struct {
	r        io.Reader
	buf      []byte // buf[at:end] is unread
	at, end  int
	eof      bool
	failed   error // of the reader, other than its end
	base     int   // offset of buf[0] in the file
	line     int   // of buf[at]
	newline  int   // offset of the first byte of that line
	filename string

	tag    tag
	quirk  quirk // the first thing that the runtimes' own readers would reject
	prolog bool  // no tag was read yet
}

const maxTag = 1 << 16

// A quirk is something that XML allows and the runtimes' readers do not.
type quirk struct {
	text string
	pos  diag.Pos
}

// A tag is an opening, closing or empty element's tag. Its slices are valid
// until the next.
type tag struct {
	name  []byte
	close bool // </name>
	empty bool // <name/>
	attrs []attr
	raw   []byte // from < to >
	pos   diag.Pos
}

type attr struct {
	key, value []byte
	at         int // of the key in raw
}

// pos is the position of byte i of the tag.
func (t *tag) posAt(i int) diag.Pos {
	p := t.pos
	before := t.raw[:i]
	p.Offset += i
	if n := bytes.Count(before, []byte{'\n'}); n > 0 {
		p.Line += n
		p.Column = i - bytes.LastIndexByte(before, '\n')
	} else {
		p.Column += i
	}
	return p
}

// span is where attribute a is.
func (t *tag) span(a *attr) diag.Span {
	return diag.Span{Pos: t.posAt(a.at), Len: len(a.key)}
}

// whole is the tag's span, cut at the end of its line.
func (t *tag) whole() diag.Span {
	n := len(t.raw)
	if i := bytes.IndexByte(t.raw, '\n'); i >= 0 {
		n = i
	}
	return diag.Span{Pos: t.pos, Len: n}
}

func newTagScanner(filename string, r io.Reader) *tagScanner {
	return &tagScanner{r: r, buf: make([]byte, 4*maxTag), line: 1, filename: filename, prolog: true}
}

// pos is the position of the next byte.
func (s *tagScanner) pos() diag.Pos {
	offset := s.base + s.at
	return diag.Pos{Filename: s.filename, Offset: offset, Line: s.line, Column: offset - s.newline + 1}
}

func (s *tagScanner) fail(pos diag.Pos, format string, args ...any) error {
	return diag.List{diag.New(diag.Malformed, diag.Span{Pos: pos, Len: 1}, format, args...)}
}

// odd notes a quirk at pos.
func (s *tagScanner) odd(pos diag.Pos, text string) {
	if s.quirk.text == "" {
		s.quirk = quirk{text, pos}
	}
}

// fill reads more behind the unread bytes and says whether it got any.
func (s *tagScanner) fill() bool {
	if s.eof {
		return false
	}
	if s.at > 0 {
		copy(s.buf, s.buf[s.at:s.end])
		s.base += s.at
		s.end -= s.at
		s.at = 0
	}
	for idle := 0; s.end < len(s.buf); idle++ {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.failed = err
			}
		}
		if n > 0 || s.eof {
			return n > 0
		}
		if idle == 100 {
			s.eof, s.failed = true, io.ErrNoProgress
		}
	}
	return false
}

// skip consumes n bytes and counts lines.
func (s *tagScanner) skip(n int) {
	run := s.buf[s.at : s.at+n]
	if lines := bytes.Count(run, []byte{'\n'}); lines > 0 {
		s.line += lines
		s.newline = s.base + s.at + bytes.LastIndexByte(run, '\n') + 1
	}
	s.at += n
}

// next reads the next tag, or nil at the end of the file.
func (s *tagScanner) next() (*tag, error) {
	for {
		if err := s.space(); err != nil {
			return nil, err
		}
		if s.at == s.end {
			return nil, s.broken()
		}
		switch {
		case s.starts("<!--"):
			if err := s.comment(); err != nil {
				return nil, err
			}
		case s.starts("<?xml"):
			if !s.prolog {
				return nil, s.fail(s.pos(), "an XML declaration stands first in a file")
			}
			s.odd(s.pos(), "an XML declaration")
			if start := s.pos(); !s.until("?>") {
				return nil, s.cut(start, "XML declaration has no end")
			}
			s.prolog = false
		case s.starts("<!"), s.starts("<?"):
			return nil, s.fail(s.pos(), "a document type, section or instruction has no place in a program")
		default:
			s.prolog = false
			return s.element()
		}
	}
}

// starts says whether text comes next.
func (s *tagScanner) starts(text string) bool {
	for s.end-s.at < len(text) && s.fill() {
	}
	return s.end-s.at >= len(text) && string(s.buf[s.at:s.at+len(text)]) == text
}

// space skips white space, and rejects other text between tags.
func (s *tagScanner) space() error {
	for {
		i := s.at
		for ; i < s.end; i++ {
			c := s.buf[i]
			if c == '\t' && s.quirk.text == "" {
				s.skip(i - s.at)
				s.odd(s.pos(), "a tab")
			} else if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				break
			}
		}
		s.skip(i - s.at)
		if s.at < s.end {
			if s.buf[s.at] != '<' {
				return s.fail(s.pos(), "text stands between the tags")
			}
			return nil
		}
		if !s.fill() {
			return nil
		}
	}
}

func (s *tagScanner) comment() error {
	start := s.pos()
	s.skip(len("<!--"))
	if !s.until("-->") {
		return s.cut(start, "comment has no end")
	}
	return nil
}

// until skips up to and over text, and says whether there was one.
func (s *tagScanner) until(text string) bool {
	for {
		if i := bytes.Index(s.buf[s.at:s.end], []byte(text)); i >= 0 {
			s.skip(i + len(text))
			return true
		}
		s.skip(max(0, s.end-s.at-len(text)+1))
		if !s.fill() {
			return false
		}
	}
}

// broken is the reader's error, if it had one.
func (s *tagScanner) broken() error {
	if s.failed == nil {
		return nil
	}
	return diag.List{diag.New(diag.Io, diag.Span{Pos: s.pos()}, "cannot read: %v", s.failed)}
}

// cut is the error of something that began at start when the file ended.
func (s *tagScanner) cut(start diag.Pos, format string, args ...any) error {
	if err := s.broken(); err != nil {
		return err
	}
	return s.fail(start, format, args...)
}

// element reads a tag, of which < comes next.
func (s *tagScanner) element() (*tag, error) {
	end := s.tagEnd()
	if end < 0 {
		if s.end-s.at >= maxTag {
			return nil, s.fail(s.pos(), "tag is longer than %d bytes", maxTag)
		}
		return nil, s.cut(s.pos(), "tag has no end")
	}
	t := &s.tag
	t.raw, t.pos, t.attrs = s.buf[s.at:s.at+end+1], s.pos(), t.attrs[:0]
	t.close, t.empty = false, false
	if err := s.parse(t); err != nil {
		return nil, err
	}
	s.skip(end + 1)
	return t, nil
}

// tagEnd finds the > that ends the tag, outside quotes; -1 where there is none
// in reach.
func (s *tagScanner) tagEnd() int {
	quote := byte(0)
	for i := 0; i < maxTag; {
		run := s.buf[s.at+i : min(s.end, s.at+maxTag)]
		for k, c := range run {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '>':
				return i + k
			}
		}
		i += len(run)
		if s.at+i == s.end && !s.fill() {
			return -1
		}
	}
	return -1
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// nameByte says whether c may stand in a name; the format's are all ASCII.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' ||
		c == '.' || c == ':'
}

// parse takes t.raw apart.
func (s *tagScanner) parse(t *tag) error {
	raw, i := t.raw, 1
	if raw[i] == '/' {
		t.close = true
		i++
	}
	start := i
	for nameByte(raw[i]) {
		i++
	}
	if t.name = raw[start:i]; len(t.name) == 0 {
		return s.fail(t.posAt(i), "tag has no name")
	}
	for {
		gap := i
		for blank(raw[i]) {
			i++
		}
		switch {
		case raw[i] == '>' && i == len(raw)-1:
			if i > gap {
				s.odd(t.posAt(gap), "white space at the end of a tag")
			}
			return nil
		case raw[i] == '/' && i == len(raw)-2 && !t.close:
			if i > gap {
				s.odd(t.posAt(gap), "white space at the end of a tag")
			}
			t.empty = true
			return nil
		case t.close:
			return s.fail(t.posAt(i), "closing tag </%s> holds more than its name", t.name)
		case i == gap:
			return s.fail(t.posAt(i), "attribute does not begin behind a space")
		}
		if i != gap+1 || raw[gap] != ' ' {
			s.odd(t.posAt(gap), "attributes that are not one space apart")
		}
		var err error
		if i, err = s.attribute(t, i); err != nil {
			return err
		}
	}
}

// attribute reads key="value" from byte i of the tag and returns where it ends.
// The tag ends in >, which is in no name and in no gap, so no index runs over.
func (s *tagScanner) attribute(t *tag, i int) (int, error) {
	raw, start := t.raw, i
	for nameByte(raw[i]) {
		i++
	}
	a := attr{key: raw[start:i], at: start}
	if len(a.key) == 0 {
		return 0, s.fail(t.posAt(start), "attribute has no name")
	}
	key := i
	for blank(raw[i]) {
		i++
	}
	if raw[i] != '=' {
		return 0, s.fail(t.posAt(start), "attribute %s has no value", a.key)
	}
	equals := i
	for i++; blank(raw[i]); i++ {
	}
	if equals != key || i != equals+1 {
		s.odd(t.posAt(key), "white space around =")
	}
	quote := raw[i]
	if quote != '"' && quote != '\'' {
		return 0, s.fail(t.posAt(i), "the value of %s is not in quotes", a.key)
	}
	if quote == '\'' {
		s.odd(t.posAt(i), "a value in single quotes")
	}
	n := bytes.IndexByte(raw[i+1:], quote)
	if n < 0 {
		return 0, s.fail(t.posAt(i), "the value of %s has no end", a.key)
	}
	a.value = raw[i+1 : i+1+n]
	for at, c := range a.value {
		if c == '&' || c == '<' {
			return 0, s.fail(t.posAt(i+1+at), "the value of %s holds %q: the runtimes know no entities", a.key, c)
		}
	}
	if n > 255 {
		s.odd(t.posAt(i), "a value of more than 255 bytes")
	}
	t.attrs = append(t.attrs, a)
	if len(t.attrs) == 17 {
		s.odd(t.posAt(start), "a tag of more than 16 attributes")
	}
	return i + n + 2, nil
}
