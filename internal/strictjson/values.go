package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"mscclc/ir/diag"
)

// Uint reads a whole number from least to most. One that is greater is beyond a limit.
func (s *Reader) Uint(least, most uint64) uint64 {
	if !s.number() {
		return least
	}
	at := s.Here()
	text := s.Take()
	n, err := strconv.ParseUint(string(text), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		s.Say(diag.Malformed, at, "is %s, not a whole number from %d to %d", diag.Clip(text), least, most)
	case err != nil || n > most:
		s.Say(diag.Limit, at, "is %s, more than %d", diag.Clip(text), most)
	case n < least:
		s.Say(diag.Malformed, at, "is %d, less than %d", n, least)
	default:
		return n
	}
	return least
}

// Float reads a number from least on.
func (s *Reader) Float(least float64) float64 {
	if !s.number() {
		return least
	}
	at := s.Here()
	text := s.Take()
	switch n, err := strconv.ParseFloat(string(text), 64); {
	case err != nil:
		s.Say(diag.Limit, at, "is %s, more than a number of 64 bits holds", diag.Clip(text))
	case n < least:
		s.Say(diag.Malformed, at, "is %s, less than %g", diag.Clip(text), least)
	default:
		return n
	}
	return least
}

// number reports whether a number comes next, and goes over what is none.
func (s *Reader) number() bool {
	c := s.Peek()
	if c == '-' || c >= '0' && c <= '9' {
		return true
	}
	s.Wrong("a number")
	return false
}

// Int32 reads a whole number from 0 to the largest int32.
func (s *Reader) Int32() int32 { return int32(s.Uint(0, math.MaxInt32)) }

// Int32s reads a list of numbers, which is not nil.
func (s *Reader) Int32s() []int32 {
	list := []int32{}
	s.List(func(int) {
		list = append(list, s.Int32())
		s.Holds(unsafe.Sizeof(list[0]))
	})
	return list
}

// Bool reads true or false.
func (s *Reader) Bool() bool {
	if c := s.Peek(); c != 't' && c != 'f' {
		s.Wrong("true or false")
		return false
	}
	return string(s.Take()) == "true"
}

// Text reads a string of up to most bytes.
func (s *Reader) Text(most int) string {
	if s.Peek() != '"' {
		s.Wrong("a string")
		return ""
	}
	at := s.Here()
	raw := s.Take()
	if bytes.IndexByte(raw, '\\') < 0 && len(raw) <= most { // and so not cut
		return string(raw)
	}
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text); err != nil || len(text) > most ||
		s.isCut() {
		s.Say(diag.Limit, at, "is a string of more than %d bytes", most)
		return ""
	}
	return text
}

// OneOf reads a string that is one of words, and returns it without making it anew.
func (s *Reader) OneOf(words ...string) string {
	if s.Peek() != '"' {
		s.Wrong("a string")
		return ""
	}
	at := s.Here()
	raw := s.Take()
	for _, w := range words {
		if w == string(raw) {
			return w
		}
	}
	s.Say(diag.Malformed, at, "is %q, which is none of %s", diag.Clip(raw), strings.Join(words, ", "))
	return ""
}
