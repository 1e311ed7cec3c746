package abi

import (
	"fmt"
	"maps"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file is what a one-sided program sends to other nodes (transport/proxy.h). A rank's inbox (net_inbox.go) has a
// mirror on every node that writes it. A Signal to the rank carries what its block has moved there since its last one.

// A NetMessage is what one destination of a Signal signals to a rank of another node: Segments, from First on, and then
// the count. Block is among those of the whole program, and Operand counts from the block's first.
type NetMessage struct {
	Block, Operand, Rank uint32
	First, Segments      uint32
}

// A NetSegment is a run of chunks in the inbox of the rank that receives the signal, whose first has this class.
type NetSegment struct{ Index, Count, FirstClass uint32 }

// A NetTable holds the messages of a program, sorted by block and operand, their segments, and the inboxes.
type NetTable struct {
	Messages []NetMessage
	Segments []NetSegment
	Inboxes  NetInboxes
}

// netPending is a Move into scratch of a rank of another node that no Signal has announced yet.
type netPending struct {
	step, group int32
	NetSegment
}

// netBuilder makes a NetTable, block by block.
type netBuilder struct {
	img     *Image
	node    []int
	table   NetTable
	faults  diag.List
	pending map[int32][]netPending // by rank
}

// maxNetFaults is how many faults of a program are reported.
const maxNetFaults = 8

// Net returns what the program, which is one-sided, sends where rank r is of node node[r]. The error is a diag.List: it
// names steps that no network can do.
func (img *Image) Net(node []int) (NetTable, error) {
	c := &netBuilder{img: img, node: node}
	for b := range img.Program.Blocks {
		c.block(int32(b))
		if len(c.faults) >= maxNetFaults {
			break
		}
	}
	if err := c.faults.Err(); err != nil {
		return NetTable{}, err
	}
	c.table.Inboxes = img.inboxes(&c.table)
	c.table.renumber()
	return c.table, nil
}

// block adds the messages of a block.
func (c *netBuilder) block(b int32) {
	p, group := c.img.Program, int32(0)
	c.pending = map[int32][]netPending{}
	for i := p.Blocks[b].Steps.First; i < p.Blocks[b].Steps.End; i++ {
		s := &p.Steps[i]
		if s.Flags&ir.Joint == 0 {
			group++
		}
		switch {
		case s.Op.Moves():
			c.move(b, i, group)
		case s.Op == ir.Signal:
			c.signal(b, i, group)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(c.pending)) {
		if list := c.pending[r]; len(list) > 0 {
			c.fault(list[0].step, "", "no later signal of its block in the same tile iteration signals rank %d, of another "+
				"node, of the data", r)
		}
	}
}

// away reports whether a rank is of another node than block b.
func (c *netBuilder) away(b, rank int32) bool {
	return c.node[rank] != c.node[c.img.Program.Blocks[b].Rank]
}

// fault notes that a step is none for a network.
func (c *netBuilder) fault(step int32, hint, format string, args ...any) {
	p := c.img.Program
	d := diag.New(diag.AcrossNodes, p.Span(p.Steps[step].Pos), "%s: %s", p.StepName(step), fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = p.SourcePlace(step)
	if hint != "" {
		d = d.WithHint("%s", hint)
	}
	c.faults = append(c.faults, d)
}

// HintNodes is the hint of a step that reaches another node in a way that is none.
const HintNodes = "compile it for these nodes: --sided one --nodes N, or --sided lowered"

// What helps against other steps.
const (
	hintPackets = "compile it for these nodes: --sided one --nodes N"
	hintSwitch  = "take a program without a switch, or ranks of one node"
	hintLoose   = "take a program without blocks that launches do not wait for"
)

// move notes what a Move writes on other nodes.
func (c *netBuilder) move(b, i, group int32) {
	o := c.img.Program.OneSided
	s := &c.img.Program.Steps[i]
	for _, x := range o.OperandsOf(s) {
		if x.Rank == ir.AllRanks {
			c.fault(i, hintSwitch, "a switch joins GPUs of one node")
			return
		}
	}
	for _, x := range o.Sources(s) {
		if c.away(b, x.Rank) {
			c.fault(i, HintNodes, "reads %v of rank %d, which is of another node", x.Buf, x.Rank)
		}
	}
	for _, x := range o.Dests(s) {
		switch {
		case !c.away(b, x.Rank):
		case x.Buf == ir.Packets:
			c.fault(i, hintPackets, "sends packets to rank %d, which is of another node", x.Rank)
		case x.Buf != ir.Scratch:
			c.fault(i, HintNodes, "writes %v of rank %d, which is of another node", x.Buf, x.Rank)
		case s.Flags&ir.Loose != 0:
			c.fault(i, hintLoose, "is of a loose block, which cannot reach rank %d of another node", x.Rank)
		default:
			c.pending[x.Rank] = append(c.pending[x.Rank],
				netPending{i, group, NetSegment{uint32(x.Index), uint32(s.Count), uint32(s.Class)}})
		}
	}
}

// signal adds the messages of a Signal. A Signal that is absent from some tile iterations carries no data.
func (c *netBuilder) signal(b, i, group int32) {
	p, one := c.img.Program, c.img.One
	row := &one.Steps[i]
	carries := p.OneSided.OnePass || p.Steps[i].Flags&(ir.Enter|ir.Leave) == 0
	for k, x := range p.OneSided.Dests(&p.Steps[i]) {
		if !c.away(b, x.Rank) {
			continue
		}
		m := NetMessage{Block: uint32(b), Operand: row.First + uint32(row.Srcs) + uint32(k), Rank: uint32(x.Rank),
			First: uint32(len(c.table.Segments))}
		if carries {
			c.take(x.Rank, group)
		}
		m.Segments = uint32(len(c.table.Segments)) - m.First
		c.table.Messages = append(c.table.Messages, m)
	}
}

// take adds the segments that a Signal of a group to a rank announces: what its block has written before the group.
func (c *netBuilder) take(rank, group int32) {
	list, chunks := c.pending[rank], uint32(c.img.Program.Coll.Chunks)
	first, taken := len(c.table.Segments), 0
	for ; taken < len(list) && list[taken].group < group; taken++ {
		s, segments := list[taken].NetSegment, c.table.Segments[first:]
		if n := len(segments); n > 0 && segments[n-1].meets(s, chunks) {
			segments[n-1].Count += s.Count
		} else if !slices.Contains(segments, s) {
			c.table.Segments = append(c.table.Segments, s)
		}
	}
	c.pending[rank] = list[taken:]
}

// meets reports whether the chunks of another segment follow those of s.
func (s NetSegment) meets(next NetSegment, chunks uint32) bool {
	return s.Index+s.Count == next.Index && (s.FirstClass+s.Count)%chunks == next.FirstClass%chunks
}
