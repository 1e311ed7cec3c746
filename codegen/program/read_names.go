package program

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
)

// This file reads the strings, the contract and the source positions of a program file.

// cursor reads 32-bit fields; past the end it gives 0 and notes it.
type cursor struct {
	b    []byte
	over bool
}

func (c *cursor) next() uint32 {
	if len(c.b) < 4 {
		c.over = true
		return 0
	}
	n := le.Uint32(c.b)
	c.b = c.b[4:]
	return n
}

func (d *reader) strings() error {
	b, err := d.section(secStrings)
	if err != nil {
		return err
	}
	c := cursor{b: b}
	for n := c.next(); n > 0 && !c.over; n-- {
		size := c.next()
		if uint64(size) > uint64(len(c.b)) {
			c.over = true
			break
		}
		d.names = append(d.names, string(c.b[:size]))
		c.b = c.b[size:]
	}
	if c.over || len(c.b) > 0 || len(d.names) == 0 {
		return d.fail("the strings of the plan do not fill their section")
	}
	d.p.Name = d.names[0]
	return nil
}

// epilogue takes the epilogue, if the file has one, from the end of the strings.
func (d *reader) epilogue() (err error) {
	if d.features&planThen == 0 {
		return nil
	}
	last := len(d.names) - 1
	if d.p.Then, err = epilogue.Parse(d.names[last]); err != nil {
		return d.fail("program file has a wrong epilogue: %v", err)
	}
	if text := d.p.Then.String(); text != d.names[last] {
		return d.fail("program file has the epilogue %.100q, which is written %q", d.names[last], text)
	}
	if d.names = d.names[:last]; len(d.names) == 0 || len(d.p.Then) == 0 {
		return d.fail("program file says that it has an epilogue, and has none")
	}
	return nil
}

func (d *reader) contract() error {
	b, err := d.section(secContract)
	if err != nil {
		return err
	}
	c, coll := cursor{b: b}, d.p.Coll
	part := func() ir.Part { return ir.Part{Rank: int32(c.next()), Index: int32(c.next())} }
	switch coll.Kind {
	case ir.SendRecv:
		for len(coll.Peer) < coll.Ranks && !c.over {
			coll.Peer = append(coll.Peer, int32(c.next()))
		}
	case ir.Custom:
		coll.Require = map[ir.Part][]ir.Part{}
		for n := c.next(); n > 0 && !c.over; n-- {
			out := part()
			if _, twice := coll.Require[out]; twice {
				return d.fail("program file states output chunk %d of rank %d twice", out.Index, out.Rank)
			}
			var list []ir.Part
			for k := c.next(); k > 0 && !c.over; k-- {
				list = append(list, part())
			}
			coll.Require[out] = list
		}
	}
	if c.over || len(c.b) > 0 {
		return d.fail("the contract of the plan does not fill its section")
	}
	return nil
}

func (d *reader) sources() error {
	if d.len[secSources]%planSpanSize != 0 {
		return d.fail("the source positions of the plan do not fill their section")
	}
	b, err := d.section(secSources)
	if err != nil || len(b) == 0 {
		return err
	}
	d.p.Spans = make([]diag.Span, len(b)/planSpanSize)
	for i := range d.p.Spans {
		o := b[i*planSpanSize:]
		file, offset := le.Uint32(o), le.Uint64(o[16:])
		if uint64(file) >= uint64(len(d.names)) || offset > 1<<40 ||
			le.Uint32(o[4:])|le.Uint32(o[8:])|le.Uint32(o[12:]) > 1<<31-1 {
			return d.fail("source position %d of the program file is none", i)
		}
		d.p.Spans[i] = diag.Span{Len: int(le.Uint32(o[12:])), Pos: diag.Pos{Filename: d.names[file],
			Line: int(le.Uint32(o[4:])), Column: int(le.Uint32(o[8:])), Offset: int(offset)}}
	}
	return nil
}
