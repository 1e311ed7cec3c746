package parse

import (
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
	"mscclc/ir/text"
)

// header reads the first two lines and every other line of the header. It
// stops at the first line that is none, which the caller reads. It returns
// false where nothing more can be made of the text.
func (p *textParser) header(kind string, h *ir.Header, hints *[]ir.Hint) bool {
	if !p.nextLine() || !p.take(kind) {
		p.next()
		p.errorf("a text of this kind begins with %q and a name", kind)
		return false
	}
	h.Name = p.string()
	p.end()
	if !p.nextLine() || !p.take("collective") {
		p.next()
		p.errorf("the second line is the collective")
		return false
	}
	h.Coll = p.collective()
	if p.bad {
		return false
	}
	*hints = []ir.Hint{ir.NoHint}
	for p.nextLine() {
		switch p.peek() {
		case "require":
			p.require(h.Coll)
		case "protocol":
			p.next()
			ok := false
			if h.Protocol, ok = ir.ProtocolByName(p.next()); !ok {
				p.errorf("the protocols are %s", ir.ProtocolList("and"))
			}
		case "sizes":
			p.next()
			p.sizes(h)
		case "ranks_per_node":
			p.next()
			h.RanksPerNode = int(p.int(0))
		case "then":
			p.next()
			var err error
			if h.Then, err = epilogue.Parse(p.string()); err != nil {
				p.errorf("%v", err)
			}
		case "hint":
			p.next()
			*hints = append(*hints, p.hint())
		case "span":
			p.next()
			h.Spans = append(h.Spans, p.span())
		default:
			p.checkRequire(h.Coll)
			return true
		}
		p.end()
	}
	p.checkRequire(h.Coll)
	p.line = ""
	return true
}

func (p *textParser) sizes(h *ir.Header) {
	low, high, _ := strings.Cut(p.next(), "..")
	var err [2]error
	h.Sizes.Min, err[0] = strconv.ParseInt(low, 10, 64)
	h.Sizes.Max, err[1] = strconv.ParseInt(high, 10, 64)
	if err != [2]error{} || h.Sizes.Min < 0 || h.Sizes.Max < 0 {
		p.errorf("sizes are written as 1024..65536")
	}
}

// field splits "key=value".
func (p *textParser) field() (key, value string) {
	key, value, _ = strings.Cut(p.next(), "=")
	return key, value
}

func (p *textParser) hint() ir.Hint {
	h := ir.NoHint
	for p.peek() != "" {
		switch key, value := p.field(); key {
		case "ch":
			h.Channel = p.number32(value, 0)
		case "sendtb":
			h.SendTB = p.number32(value, 0)
		case "recvtb":
			h.RecvTB = p.number32(value, 0)
		case "lane":
			h.Lane = p.number32(value, 0)
		case "via":
			h.Via = ir.Via(min(p.number32(value, 0), 0xff))
		case "pull":
			h.Pull = true
		default:
			p.errorf("%q is no field of a hint", key)
		}
	}
	return h
}

func (p *textParser) span() (s diag.Span) {
	s.Filename = p.string()
	for p.peek() != "" {
		switch key, value := p.field(); key {
		case "line":
			s.Line = int(p.number32(value, 0))
		case "col":
			s.Column = int(p.number32(value, 0))
		case "offset":
			s.Offset = int(p.number32(value, 0))
		case "len":
			s.Len = int(p.number32(value, 0))
		default:
			p.errorf("%q is no field of a span", key)
		}
	}
	return s
}

func (p *textParser) collective() *ir.Collective {
	c := &ir.Collective{}
	ok := false
	name := p.next()
	if c.Kind, ok = ir.KindByName(name); !ok && name == ir.Opaque.String() {
		c.Kind, ok = ir.Opaque, true
	}
	if !ok {
		p.errorf("%q is no collective", name)
		return c
	}
	for p.peek() != "" {
		switch key, value := p.field(); key {
		case "ranks":
			c.Ranks = int(p.number32(value, 1))
		case "chunks":
			c.Chunks = int(p.number32(value, 0))
		case "inplace":
			c.Inplace = true
		case "root":
			c.Root = int(p.number32(value, 0))
		case "peer":
			c.Peer = p.numbers(value, 0)
		case "in":
			c.In = int(p.number32(value, 0))
		case "out":
			c.Out = int(p.number32(value, 0))
		case "each":
			for pair := range strings.SplitSeq(value, ",") {
				in, out, _ := strings.Cut(pair, "/")
				c.PerRank = append(c.PerRank, [2]int32{p.number32(in, 0), p.number32(out, 0)})
			}
		default:
			p.errorf("%q is no field of a collective", key)
		}
	}
	if err := c.Valid(textCells); err != "" {
		p.errorf("%s", err)
	}
	return c
}

// require reads "require 2 output[0] = 0 input[1] + 1 input[1]".
func (p *textParser) require(c *ir.Collective) {
	p.next()
	out := p.part("output")
	if !p.take("=") {
		p.next()
		p.errorf("= is missing after what is required")
	}
	list := []ir.Part{p.part("input")}
	for p.take("+") && !p.bad {
		list = append(list, p.part("input"))
	}
	slices.SortFunc(list, text.ComparePart)
	if c.Require == nil {
		c.Require = map[ir.Part][]ir.Part{}
	}
	if _, twice := c.Require[out]; twice {
		p.errorf("output %v is required twice", out)
	}
	c.Require[out] = list
}

func (p *textParser) part(buf string) ir.Part {
	rank := p.int(0)
	name, index, count := p.splitRef(p.next())
	if name != buf || count != 1 || index < 0 {
		p.errorf("one chunk of the %s is needed here", buf)
	}
	return ir.Part{Rank: rank, Index: index}
}

// checkRequire says that c's requirements are about chunks that exist.
func (p *textParser) checkRequire(c *ir.Collective) {
	for out, list := range c.Require {
		ok := c.Kind == ir.Custom && int(out.Rank) < c.Ranks && int(out.Index) < c.OutChunks(int(out.Rank))
		for _, in := range list {
			ok = ok && int(in.Rank) < c.Ranks && int(in.Index) < c.InChunks(int(in.Rank))
		}
		if !ok {
			p.bad = false
			p.errorf("a requirement names a chunk that does not exist, or the collective is not custom")
			return
		}
	}
}
