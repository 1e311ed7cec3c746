package codegen

import (
	"bytes"
	"reflect"
	"strings"

	"mscclc/ir/diag"
)

// jsonDepth is deeper than any plan nests.
const jsonDepth = 16

// jsonFields numbers the names of all fields of a plan's JSON.
var jsonFields = func() map[string]int {
	fields := map[string]int{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			add(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
				if _, ok := fields[name]; !ok {
					fields[name] = len(fields)
				}
				add(t.Field(i).Type)
			}
		}
	}
	add(reflect.TypeFor[jsonPlan]())
	return fields
}()

// A jsonScan looks at JSON before it is decoded, for what encoding/json takes
// without a word or only after it has made something of it: fields that stand
// twice, or in other letters than ours, endless nesting, and elements that hold
// nothing, of which a short text can name many. What is not JSON at all is left
// to the decoder.
type jsonScan struct {
	name  string
	b     []byte
	at    int
	stack []jsonLevel
}

// A jsonLevel is an object or a list that has begun.
type jsonLevel struct {
	object bool
	key    bool   // the next string is a field's name
	filled bool   // it holds something
	seen   uint64 // fields, as bits
}

func (s *jsonScan) fail(format string, args ...any) error {
	before := s.b[:s.at]
	pos := diag.Pos{Filename: s.name, Offset: s.at, Line: 1 + bytes.Count(before, []byte{'\n'}), Column: s.at - bytes.LastIndexByte(before, '\n')}
	return diag.List{diag.New(diag.Malformed, diag.Span{Pos: pos, Len: 1}, format, args...)}
}

func (s *jsonScan) run() error {
	for ; s.at < len(s.b); s.at++ {
		if err := s.next(s.b[s.at]); err != nil {
			return err
		}
	}
	return nil
}

func (s *jsonScan) next(c byte) error {
	top := &jsonLevel{}
	if n := len(s.stack); n > 0 {
		top = &s.stack[n-1]
	}
	switch c {
	case ' ', '\t', '\r', '\n', ':':
		return nil
	case ',':
		top.key = top.object
		return nil
	case '"':
		return s.text(top)
	case '{', '[':
		if len(s.stack) == jsonDepth {
			return s.fail("plan is nested deeper than any")
		}
		top.filled = true
		s.stack = append(s.stack, jsonLevel{object: c == '{', key: c == '{'})
		return nil
	case '}', ']':
		return s.close(top)
	}
	top.filled = true
	return nil
}

// text goes to the end of a string, and judges it where it names a field.
func (s *jsonScan) text(top *jsonLevel) error {
	start := s.at
	for s.at++; s.at < len(s.b) && s.b[s.at] != '"'; s.at++ {
		if s.b[s.at] == '\\' {
			s.at++
		}
	}
	named := top.key
	top.filled, top.key = true, false
	if !named {
		return nil
	}
	field := s.b[start+1 : min(s.at, len(s.b))]
	i, ok := jsonFields[string(field)]
	if ok && top.seen&(1<<i) == 0 {
		top.seen |= 1 << i
		return nil
	}
	s.at = start
	if ok {
		return s.fail("field %q stands twice", field)
	}
	return s.fail("plan has the unknown field %q", clip(field))
}

// close ends an object or a list. A plan has no empty objects, and empty lists
// only as the value of a field.
func (s *jsonScan) close(top *jsonLevel) error {
	n := len(s.stack) - 1
	if n < 0 {
		return nil
	}
	if !top.filled && (top.object || n == 0 || !s.stack[n-1].object) {
		return s.fail("an element of the plan holds nothing")
	}
	s.stack = s.stack[:n]
	return nil
}
