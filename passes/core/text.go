package core

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/ir/text"
)

// The text form of a State has, after the header of all text forms, what the passes have made so far. Up to the pass
// moves that is a list of runs, whose order is their meaning:
//
//	runs ring
//	even                                              operands of different classes meet
//	1:scratch[3]*2 = 0:input[0] + 1:input[0] class 1 hint 1 pos 5
//
// From moves on it is a list of Moves. Operands are of the Move's own rank where none is written. Chunks of scratch
// and packets are numbered over all ranks, each for one value, and from place on among those of their rank. From
// depend on a Move names those that it must follow: it sees what they wrote, or it knows that their reads are over, or
// it reads their packets.
//
//	moves ring
//	m0 rank 0 mv input[0] -> 1:packets[0]*2 class 1 pos 5
//	m1 rank 1 mv input[2] + packets[0] -> input[2]*2 sees m3 over m4,m5 packets m0
//
// From order on the list has the order in which Moves run, and from group on they stand in groups, with all that is
// waited for before a group and signalled after it:
//
//	group 2 rank 1 joint                              a part of the group of rank 1 before it
//	  launch 0 3                                      the launches of these ranks must have begun
//	  wait 0 1 4-2                                    for the signals after these groups, the last of 2 passes ago
//	  m1 rank 1 mv input[2] + packets[0] -> input[2]*2
//	  signal 0 2                                      to these ranks
//	leave 1 0                                         rank 1 signals rank 0 at the end of a launch
//
// A Move whose author asks for a lane says so: "asks 2". Where ranks have several lanes, Moves and groups name theirs,
// as in "rank 1 lane 2", and signals are from and to such as 1.2, lane 2 of rank 1.

// WriteText writes the text form of l. Without positions nothing is said of where in the file things are from.
func (l *State) WriteText(w io.Writer, positions bool) error {
	b := bufio.NewWriter(w)
	h := l.c.Header
	if !positions {
		h.Spans = nil
	}
	t := &writer{State: l, Writer: b, positions: positions, signals: l.signalsAfter()}
	if l.moves == nil {
		text.WriteHeader(b, "runs", &h, l.c.Hints)
		t.even()
		for i := range l.runs {
			t.run(&l.runs[i])
		}
		return b.Flush()
	}
	text.WriteHeader(b, "moves", &h, nil)
	t.even()
	switch groups := l.latest(); {
	case groups != nil:
		for g := range groups {
			t.group(int32(g), &groups[g])
		}
	case l.order != nil:
		for _, i := range l.order {
			t.move(i)
		}
	default:
		for i := range l.moves {
			t.move(int32(i))
		}
	}
	t.leaves()
	return b.Flush()
}

// latest returns the groups that the latest pass has made, or nil.
func (l *State) latest() []oneGroup {
	if l.sync != nil {
		return l.sync.groups
	}
	return l.groups
}

// signalsAfter lists the ranks that are signalled after each group.
func (l *State) signalsAfter() [][]int32 {
	if l.sync == nil {
		return nil
	}
	after := make([][]int32, len(l.sync.groups))
	for _, s := range l.sync.signals {
		after[s.group] = append(after[s.group], s.to)
	}
	return after
}

// A writer writes the text form of a State.
type writer struct {
	*State
	*bufio.Writer
	positions bool
	signals   [][]int32
}

func (t *writer) even() {
	if t.State.even {
		t.WriteString("even\n")
	}
}

// noRank is no rank of an operand, all of which are written then.
const noRank = ir.AllRanks - 1

func (t *writer) run(r *oneRun) {
	b := t.operand(nil, r.dst, noRank, r.count)
	sign := " = "
	for _, s := range r.srcs {
		b = t.operand(append(b, sign...), s, noRank, 1)
		sign = " + "
	}
	b = t.fields(b, r.class, r.pos)
	if r.hint != 0 {
		b = fmt.Appendf(b, " hint %d", r.hint)
	}
	t.Write(append(b, '\n'))
}

func (t *writer) move(i int32) {
	m := &t.moves[i]
	b := fmt.Appendf(nil, "m%d rank %d", i, m.rank)
	if t.lanes > 1 {
		b = fmt.Appendf(b, " lane %d", m.lane)
	}
	b = fmt.Appendf(b, " %v", ir.Move)
	sign := " "
	for _, s := range m.srcs {
		b = t.operand(append(b, sign...), s, m.rank, 1)
		sign = " + "
	}
	b = append(b, " ->"...)
	for _, d := range m.dsts {
		b = t.operand(append(b, ' '), d, m.rank, m.count)
	}
	b = t.fields(b, m.class, m.pos)
	if m.label > 0 {
		b = fmt.Appendf(b, " asks %d", m.label-1)
	}
	if t.deps.start != nil {
		b = t.dependences(b, t.deps.of(i))
	}
	t.Write(append(b, '\n'))
}

// operand appends x, an operand of something that rank does.
func (t *writer) operand(b []byte, x spot, rank, count int32) []byte {
	o := onesided.Operand{Rank: x.rank, Buf: x.buf, Index: x.index, Via: x.via}
	if !x.user() && t.places.of != nil {
		o.Index = t.places.of[x.index]
	}
	return text.AppendOperand(&o, b, rank, count)
}

func (t *writer) fields(b []byte, class, pos int32) []byte {
	if class != 0 {
		b = fmt.Appendf(b, " class %d", class)
	}
	if t.positions && pos >= 0 {
		b = fmt.Appendf(b, " pos %d", pos)
	}
	return b
}

// dependences appends what a Move must follow, by kind.
func (t *writer) dependences(b []byte, deps []oneDep) []byte {
	for kind, name := range depNames {
		var on []string
		for _, d := range deps {
			if d.kind == depKind(kind) {
				on = append(on, fmt.Sprintf("m%d", d.on))
			}
		}
		if on != nil {
			b = fmt.Appendf(b, " %s %s", name, strings.Join(on, ","))
		}
	}
	return b
}

func (t *writer) group(g int32, group *oneGroup) {
	fmt.Fprintf(t, "group %d rank %d", g, t.rankOf(group.block))
	if t.lanes > 1 {
		fmt.Fprintf(t, " lane %d", t.laneOf(group.block))
	}
	if group.joint {
		t.WriteString(" joint")
	}
	t.WriteByte('\n')
	s := t.sync
	if s != nil && len(s.begins[g]) > 0 {
		t.numbers("  launch", s.begins[g], t.rank)
	}
	if s != nil && len(s.awaits[g]) > 0 {
		t.WriteString("  wait")
		for _, a := range s.awaits[g] {
			fmt.Fprintf(t, " %d", s.signals[a.signal].group)
			if a.ago > 0 {
				fmt.Fprintf(t, "-%d", a.ago)
			}
		}
		t.WriteByte('\n')
	}
	for _, i := range group.moves {
		t.WriteString("  ")
		t.move(i)
	}
	if s != nil && len(t.signals[g]) > 0 {
		t.numbers("  signal", t.signals[g], t.block)
	}
}

func (t *writer) leaves() {
	if t.sync == nil {
		return
	}
	for _, pair := range t.sync.leaves {
		t.numbers("leave", pair[:], t.block)
	}
}

// numbers writes a line of a word and numbers, which are called as name says.
func (t *writer) numbers(word string, list []int32, name func(n int32) string) {
	t.WriteString(word)
	for _, n := range list {
		t.WriteString(" " + name(n))
	}
	t.WriteByte('\n')
}

// rank returns the name of a rank.
func (t *writer) rank(rank int32) string { return strconv.Itoa(int(rank)) }

// block returns the name of a block: its rank and, where there are several, its lane.
func (t *writer) block(block int32) string {
	if t.lanes == 1 {
		return t.rank(block)
	}
	return fmt.Sprintf("%d.%d", t.rankOf(block), t.laneOf(block))
}
