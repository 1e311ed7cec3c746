package text

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"mscclc/ir"
)

// The text form of a ChannelProgram is for people: what the files say in indices of indices stands here resolved, a
// line an operation. After the header
//
//	threads 1024 align 16                    of a block; bytes
//	bytes 0..1048576                         message sizes, both included; no line for all
//	double scratch
//	reuse scratch
//	rank 0 in 4 out 4 scratch 4 semaphores 0 1       chunks; the semaphores' initial values
//	  memory 1 1 2                           the peers of its channels, by type
//	  switch output 0 1 2 3                  a line for each
//	block 0.1
//	  0 meet
//	  1 signal 1@memory[0] 2@memory[2]       peer, type and number of each channel
//	  2 mv input[0] + packets[1] -> input[0] 1:packets[0]@memory
//	  3 each input[0]*2 -> 1:output[0]*2@port signal via 1@port[0]
//	  4 loop 4096 of 8                       bytes a turn, chunks of all turns
//	    4.0 mv all:input[0]@switch[0] -> all:input[0]@switch[0] part 1/4
//
// An operand is of the block's own rank where none is written, and packets are packets in scratch.

// WriteChannels writes the text form of p.
func WriteChannels(w io.Writer, p *ir.ChannelProgram) error {
	return writeText(w, func(b *bufio.Writer) {
		h := p.Header
		h.Spans, h.Sizes = nil, ir.SizeRange{}
		WriteHeader(b, "channels", &h, nil)
		fmt.Fprintf(b, "threads %d align %d\n", p.Threads, p.Align)
		if p.MinBytes != 0 || p.MaxBytes != math.MaxUint64 {
			fmt.Fprintf(b, "bytes %d..%d\n", p.MinBytes, p.MaxBytes)
		}
		if p.DoubleScratch {
			b.WriteString("double scratch\n")
		}
		if p.Reuse {
			b.WriteString("reuse scratch\n")
		}
		for r := range p.Ranks {
			writeHead(&p.Ranks[r], b, r)
			for k, ops := range p.Ranks[r].Blocks {
				fmt.Fprintf(b, "block %d.%d\n", r, k)
				writeChannelOps(p, b, r, "  ", "", ops)
			}
		}
	})
}

func writeHead(c *ir.ChannelRank, b *bufio.Writer, rank int) {
	fmt.Fprintf(b, "rank %d in %d out %d scratch %d", rank, c.In, c.Out, c.Scratch)
	writeInts(b, " semaphores", c.Semaphores)
	b.WriteByte('\n')
	for t := range c.Channels[:ir.SwitchChannel] {
		var peers []int32
		for i := range c.Channels[t] {
			peers = append(peers, c.Channels[t][i].Peer)
		}
		if peers != nil {
			writeInts(b, "  "+ir.ChannelTypeNames[t], peers)
			b.WriteByte('\n')
		}
	}
	for i := range c.Channels[ir.SwitchChannel] {
		s := &c.Channels[ir.SwitchChannel][i]
		writeInts(b, "  switch "+s.Buf.String(), s.Group)
		b.WriteByte('\n')
	}
}

func writeInts(b *bufio.Writer, what string, list []int32) {
	if len(list) == 0 {
		return
	}
	b.WriteString(what)
	for _, n := range list {
		fmt.Fprintf(b, " %d", n)
	}
}

func writeChannelOps(p *ir.ChannelProgram, b *bufio.Writer, rank int, indent, prefix string, ops []ir.ChannelOp) {
	for i := range ops {
		fmt.Fprintf(b, "%s%s%d %s\n", indent, prefix, i, OpText(p, rank, &ops[i]))
		writeChannelOps(p, b, rank, indent+"  ", prefix+strconv.Itoa(i)+".", ops[i].Body)
	}
}

// OpText is o, an operation of rank, as the text form has it, without the body of a loop.
func OpText(p *ir.ChannelProgram, rank int, o *ir.ChannelOp) string {
	if o.Unsynced {
		return opText(p, rank, o) + " unsynced"
	}
	return opText(p, rank, o)
}

func opText(p *ir.ChannelProgram, rank int, o *ir.ChannelOp) string {
	b := []byte(o.Kind.String())
	switch info := o.Kind.Info(); {
	case o.Kind == ir.ChBarrier:
		return fmt.Sprintf("%s %d of %d", b, o.ID, o.Blocks)
	case o.Kind == ir.ChLoop:
		return fmt.Sprintf("%s %d of %d", b, o.Unit, o.Chunks)
	case info.Semaphores:
		for _, s := range o.Semaphores {
			b = fmt.Appendf(b, " semaphore[%d]", s)
		}
		return string(b)
	case info.Pairs:
		b = appendEach(o, b, rank)
	case info.Moves:
		b = appendMove(o, b, rank)
	default:
		return string(appendChannels(p, b, rank, o))
	}
	if o.Reduce != ir.ReduceSum {
		b = append(append(b, ' '), [...]string{"sum", "min", "max"}[o.Reduce]...)
	}
	if o.Parts > 1 {
		b = fmt.Appendf(b, " part %d/%d", o.Part, o.Parts)
	}
	if len(o.Channels) > 0 {
		b = appendChannels(p, append(b, " via"...), rank, o)
	}
	return string(b)
}

// appendMove appends the operands of one that moves all in one step: the count stands at the destinations.
func appendMove(o *ir.ChannelOp, b []byte, rank int) []byte {
	for i := range o.Srcs {
		if i > 0 {
			b = append(b, " +"...)
		}
		b = appendChannelRef(&o.Srcs[i], append(b, ' '), rank, o.Type, 1)
	}
	b = append(b, " ->"...)
	for i := range o.Dsts {
		b = appendChannelRef(&o.Dsts[i], append(b, ' '), rank, o.Type, o.Dsts[i].Count)
	}
	return b
}

// appendEach appends the pairs of a ChEach or another of Pairs, and what follows them.
func appendEach(o *ir.ChannelOp, b []byte, rank int) []byte {
	for i := range min(len(o.Srcs), len(o.Dsts)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendChannelRef(&o.Srcs[i], append(b, ' '), rank, o.Type, o.Srcs[i].Count)
		b = appendChannelRef(&o.Dsts[i], append(b, " -> "...), rank, o.Type, o.Dsts[i].Count)
	}
	if o.Kind.Info().Signals {
		b = append(b, " signal"...)
	}
	if o.Kind.Info().Flushes {
		b = append(b, " flush"...)
	}
	return b
}

func appendChannelRef(r *ir.ChannelRef, b []byte, rank int, t ir.ChannelType, count int32) []byte {
	name := r.Buf
	if r.Packets {
		name = ir.Packets
	}
	switch {
	case r.Rank == ir.AllRanks:
		b = appendRef(append(b, "all:"...), name.String(), r.Index, count)
		return fmt.Appendf(b, "@switch[%d]", r.Switch)
	case r.Of(rank):
		return appendRef(b, name.String(), r.Index, count)
	}
	b = append(strconv.AppendInt(b, int64(r.Rank), 10), ':')
	return append(append(appendRef(b, name.String(), r.Index, count), '@'), t.String()...)
}

// appendChannels appends the channels of o with the peers that they lead to.
func appendChannels(p *ir.ChannelProgram, b []byte, rank int, o *ir.ChannelOp) []byte {
	for _, c := range o.Channels {
		b = append(b, ' ')
		if o.Type < ir.SwitchChannel && int(c) < len(p.Ranks[rank].Channels[o.Type]) {
			b = strconv.AppendInt(b, int64(p.Ranks[rank].Channels[o.Type][c].Peer), 10)
		}
		b = fmt.Appendf(b, "@%v[%d]", o.Type, c)
	}
	return b
}
