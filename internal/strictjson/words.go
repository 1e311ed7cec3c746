package strictjson

import "unicode/utf8"

// text reads a string, of which the quote comes next, and goes to a state.
func (s *tokens) text(then expect) byte {
	s.at++
	s.long = s.long[:0]
	start, more := s.at, true
	for {
		for s.at < s.end && s.buf[s.at] >= ' ' && s.buf[s.at] != '"' && s.buf[s.at] != '\\' {
			s.at++
		}
		if start, more = s.room(start); !more {
			return s.ended()
		}
		switch c := s.buf[s.at]; {
		case c == '"':
			s.notUTF8 = s.notUTF8 || !utf8.Valid(s.buf[start:s.at])
			s.raw, s.state = s.kept(start), then
			s.at++
			return '"'
		case c == '\\':
			s.at++
			var ok bool
			if start, ok = s.escape(start); !ok {
				return 0
			}
		case c < ' ':
			return s.refuse(c, "in string literal")
		}
	}
}

// escape goes over what follows a backslash.
func (s *tokens) escape(start int) (int, bool) {
	digits, more := 0, true
	for {
		if start, more = s.room(start); !more {
			s.ended()
			return start, false
		}
		c := s.buf[s.at]
		switch {
		case digits > 0 && !hexDigit(c):
			s.refuse(c, "in \\u hexadecimal character escape")
			return start, false
		case digits > 0:
			digits--
		case c == 'u':
			digits = 4
		case c != 'b' && c != 'f' && c != 'n' && c != 'r' && c != 't' && c != '\\' && c != '/' && c != '"':
			s.refuse(c, "in string escape code")
			return start, false
		}
		s.at++
		if digits == 0 {
			return start, true
		}
	}
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// word reads a number, true, false or null.
func (s *tokens) word(c byte) byte {
	s.long = s.long[:0]
	ok, start := true, 0
	switch {
	case c == 't':
		start, ok = s.literal("true")
	case c == 'f':
		start, ok = s.literal("false")
	case c == 'n':
		start, ok = s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		start, ok = s.number()
	default:
		return s.refuse(c, "looking for beginning of value")
	}
	if !ok {
		return 0
	}
	s.raw, s.state = s.kept(start), wantNext
	return c
}

func (s *tokens) literal(word string) (int, bool) {
	start, more := s.at, true
	for i := range len(word) {
		if start, more = s.room(start); !more {
			s.ended()
			return start, false
		}
		if c := s.buf[s.at]; c != word[i] {
			s.refuse(c, "in literal "+word+" (expecting '"+word[i:i+1]+"')")
			return start, false
		}
		s.at++
	}
	return start, true
}

// number reads a number: a sign, digits without a leading zero, a fraction and an exponent.
func (s *tokens) number() (int, bool) {
	start := s.at
	if s.buf[s.at] == '-' {
		s.at++
	}
	// next is the byte that comes next, or 0 at the end of the text.
	next := func() (c byte) {
		more := true
		if start, more = s.room(start); more {
			c = s.buf[s.at]
		}
		return c
	}
	digits := func(context string) bool {
		c := next()
		if c < '0' || c > '9' {
			if s.at == s.end {
				s.ended()
			} else {
				s.refuse(c, context)
			}
			return false
		}
		for ; c >= '0' && c <= '9'; c = next() {
			s.at++
		}
		return true
	}
	if next() == '0' {
		s.at++
	} else if !digits("in numeric literal") {
		return start, false
	}
	if next() == '.' {
		s.at++
		if !digits("after decimal point in numeric literal") {
			return start, false
		}
	}
	if c := next(); c == 'e' || c == 'E' {
		s.at++
		if c = next(); c == '+' || c == '-' {
			s.at++
		}
		if !digits("in exponent of numeric literal") {
			return start, false
		}
	}
	return start, true
}

// room makes sure that buf[at] is there. From buf[start] on the token is kept, as far as maxToken; it returns where
// that is now.
func (s *tokens) room(start int) (int, bool) {
	if s.at < s.end {
		return start, true
	}
	if s.at-start >= maxToken {
		if len(s.long) == 0 {
			s.long = append(s.long, s.buf[start:s.at]...)
		}
		whole := s.at - partial(s.buf[start:s.at])
		s.notUTF8 = s.notUTF8 || !utf8.Valid(s.buf[start:whole])
		start = whole
	}
	before := s.base
	more := s.fill(start)
	return start - (s.base - before), more
}

// partial returns how many bytes at the end of b begin a character that b does not hold whole.
func partial(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// isCut reports whether the token that was taken last is longer than its text.
func (s *tokens) isCut() bool { return len(s.long) > 0 }

// kept returns a token from buf[start] to buf[at].
func (s *tokens) kept(start int) []byte {
	if len(s.long) > 0 {
		return s.long
	}
	return s.buf[start:s.at]
}
