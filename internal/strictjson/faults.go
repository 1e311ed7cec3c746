package strictjson

import (
	"errors"
	"strconv"

	"mscclc/ir/diag"
)

// This file words what is wrong with a text as JSON.

// refuse notes that c has no place here.
func (s *tokens) refuse(c byte, context string) byte {
	quoted := `'` + strconv.Quote(string(rune(c)))[1:]
	quoted = quoted[:len(quoted)-1] + `'`
	switch c {
	case '\'':
		quoted = `'\''`
	case '"':
		quoted = `'"'`
	}
	comma := c == '}' && s.state == wantKey || c == ']' && s.state == wantValue && len(s.stack) > 0 && s.top() == '['
	s.fault(s.pos(), "invalid character "+quoted+" "+context)
	if comma {
		s.bad.Hint = "remove the comma before this " + string(c)
	}
	return 0
}

// ended notes that the text ends too early: at its last byte.
func (s *tokens) ended() byte {
	at := s.pos()
	if at.Offset > 0 {
		if at.Offset--; at.Column > 1 {
			at.Column--
		} else {
			at.Line, at.Column = at.Line-1, at.Offset-s.before+1
		}
	}
	s.fault(at, "unexpected end of JSON input")
	s.bad.Hint = "the file ends early: produce it again, or add what is missing"
	return 0
}

func (s *tokens) fault(at Pos, text string) byte {
	d := diag.New(diag.Malformed, s.spanAt(at, 1), "%s is no JSON: %s", s.what, text)
	s.bad, s.eof, s.at, s.end = &d, true, 0, 0
	s.kind, s.loaded = 0, true
	return 0
}

// err reads what is left and returns what is wrong with the text as JSON, if anything is.
func (s *tokens) err() error {
	for s.peek() != 0 {
		s.take()
	}
	var list diag.List
	switch {
	case errors.As(s.failed, &list):
		return list
	case s.failed != nil:
		return diag.List{diag.New(diag.Io, diag.FileSpan(s.name), "cannot read: %v", s.failed)}
	case s.bad != nil:
		return diag.List{*s.bad}
	case s.notUTF8:
		return diag.List{diag.New(diag.Malformed, diag.FileSpan(s.name), "%s is not in UTF-8", s.what)}
	}
	return nil
}
