// Package strictjson reads JSON of any length as a stream. Each error has a position and the path of keys that leads to
// it. The package is stricter than encoding/json: an unknown key or a repeated key is an error. A [Reader] reads a
// text, and [Check] reports whether a text is JSON. It may import files and ir/diag.
package strictjson

import (
	"errors"
	"io"

	"mscclc/files"
	"mscclc/ir/diag"
)

// tokens cuts JSON into tokens as it is read, so that a text of any length takes no memory. It accepts what
// encoding/json accepts, and words its errors in the same way. Of a string or a number of more than maxToken bytes it
// keeps the first ones.
type tokens struct {
	name    string
	what    string // that messages call the text
	r       io.Reader
	buf     []byte
	at, end int // buf[at:end] is not looked at yet
	base    int // offset of buf[0]
	failed  error
	eof     bool

	line, newline, before int // the line of buf[at], where it begins, and where the line before begins
	broke                 int // where the first line after the last key ended, or -1

	stack []byte // the brackets that are open
	state expect
	long  []byte // the first bytes of a token that is too long to be kept

	kind   byte // of the token that comes next, by its first byte; see peek
	loaded bool
	raw    []byte // of the token: what stands between the quotes, or a word
	start  Pos    // of the token
	last   int    // the offset after the token that was taken last

	bad     *diag.Diagnostic // the first error of syntax
	notUTF8 bool
}

// maxToken is how many bytes of a token are kept, and maxDepth how many brackets may be open, as in encoding/json.
const (
	maxToken = 32 << 10
	maxDepth = 10000
)

// A Pos is where a token begins. Lines and columns count from 1, bytes from 0.
type Pos struct{ Offset, Line, Column int }

// An expect says what may come next.
type expect uint8

const (
	wantValue   expect = iota
	wantElement        // or the end of the list
	wantField          // a key, or the end of the object
	wantKey
	wantColon
	wantNext // a comma, or the end of what is open
)

func newTokens(name string, r io.Reader, opt Options) *tokens {
	what := "a " + opt.What
	if opt.Smaller == "" {
		r = files.Limit(name, r, what, opt.MaxBytes)
	} else {
		r = files.LimitHint(name, r, what, opt.MaxBytes, opt.Smaller)
	}
	s := &tokens{name: name, what: opt.What, r: r, buf: make([]byte, 2*maxToken), line: 1, broke: -1}
	return s
}

// Check reads text of any length and says what is wrong with it as JSON, and whether it holds nothing but blanks.
func Check(name string, r io.Reader, opt Options) (empty bool, err error) {
	s := newTokens(name, r, opt)
	s.what = "the file"
	_, more := s.nonblank()
	err = s.err()
	return !more && s.failed == nil, err
}

// fill reads more after buf[keep:end], which stays, and reports whether it got any.
func (s *tokens) fill(keep int) bool {
	if s.eof {
		return false
	}
	if s.end == len(s.buf) {
		copy(s.buf, s.buf[keep:s.end])
		s.base, s.at, s.end = s.base+keep, s.at-keep, s.end-keep
	}
	for idle := 0; ; idle++ {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if err == nil && n == 0 && idle == 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.failed = err
			}
		}
		if n > 0 || s.eof {
			return n > 0
		}
	}
}

// pos returns where buf[at] stands.
func (s *tokens) pos() Pos {
	offset := s.base + s.at
	return Pos{offset, s.line, offset - s.newline + 1}
}

func (s *tokens) spanAt(at Pos, n int) diag.Span {
	return diag.Span{Pos: diag.Pos{Filename: s.name, Offset: at.Offset, Line: at.Line, Column: at.Column}, Len: n}
}

// peek returns what the next token begins with: a bracket, the quote of a string, or the first byte of a word; 0 at the
// end, and at the first error.
func (s *tokens) peek() byte {
	if !s.loaded {
		s.kind, s.loaded = s.next(), true
	}
	return s.kind
}

// here returns where the next token begins.
func (s *tokens) here() Pos {
	s.peek()
	return s.start
}

// take goes over the next token and returns its text, which holds until the next peek.
func (s *tokens) take() []byte {
	s.peek()
	s.loaded, s.last = s.kind == 0, s.base+s.at
	return s.raw
}

// next reads a token.
func (s *tokens) next() byte {
	s.raw = nil
	for {
		c, more := s.nonblank()
		s.start = s.pos()
		if !more {
			if s.state != wantNext || len(s.stack) > 0 {
				s.ended()
			}
			return 0
		}
		switch {
		case s.state == wantNext && len(s.stack) == 0:
			return s.refuse(c, "after top-level value")
		case s.state == wantNext && c == ',':
			if s.state = wantValue; s.top() == '{' {
				s.state = wantKey
			}
		case s.state == wantColon && c == ':':
			s.state = wantValue
		default:
			return s.token(c)
		}
		s.at++
	}
}

func (s *tokens) top() byte { return s.stack[len(s.stack)-1] }

// token reads the token that begins with c.
func (s *tokens) token(c byte) byte {
	switch s.state {
	case wantColon:
		return s.refuse(c, "after object key")
	case wantField, wantKey:
		if c == '"' {
			s.broke = -1
			return s.text(wantColon)
		}
		if c == '}' && s.state == wantField {
			return s.close(c)
		}
		return s.refuse(c, "looking for beginning of object key string")
	case wantNext:
		if open := s.top(); c == open+2 { // ] and } are two after [ and {
			return s.close(c)
		} else if open == '{' {
			return s.refuse(c, "after object key:value pair")
		}
		return s.refuse(c, "after array element")
	}
	switch {
	case c == ']' && s.state == wantElement:
		return s.close(c)
	case c == '{' || c == '[':
		return s.open(c)
	case c == '"':
		return s.text(wantNext)
	}
	return s.word(c)
}

func (s *tokens) open(c byte) byte {
	if len(s.stack) == maxDepth {
		return s.refuse(c, "exceeded max depth")
	}
	s.stack = append(s.stack, c)
	if s.state = wantElement; c == '{' {
		s.state = wantField
	}
	s.at++
	return c
}

func (s *tokens) close(c byte) byte {
	s.stack = s.stack[:len(s.stack)-1]
	s.state = wantNext
	s.at++
	return c
}

// nonblank goes to the next byte that is no blank.
func (s *tokens) nonblank() (byte, bool) {
	for {
		for ; s.at < s.end; s.at++ {
			c := s.buf[s.at]
			if c == '\n' {
				at := s.base + s.at
				if s.broke < 0 {
					s.broke = at
				}
				s.line, s.before, s.newline = s.line+1, s.newline, at+1
			} else if c != ' ' && c != '\t' && c != '\r' {
				return c, true
			}
		}
		if !s.fill(s.at) {
			return 0, false
		}
	}
}
