package codegen

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

// uint reads a whole number from least to most. One that is greater is beyond a limit.
func (s *planScan) uint(least, most uint64) uint64 {
	c, at := s.peek(), s.here()
	if c != '-' && (c < '0' || c > '9') {
		s.wrong("a number")
		return least
	}
	text := s.take()
	n, err := strconv.ParseUint(string(text), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		s.say(diag.Malformed, at, "is %s, not a whole number from %d to %d", clip(text), least, most)
	case err != nil || n > most:
		s.say(diag.Limit, at, "is %s, more than %d", clip(text), most)
	case n < least:
		s.say(diag.Malformed, at, "is %d, less than %d", n, least)
	default:
		return n
	}
	return least
}

func (s *planScan) int32() int32 { return int32(s.uint(0, math.MaxInt32)) }

// int32s reads a list of numbers, which is not nil.
func (s *planScan) int32s() []int32 {
	list := []int32{}
	s.list(func(int) {
		list = append(list, s.int32())
		s.holds(unsafe.Sizeof(list[0]))
	})
	return list
}

func (s *planScan) bool() bool {
	if c := s.peek(); c != 't' && c != 'f' {
		s.wrong("true or false")
		return false
	}
	return string(s.take()) == "true"
}

// text reads a string of up to most bytes.
func (s *planScan) text(most int) string {
	if s.peek() != '"' {
		s.wrong("a string")
		return ""
	}
	at := s.here()
	raw := s.take()
	if bytes.IndexByte(raw, '\\') < 0 && len(raw) <= most { // and so not cut
		return string(raw)
	}
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text); err != nil || len(text) > most || s.isCut() {
		s.say(diag.Limit, at, "is a string of more than %d bytes", most)
		return ""
	}
	return text
}

// oneOf reads a string that is one of words, and returns it without making it anew.
func (s *planScan) oneOf(words ...string) string {
	if s.peek() != '"' {
		s.wrong("a string")
		return ""
	}
	at := s.here()
	raw := s.take()
	for _, w := range words {
		if w == string(raw) {
			return w
		}
	}
	s.say(diag.Malformed, at, "is %q, which is none of %s", clip(raw), strings.Join(words, ", "))
	return ""
}
