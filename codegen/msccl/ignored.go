package msccl

import (
	"fmt"
	"strings"

	"mscclc/ir/diag"
)

// This file passes over what the runtimes ignore: elements and attributes that they do not know.

// A passedOver counts what was passed over, by what it is.
type passedOver struct {
	first diag.Span
	names [mostPassed]ignored // in the file's order
	count [mostPassed]int
	total int
}

// An ignored is an element, or an attribute of one.
type ignored struct{ element, attribute string }

func (i ignored) String() string {
	if i.attribute == "" {
		return "<" + i.element + ">"
	}
	return "attribute " + i.attribute + " of <" + i.element + ">"
}

const (
	mostPassed = 4    // names that a warning has
	mostDepth  = 1000 // elements within each other
)

// pass notes an element, or an attribute of one, that the runtimes ignore.
func (x *reader) pass(element, attribute []byte, span diag.Span) {
	p := &x.passed
	if p.total++; p.total == 1 {
		p.first = span
	}
	for i := range p.names {
		if p.count[i] == 0 {
			p.names[i] = ignored{string(diag.Clip(element)), string(diag.Clip(attribute))}
		} else if p.names[i].element != string(diag.Clip(element)) || p.names[i].attribute != string(diag.Clip(attribute)) {
			continue
		}
		p.count[i]++
		return
	}
}

// warn gives the warning of what was passed over.
func (x *reader) warn() {
	p := &x.passed
	if p.total == 0 || x.opt.Warn == nil {
		return
	}
	left := p.total
	var texts []string
	for i, n := range p.count {
		left -= n
		switch n {
		case 0:
		case 1:
			texts = append(texts, p.names[i].String())
		default:
			texts = append(texts, fmt.Sprintf("%v (%d times)", p.names[i], n))
		}
	}
	if left > 0 {
		texts = append(texts, fmt.Sprintf("%d more", left))
	}
	d := diag.New(diag.Ignored, p.first, "msccl and RCCL ignore %s", strings.Join(texts, ", "))
	x.opt.Warn(d.WithHint("what it says is not done there, so it is not proven; leave it out if that is meant"))
}

// The elements that the runtimes know.
var elements = []string{"algo", "gpu", "tb", "step"}

// known returns the element that t is, or is a slip of, or "".
func (x *reader) known(t *tag) string {
	for _, e := range elements {
		if e == string(t.name) {
			return e
		}
	}
	return diag.Slip(string(t.name), elements)
}

// foreign takes an element that has no place in parent: one that the runtimes ignore with all that it holds, or an
// error.
func (x *reader) foreign(t *tag, parent string) error {
	span, name := t.whole(), string(diag.Clip(t.name))
	meant := x.known(t)
	switch {
	case meant != "":
		d := diag.New(diag.Malformed, diag.Span{Pos: t.pos, Len: 1}, "<%s> has no place in <%s>", name, parent)
		if meant != name {
			d.Hint = "did you mean <" + meant + ">?"
		}
		return diag.List{d}
	case parent == "step":
		x.report(diag.Malformed, span, "<%s> stands in a <step>, where the runtimes' readers crash", name).Hint =
			"put it outside of the <step>, or leave it out"
	default:
		x.pass(t.name, nil, span)
	}
	return x.skipElement(t)
}

// skipElement reads up to the end of the element that t opens.
func (x *reader) skipElement(t *tag) error {
	if t.empty {
		return nil
	}
	start, open := t.pos, []string{string(t.name)}
	for len(open) > 0 {
		t, err := x.next()
		last := open[len(open)-1]
		switch {
		case err != nil:
			return err
		case t == nil:
			return x.unended(start, open[0])
		case t.close && string(t.name) != last:
			return x.fail(t.pos, "</%s> stands where </%s> is due", diag.Clip(t.name), diag.Clip([]byte(last)))
		case t.close:
			open = open[:len(open)-1]
		case !t.empty:
			if open = append(open, string(t.name)); len(open) > mostDepth {
				return x.fail(t.pos, "more than %d elements stand within each other", mostDepth)
			}
		}
	}
	return nil
}
