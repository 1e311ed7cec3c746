package eval

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// Links say how the steps of a one-sided Program hang together in one pass:
// which step writes each chunk of packets, which signal flags, and how often.
// They rely on tables that are well formed, as ir/verify checks them.
type Links struct {
	Block  []int32 // by step: its block, as an index in Blocks
	Writer []int32 // of a chunk of packets: the step that writes it, or -1

	// Signals are, of a flag, the steps that signal it, in order. Enter ones count
	// from the first, Leave ones from the number after them.
	Signals ir.Edges

	packets, flags []int32 // by rank: its first chunk, and flag, among those of all
}

// Link joins the steps of p.
func Link(p *onesided.Program) *Links {
	o := p
	l := &Links{Block: make([]int32, len(p.Steps)), packets: firsts(len(p.Rank), o.Packets),
		flags: firsts(len(p.Rank), o.Flags)}
	l.Writer = make([]int32, l.packets[len(p.Rank)])
	for k := range l.Writer {
		l.Writer[k] = -1
	}
	l.Signals.Start = make([]int32, l.flags[len(p.Rank)]+1)
	for b := range p.Blocks {
		for i := p.Blocks[b].Steps.First; i < p.Blocks[b].Steps.End; i++ {
			l.Block[i] = int32(b)
			for _, d := range o.Dests(&p.Steps[i]) {
				switch d.Buf {
				case ir.Packets:
					at := l.Packet(d.Rank, d.Index)
					for k := range p.Steps[i].Count {
						l.Writer[at+k] = i
					}
				case ir.Flags:
					l.Signals.Start[l.Flag(d.Rank, d.Index)+1]++
				}
			}
		}
	}
	for f := 1; f < len(l.Signals.Start); f++ {
		l.Signals.Start[f] += l.Signals.Start[f-1]
	}
	l.signals(p)
	return l
}

// signals fills in who signals each flag.
func (l *Links) signals(p *onesided.Program) {
	l.Signals.To = make([]int32, l.Signals.Start[len(l.Signals.Start)-1])
	next := append([]int32(nil), l.Signals.Start...)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Op == ir.Signal {
			for _, d := range p.Dests(s) {
				f := l.Flag(d.Rank, d.Index)
				l.Signals.To[next[f]] = int32(i)
				next[f]++
			}
		}
	}
}

// firsts gives where each rank's part of a list begins that has n[rank] of each.
func firsts(ranks int, n []int32) []int32 {
	at := make([]int32, ranks+1)
	for r := range ranks {
		at[r+1] = at[r]
		if n != nil {
			at[r+1] += n[r]
		}
	}
	return at
}

// Packet numbers the chunks of packets of all ranks.
func (l *Links) Packet(rank, index int32) int32 { return l.packets[rank] + index }

// Flag numbers the flags of all ranks.
func (l *Links) Flag(rank, index int32) int32 { return l.flags[rank] + index }

// Awaited returns the step that signals a flag the last time that an await
// waits for in its own pass, and how many passes, or launches, ago: 0 where Nth
// is positive. It is -1 where no signal is so late.
func (l *Links) Awaited(flag, nth int32) (step, ago int32) {
	signals := l.Signals.Of(int(flag))
	n := int64(len(signals))
	if n == 0 || int64(nth) > n {
		return -1, 0
	}
	passes := (n - int64(nth)) / n
	return signals[int64(nth)+passes*n-1], int32(min(passes, math.MaxInt32))
}

// Schedule makes the schedule of a pass that is a launch of its own: of all
// steps, with what each waits for in that pass. What nothing brings is left out.
func (l *Links) Schedule(p *onesided.Program) *ir.Schedule {
	n := len(p.Steps)
	s := &ir.Schedule{Start: make([]int32, 1, len(p.Blocks)+1), Send: make([]int32, n), Recv: make([]int32, n),
		Messages: make([]int32, n), Slots: ir.Unbounded}
	s.Waits.Start = make([]int32, 1, n+1)
	for b := range p.Blocks {
		t := &p.Blocks[b]
		for i := t.Steps.First; i < t.Steps.End; i++ {
			s.Send[i], s.Recv[i] = -1, -1
			s.Waits.To = l.waits(p, &p.Steps[i], s.Waits.To)
			s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
		}
		s.Start = append(s.Start, t.Steps.End)
	}
	return s
}

// waits appends the steps that s waits for in its own pass.
func (l *Links) waits(p *onesided.Program, s *ir.Step, to []int32) []int32 {
	for _, x := range p.Sources(s) {
		switch x.Buf {
		case ir.Packets:
			at, last := l.Packet(x.Rank, x.Index), int32(-1)
			for k := range s.Count {
				if w := l.Writer[at+k]; w != last && w >= 0 {
					to, last = append(to, w), w
				}
			}
		case ir.Flags:
			if step, ago := l.Awaited(l.Flag(x.Rank, x.Index), x.Nth); step >= 0 && ago == 0 {
				to = append(to, step)
			}
		}
	}
	return to
}
