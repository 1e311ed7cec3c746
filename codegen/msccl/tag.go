package msccl

import (
	"bytes"

	"mscclc/ir/diag"
)

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

// span returns where attribute a is.
func (t *tag) span(a *attr) diag.Span {
	return diag.Span{Pos: t.posAt(a.at), Len: len(a.key)}
}

// whole returns the tag's span, cut at the end of its line.
func (t *tag) whole() diag.Span {
	n := len(t.raw)
	if i := bytes.IndexByte(t.raw, '\n'); i >= 0 {
		n = i
	}
	return diag.Span{Pos: t.pos, Len: n}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// nameByte reports whether c may stand in a name; the format's are all ASCII.
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
