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

// byteOrderMark is how some editors begin a file.
const byteOrderMark = "\xef\xbb\xbf"

// A quirk is something that XML allows and the runtimes' readers do not.
type quirk struct {
	text string
	pos  diag.Pos
}

func newTagScanner(filename string, r io.Reader) *tagScanner {
	return &tagScanner{r: r, buf: make([]byte, 4*maxTag), line: 1, filename: filename, prolog: true}
}

// pos returns the position of the next byte.
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

// fill reads more after the unread bytes and says whether it got any.
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
		case s.base+s.at == 0 && s.starts(byteOrderMark):
			s.odd(s.pos(), "a byte order mark")
			s.skip(len(byteOrderMark))
			s.newline = s.base + s.at // columns count from here
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

// starts reports whether text comes next.
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
			if s.buf[s.at] != '<' && !(s.base+s.at == 0 && s.starts(byteOrderMark)) {
				return s.fail(s.pos(), "text stands between the tags")
			}
			return nil
		}
		if !s.fill() {
			return nil
		}
	}
}

// comment skips a comment. The runtimes take its first word for the name of an element.
func (s *tagScanner) comment() error {
	start := s.pos()
	for s.end-s.at < 2+mostName && s.fill() {
	}
	word := s.buf[s.at+1 : min(s.end, s.at+2+mostName)]
	if at := bytes.IndexAny(word, " >/\r\n"); at >= 0 {
		word = word[:at]
	}
	switch {
	case bytes.IndexByte(word, '=') >= 0:
		s.odd(start, "a comment with = in its first word")
	case len(word) > mostName:
		s.odd(start, "a comment whose first word has more than 250 bytes")
	}
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

// broken returns the reader's error, if it had one.
func (s *tagScanner) broken() error {
	if s.failed == nil {
		return nil
	}
	return diag.List{diag.New(diag.Io, diag.Span{Pos: s.pos()}, "cannot read: %v", s.failed)}
}

// cut returns the error of something that began at start when the file ended.
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
