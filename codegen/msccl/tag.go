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

// An attr is an attribute. Its slot counts the spaces of the tag before it: the runtimes' tokeniser gives each space a
// place for an attribute, has places for mostSlots, and loses what lies beyond.
type attr struct {
	key, value []byte
	at         int32 // of the key in raw
	slot       int32 // from 0
}

// What the runtimes' tokeniser holds.
const (
	mostSlots = 16
	mostName  = 253 // bytes of an element's name
	mostKey   = 254 // bytes of an attribute's name
	mostValue = 255
)

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
	return diag.Span{Pos: t.posAt(int(a.at)), Len: len(a.key)}
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

// nameByte reports whether c may stand in a name; the format's are all ASCII, and others are passed over.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' ||
		c == '.' || c == ':' || c >= 0x80
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
	if len(t.name) > mostName {
		s.odd(t.posAt(start), "a name of more than 253 bytes")
	}
	for slots := 0; ; {
		gap := i
		for blank(raw[i]) {
			i++
		}
		slots += i - gap
		if at := bytes.IndexAny(raw[gap:i], "\t\r\n"); at >= 0 {
			s.odd(t.posAt(gap+at), "a tab or a line end in a tag")
		}
		switch {
		case raw[i] == '>' && i == len(raw)-1:
			if t.close && i > gap {
				s.odd(t.posAt(gap), "white space in a closing tag")
			}
			return nil
		case raw[i] == '/' && i == len(raw)-2 && !t.close:
			t.empty = true
			return nil
		case raw[i] == '/' && !t.close && len(bytes.Trim(raw[i+1:len(raw)-1], " \t\r\n")) == 0:
			d := diag.New(diag.Malformed, diag.Span{Pos: t.posAt(i), Len: len(raw) - i}, "white space stands between / and >")
			return diag.List{d.WithHint("the end of an empty element is />, without a space in it")}
		case t.close:
			return s.fail(t.posAt(i), "closing tag </%s> holds more than its name", t.name)
		case i == gap:
			return s.fail(t.posAt(i), "attribute does not begin after a space")
		}
		var err error
		if i, err = s.attribute(t, i, slots-1); err != nil {
			return err
		}
	}
}

// attribute reads key="value" from byte i of the tag and returns where it ends.
// The tag ends in >, which is in no name and in no gap, so no index runs over.
func (s *tagScanner) attribute(t *tag, i, slot int) (int, error) {
	raw, start := t.raw, i
	for nameByte(raw[i]) {
		i++
	}
	a := attr{key: raw[start:i], at: int32(start), slot: int32(slot)}
	if len(a.key) == 0 {
		return 0, s.fail(t.posAt(start), "attribute has no name")
	}
	if len(a.key) > mostKey {
		s.odd(t.posAt(start), "a name of more than 254 bytes")
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
	if at := bytes.IndexByte(a.value, '<'); at >= 0 {
		return 0, s.fail(t.posAt(i+1+at), "the value of %s holds '<', which no value of XML may", a.key)
	}
	if n > mostValue {
		s.odd(t.posAt(i), "a value of more than 255 bytes")
	}
	t.attrs = append(t.attrs, a)
	return i + n + 2, nil
}
