package explore

import (
	"encoding/binary"
	"fmt"

	"mscclc/ir/fifo"
)

// Plain walks every state that p can reach, once with opt.Slots for deadlock
// and once with unbounded slots for all else. It has no monitor: a race is a
// conflicting pair of actions that occurs in both orders, which is what a race
// is where messages order memory; with other protocols it may find fewer.
func Plain(p *fifo.Program, opt Options) (*Verdict, error) {
	opt = opt.withDefaults()
	x, err := expand(p, opt, maxEvents)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Events: len(x.actions), cells: map[int32]bool{}}
	for _, slots := range []int{unbounded, opt.Slots} {
		w := walker{world: newWorld(x, slots), v: v, moves: opt.Moves, seen: map[string]bool{}, values: slots == unbounded,
			ahead: make([]set, len(x.actions))}
		w.visit()
		if w.cut {
			return nil, &TooLarge{fmt.Sprintf("%d actions run, and no end", v.Moves)}
		}
		if w.values {
			v.reversed = x.reversed(&w.ahead)
		}
	}
	for pair := range v.reversed {
		v.found(Race, nil, "%s and %s occur in both orders", x.name(pair[0]), x.name(pair[1]))
		v.BothOrders = true
	}
	return v, nil
}

// A walker visits the states of a world.
type walker struct {
	*world
	v       *Verdict
	moves   int
	cut     bool
	values  bool // memory is part of the state
	seen    map[string]bool
	key     []byte
	ahead   []set // by action: what ran before it in some schedule
	running set
}

func (w *walker) visit() {
	w.state()
	if w.seen[string(w.key)] || w.cut {
		return
	}
	w.seen[string(w.key)] = true
	moved := false
	for b := range int32(len(w.pos)) {
		if !w.ready(b) || w.cut {
			continue
		}
		moved = true
		if w.v.Moves++; w.v.Moves >= w.moves {
			w.cut = true
			return
		}
		e, wrong := w.do(b)
		if wrong == Uninitialized && w.values {
			w.v.found(wrong, w.schedule, "%s reads what nothing wrote", w.name(e))
		}
		if wrong == Mismatch { // nothing after it is defined
			w.v.found(wrong, w.schedule, "%s takes another message", w.name(e))
			if a := &w.actions[e]; a.op.Writes {
				w.log = append(w.log, w.cell[a.dst:a.dst+a.n]...)
			}
		} else {
			w.ahead[e].union(&w.running)
			w.running.add(e)
			w.visit()
			w.running.remove(e)
		}
		w.undo()
	}
	if !moved {
		w.v.Schedules++
		w.judge()
	}
}

func (w *walker) judge() {
	if w.values {
		w.end(w.v)
	} else if b := w.stuck(); b >= 0 {
		w.v.found(Deadlock, w.schedule, "%s never runs with %d slots", w.name(w.next(b)), w.slots)
	}
}

// state encodes the state: positions, and with values all cells and what is on
// its way.
func (w *walker) state() {
	w.key = w.key[:0]
	for _, p := range w.pos {
		w.key = binary.LittleEndian.AppendUint16(w.key, uint16(p))
	}
	if !w.values {
		return
	}
	for _, x := range w.cell {
		w.key = binary.LittleEndian.AppendUint32(w.key, uint32(x))
	}
	for e := range w.actions {
		a := &w.actions[e]
		if a.recv < 0 || a.mate < 0 || w.pos[a.block] > int32(e)-w.first[a.block] {
			continue
		}
		if m := &w.actions[a.mate]; w.pos[m.block] > a.mate-w.first[m.block] {
			for _, x := range w.message[a.mate] {
				w.key = binary.LittleEndian.AppendUint32(w.key, uint32(x))
			}
		}
	}
}
