package syntax

import (
	"strings"

	"mscclc/files"
)

// This file reads integers.

// number reads an integer: digits with single _ between them, and a suffix.
func (s *scanner) number(rest string) {
	n := wordLen(rest)
	if n < len(rest) && rest[n] == '.' && (n+1 == len(rest) || rest[n+1] != '.' && !isLetter(rest[n+1])) {
		s.noInteger(n+1+wordLen(rest[n+1:]), rest)
		return
	}
	if _, ok := ParseInt(rest[:n]); ok {
		s.emit(tInt, n)
		return
	}
	d := s.fault(n, "%s is no integer", rest[:min(n, 40)])
	if digits := strings.Trim(rest[:n], "0123456789_KMGkmgiB"); digits == "" {
		d.Hint = "integers have 64 bits, _ only between digits, and at most one suffix K, M or G, also as k, KB or KiB"
	} else {
		d.Hint = "integers are decimal, with a suffix K, M or G for powers of 1024"
	}
	s.emit(tInt, n)
}

// noInteger reports that the n bytes at the head of rest are a number with a fraction.
func (s *scanner) noInteger(n int, rest string) {
	s.fault(n, "%s is not an integer", rest[:min(n, 40)]).Hint = "all numbers are integers; a / b rounds down"
	s.emit(tInt, n)
}

// ParseInt reads an integer of the language.
func ParseInt(text string) (int64, bool) {
	text, shift := files.CutSizeUnit(text)
	if text == "" || text[0] == '_' || text[len(text)-1] == '_' {
		return 0, false
	}
	v := int64(0)
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
			if v > (1<<63-1-int64(c-'0'))/10 {
				return 0, false
			}
			v = v*10 + int64(c-'0')
		case c != '_' || text[i-1] == '_':
			return 0, false
		}
	}
	if v > (1<<63-1)>>shift {
		return 0, false
	}
	return v << shift, true
}

// startsFraction reports whether rest, after line, is a number such as .5 and no member.
func startsFraction(line, rest string) bool {
	return len(rest) > 1 && rest[0] == '.' && isDigit(rest[1]) &&
		(line == "" || strings.IndexByte(" \t=(,[+-*/%", line[len(line)-1]) >= 0)
}
