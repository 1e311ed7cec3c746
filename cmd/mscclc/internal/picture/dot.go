package picture

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/text"
)

// WriteDot writes p for Graphviz: a box for each block, with its steps and
// their chunks from top to bottom; arrows are messages, dashed ones flags.
func WriteDot(w io.Writer, p *either.Program) error {
	b := bufio.NewWriter(w)
	if p.OneSided != nil {
		writeOneSidedDot(b, p)
		return b.Flush()
	}
	fmt.Fprintf(b, "digraph %q {\n  rankdir=LR\n  node [shape=record fontname=monospace]\n", p.Name)
	type connection struct{ channel, from, to int32 }
	sends, receives := map[connection][]string{}, map[connection][]string{}
	var order []connection
	for r := range p.Rank {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=\"rank %d\" labeljust=l\n", r, r)
		for i, tb := range p.TBsOf(r) {
			fmt.Fprintf(b, "    b%d_%d [label=\"<h> block %d, channel %d", r, i, i, tb.Channel)
			for k, s := range p.StepsOf(&tb) {
				dotStep(b, p, r, k, &s)
				port := fmt.Sprintf("b%d_%d:s%d", r, i, k)
				if s.Op.Info().Sends {
					c := connection{tb.Channel, tb.Rank, tb.SendPeer}
					if len(sends[c]) == 0 {
						order = append(order, c)
					}
					sends[c] = append(sends[c], port)
				}
				if s.Op.Info().Receives {
					c := connection{tb.Channel, tb.RecvPeer, tb.Rank}
					receives[c] = append(receives[c], port)
				}
			}
			fmt.Fprint(b, "\"]\n")
			for k, s := range p.StepsOf(&tb) {
				if s.DepBlock >= 0 {
					fmt.Fprintf(b, "    b%d_%d:s%d -> b%d_%d:s%d [style=dashed]\n", r, s.DepBlock, s.DepStep, r, i, k)
				}
			}
		}
		fmt.Fprint(b, "  }\n")
	}
	for _, c := range order {
		for k := range min(len(sends[c]), len(receives[c])) {
			fmt.Fprintf(b, "  %s -> %s\n", sends[c][k], receives[c][k])
		}
	}
	fmt.Fprint(b, "}\n")
	return b.Flush()
}

// dotEscapes are of the labels of records.
var dotEscapes = strings.NewReplacer(`<`, `\<`, `>`, `\>`, `{`, `\{`, `}`, `\}`, `|`, `\|`, `"`, `\"`, `\`, `\\`)

// dotStep writes step k of a block of rank, with its chunks.
func dotStep(b *bufio.Writer, p *either.Program, rank, k int, s *ir.Step) {
	fmt.Fprintf(b, " | <s%d> %d %s", k, k, dotEscapes.Replace(text.StepText(p, int32(rank), s)))
}

// A dotSlot is a chunk of packets or a flag; its ends are the ports of the steps
// that write or signal it, and of those that read or await it.
type dotSlot struct {
	rank, index int32
	buf         ir.Buf
}

type dotEnds struct {
	from []string
	to   []dotWait
}

type dotWait struct {
	port string
	nth  int32
}

// dotSlots has the ends of each slot, in the order in which slots are met.
type dotSlots struct {
	ends  map[dotSlot]*dotEnds
	order []dotSlot
}

func (d *dotSlots) at(slot dotSlot) *dotEnds {
	e := d.ends[slot]
	if e == nil {
		e = &dotEnds{}
		d.ends[slot] = e
		d.order = append(d.order, slot)
	}
	return e
}

// writeOneSidedDot writes a one-sided program: arrows are packets, from who sends
// a chunk of them to who reads it, and dashed ones flags, from signal to wait.
func writeOneSidedDot(b *bufio.Writer, p *either.Program) {
	fmt.Fprintf(b, "digraph %q {\n  rankdir=LR\n  node [shape=record fontname=monospace]\n", p.Name)
	slots := dotSlots{ends: map[dotSlot]*dotEnds{}}
	for r := range p.Rank {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=\"rank %d\" labeljust=l\n", r, r)
		for i, tb := range p.TBsOf(r) {
			fmt.Fprintf(b, "    b%d_%d [label=\"<h> block %d", r, i, i)
			for k, s := range p.StepsOf(&tb) {
				dotStep(b, p, r, k, &s)
				port := fmt.Sprintf("b%d_%d:s%d", r, i, k)
				eachSlot(p.OneSided.Dests(&s), s.Count, func(at dotSlot, _ int32) {
					slots.at(at).from = append(slots.at(at).from, port)
				})
				eachSlot(p.OneSided.Sources(&s), s.Count, func(at dotSlot, nth int32) {
					slots.at(at).to = append(slots.at(at).to, dotWait{port, nth})
				})
			}
			fmt.Fprint(b, "\"]\n")
		}
		fmt.Fprint(b, "  }\n")
	}
	last := ""
	for _, at := range slots.order {
		for _, arrow := range slots.at(at).arrows(at.buf) {
			if arrow != last { // the chunks of one step come one after the other
				fmt.Fprintf(b, "  %s\n", arrow)
			}
			last = arrow
		}
	}
	fmt.Fprint(b, "}\n")
}

// eachSlot calls do for the chunks of packets and the flags among operands.
func eachSlot(operands []onesided.Operand, count int32, do func(at dotSlot, nth int32)) {
	for _, x := range operands {
		switch x.Buf {
		case ir.Packets:
			for k := range count {
				do(dotSlot{x.Rank, x.Index + k, x.Buf}, 1)
			}
		case ir.Flags:
			do(dotSlot{x.Rank, x.Index, x.Buf}, x.Nth)
		}
	}
}

// arrows returns the arrows from the signal that a wait is for, the last where it is one
// of an earlier pass; chunks of packets have one writer.
func (e *dotEnds) arrows(buf ir.Buf) []string {
	var list []string
	for _, to := range e.to {
		n := int(to.nth)
		if n < 1 || n > len(e.from) {
			n = len(e.from)
		}
		if n == 0 {
			continue
		}
		arrow := e.from[n-1] + " -> " + to.port
		if buf == ir.Flags {
			arrow += " [style=dashed]"
		}
		list = append(list, arrow)
	}
	return list
}
