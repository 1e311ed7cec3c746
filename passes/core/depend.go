package core

import "mscclc/ir"

// A oneDep is a dependence: a Move must follow the Move on, for the reason kind.
type oneDep struct {
	on   int32
	kind depKind
	slot bool // it reads scratch or packets that on wrote
}

// A depKind says what a Move must know of the Move that it depends on.
type depKind uint8

const (
	depSees   depKind = iota // it reads or overwrites plain data that the other wrote
	depOver                  // it writes what the other has read
	depPacket                // it reads packets of the other, which need no signal
)

// depNames name the kinds in the text form.
var depNames = [...]string{"sees", "over", "packets"}

// A depList has the dependences of each Move.
type depList struct {
	start []int32
	to    []oneDep
}

func (d *depList) of(i int32) []oneDep { return d.to[d.start[i]:d.start[i+1]] }

// depend derives the dependences from the order of the Moves. A read depends on the last write of each of its cells. A
// write depends on all reads since the last write, and on that write too: packets from a reader show that the write is
// over, but not that the later writer sees what it wrote.
func depend(l *State) (int, error) {
	views := l.piecesOf(l.operands)
	in := &views[len(views)-1] // of the layout merged
	known := ir.NewAccesses(int(in.count()))
	l.deps = depList{start: make([]int32, 1, len(l.moves)+1), to: make([]oneDep, 0, 2*len(l.moves))}
	seen := make([][2][3]int32, len(l.moves)) // by Move, slot and kind: 1 + the last Move found to depend on it
	for i := range l.moves {
		m, at := &l.moves[i], int32(i)
		add := func(on int32, kind depKind, slot bool) {
			if on < 0 || on == at {
				return
			}
			last := &seen[on][0][kind]
			if slot {
				last = &seen[on][1][kind]
			}
			if *last == at+1 {
				return
			}
			*last = at + 1
			l.deps.to = append(l.deps.to, oneDep{on, kind, slot})
		}
		for _, s := range m.srcs {
			kind := depSees
			if s.buf == ir.Packets {
				kind = depPacket
			}
			in.eachRun(known, s, m.count, func(first int) { add(known.Writer(first), kind, !s.user()) })
		}
		for _, d := range m.dsts {
			in.eachRun(known, d, m.count, func(first int) {
				add(known.Writer(first), depSees, false)
				known.Readers(first, func(by int32) { add(by, depOver, false) })
			})
			in.each(d, m.count, func(first, end int32) { known.Write(at, int(first), int(end-first)) })
		}
		for _, s := range m.srcs {
			in.eachRun(known, s, m.count, func(first int) {
				if known.Writer(first) != at {
					known.Read(at, first)
				}
			})
		}
		l.deps.start = append(l.deps.start, int32(len(l.deps.to)))
	}
	return len(l.deps.to), nil
}

// eachRun goes through the pieces of count chunks from x on. It calls f with the first of each run of pieces that the
// same Moves have accessed.
func (p *pieces) eachRun(known *ir.Accesses, x spot, count int32, f func(first int)) {
	p.each(x, count, func(first, end int32) {
		known.Cut(int(first), int(end-first))
		for at := int(first); at < int(end); at = known.End(at) {
			f(at)
		}
	})
}
