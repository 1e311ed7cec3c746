package lang

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles hints: the arguments by which an author asks something of
// the lowering.

var hintNames = []string{"ch", "sendtb", "recvtb", "via", "pull", "lane"}

// besideTB says how a hint goes wrong that a copy or a reduce with tb has. It is empty for other arguments.
func besideTB(what, argument string) string {
	if what != "copy" && what != "reduce" || !slices.Contains(hintNames, argument) {
		return ""
	}
	return argument + " is for operations of chunks, and tb makes this one of a thread block: leave one of them out"
}

// hints takes the hints out of the arguments of an operation. The function
// returned, nil where there are none, gives the number of the hint.
func (c *compiler) hints(args []*syntax.Arg) (rest []*syntax.Arg, number func() int32) {
	var set []func(*ir.Hint)
	given := map[string]bool{}
	for _, a := range args {
		if a.Name == nil || !slices.Contains(hintNames, a.Name.Text) {
			rest = append(rest, a)
			continue
		}
		if given[a.Name.Text] {
			c.m.report(diag.Arguments, a.Span(), "hint %s is given twice", a.Name.Text)
		}
		given[a.Name.Text] = true
		set = append(set, c.hint(a))
	}
	if set == nil {
		return rest, nil
	}
	m, last, lastAt := c.m, ir.NoHint, int32(0)
	return rest, func() int32 {
		h := ir.NoHint
		for _, f := range set {
			f(&h)
		}
		if h != last && !m.bad {
			last, lastAt = h, m.prog.hint(h)
		}
		return lastAt
	}
}

// hint compiles one of them.
func (c *compiler) hint(a *syntax.Arg) func(*ir.Hint) {
	m, text, span := c.m, a.Name.Text, a.Span()
	switch text {
	case "via":
		via := c.via(a.Value)
		return func(h *ir.Hint) { h.Via = via }
	case "pull":
		b := c.number(a.Value, kBool, "pull")
		return func(h *ir.Hint) { h.Pull = b.get() != 0 }
	}
	n := c.number(a.Value, kInt, text)
	return func(h *ir.Hint) {
		v := n.get()
		if v < 0 || v > math.MaxInt16 {
			m.fault(diag.Hint, span, "%s = %d: there are %s 0 to %d", text, v, map[string]string{"ch": "channels",
				"sendtb": "blocks", "recvtb": "blocks", "lane": "labels"}[text], math.MaxInt16)
			return
		}
		switch text {
		case "ch":
			h.Channel = int32(v)
		case "sendtb":
			h.SendTB = int32(v)
		case "lane":
			h.Lane = int32(v)
		default:
			h.RecvTB = int32(v)
		}
	}
}

// via reads the name of a way from rank to rank: ViaAny after an error.
func (c *compiler) via(e *syntax.Expr) (via ir.Via) {
	n := plainName(e)
	if n != nil {
		via, _ = ir.ViaByName(n.Text)
	}
	if via == ir.ViaAny {
		d := c.m.report(diag.Hint, e.Span(), "via must be memory, port or switch")
		if n != nil {
			suggest(d, n.Text, []string{"memory", "port", "switch"})
		}
	}
	return via
}

// hint returns the number of h.
func (p *expansion) hint(h ir.Hint) int32 {
	if at, ok := p.hintAt[h]; ok {
		return at
	}
	if p.hintAt == nil {
		p.hintAt = map[ir.Hint]int32{ir.NoHint: 0}
		return p.hint(h)
	}
	at := int32(len(p.hints))
	p.hints = append(p.hints, h)
	p.hintAt[h] = at
	return at
}

// hinted sets the hint of the operation that a site makes next.
func (m *machine) hinted(s *site, number func() int32) {
	if number != nil {
		s.hint = number()
	}
}
