package explore

import (
	"fmt"

	"mscclc/ir/fifo"
)

// A Kind is one kind of fault that a schedule can show.
type Kind uint8

// The kinds. All but Deadlock are judged with unbounded slots.
const (
	Deadlock      Kind = iota // some block cannot end
	Race                      // two conflicting accesses that nothing orders
	Uninitialized             // a chunk is read that nothing wrote
	WrongResult               // an output holds another multiset than is wanted
	Mismatch                  // a message arrives that is of another transfer than the receive expects
	Leftover                  // a message that nothing receives
	NumKinds
)

func (k Kind) String() string {
	return [NumKinds]string{"deadlock", "race", "uninitialized", "wrong-result", "mismatch", "leftover"}[k]
}

// Options are what a judgement depends on besides the program. Zero fields of
// the first four are one.
type Options struct {
	Slots         int // messages that a connection holds
	MessageChunks int // chunks that a message holds
	Tiles         int // tiles of a launch, on disjoint memory
	Launches      int
	Moves         int // bounds the actions that are run in all schedules together; 0 is 1<<20
}

func (o Options) withDefaults() Options {
	o.Slots, o.MessageChunks = max(o.Slots, 1), max(o.MessageChunks, 1)
	o.Tiles, o.Launches = max(o.Tiles, 1), max(o.Launches, 1)
	if o.Moves <= 0 {
		o.Moves = 1 << 20
	}
	return o
}

// A Fault is one that a schedule shows.
type Fault struct {
	Text     string
	Schedule []int32 // the block that moves, one action after the other; nil where it is long
}

// A Verdict is what the schedules of a program show.
type Verdict struct {
	Found     [NumKinds]*Fault
	Schedules int
	Moves     int // actions run
	Events    int // actions of the program

	// Cut: the schedules were too many, and those looked at show faults. A
	// program that is cut and shows none is an error instead.
	Cut bool

	// BothOrders: a conflicting pair of actions of two blocks occurred in both
	// orders. Where the protocol is Simple and nothing was cut, this is Race.
	BothOrders bool

	// ByMessage: two accesses are ordered by messages, and by no flag.
	ByMessage bool

	raced, reversed map[[2]int32]bool // pairs of actions: unordered by the monitor; seen in both orders
	program         *program
	pos             []int32        // by block: where it ends up with opt.Slots
	readers         map[int32]bool // steps that read what nothing wrote
	cells           map[int32]bool // cells of outputs that are wrong
}

// Good says that no schedule shows a fault.
func (v *Verdict) Good() bool {
	for _, f := range v.Found {
		if f != nil {
			return false
		}
	}
	return true
}

// Kinds lists the kinds of fault.
func (v *Verdict) Kinds() []Kind {
	var list []Kind
	for k, f := range v.Found {
		if f != nil {
			list = append(list, Kind(k))
		}
	}
	return list
}

func (v *Verdict) String() string {
	text := fmt.Sprintf("%d schedules, %d actions", v.Schedules, v.Moves)
	for _, k := range v.Kinds() {
		text += fmt.Sprintf("\n%v: %s; schedule %v", k, v.Found[k].Text, v.Found[k].Schedule)
	}
	return text
}

// found keeps the first fault of a kind, with a schedule that can be read.
func (v *Verdict) found(k Kind, schedule []int32, format string, args ...any) {
	if len(schedule) > maxEvents {
		schedule = nil
	}
	if v.Found[k] == nil {
		v.Found[k] = &Fault{fmt.Sprintf(format, args...), append([]int32(nil), schedule...)}
	}
}

// A TooLarge error says that a program has more actions, blocks or schedules
// than are explored. It says nothing of the program.
type TooLarge struct{ Text string }

func (e *TooLarge) Error() string { return "too large to explore: " + e.Text }

// Reduced runs p in one schedule of each class, and judges deadlock with
// opt.Slots by one more, since no schedule can take away what another waits
// for. The tables of p must be well formed.
func Reduced(p *fifo.Program, opt Options) (*Verdict, error) {
	opt = opt.withDefaults()
	x, err := expand(p, opt, maxEvents)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Events: len(x.actions), program: x, readers: map[int32]bool{}, cells: map[int32]bool{}}
	r := newReducer(x, v, opt.Moves)
	r.visit(0)
	if r.cut {
		if v.Good() {
			return nil, &TooLarge{fmt.Sprintf("%d actions run, and no end", v.Moves)}
		}
		v.Cut = true
	}
	x.bounded(v, opt.Slots)
	v.raced, v.reversed = r.monitor.raced, x.reversed(&r.ahead)
	v.BothOrders, v.ByMessage = len(v.reversed) > 0, r.monitor.carried
	return v, nil
}

// Races reports whether two messages of two steps race.
func (v *Verdict) Races(step, group, with, withGroup int32) bool {
	is := func(e, step, group int32) bool {
		a := &v.program.actions[e]
		return a.step == step && a.group == group
	}
	for pair := range v.raced {
		e, f := pair[0], pair[1]
		if is(e, step, group) && is(f, with, withGroup) || is(f, step, group) && is(e, with, withGroup) {
			return true
		}
	}
	return false
}

// Ends reports whether a step ends, with the slots that there are.
func (v *Verdict) Ends(step int32) bool {
	x := v.program
	for b := range x.Blocks {
		for e := x.first[b] + v.pos[b]; e < x.first[b+1]; e++ {
			if x.actions[e].step == step {
				return false
			}
		}
	}
	return true
}

// ReadsNothing reports whether a step reads what nothing wrote, in some schedule.
func (v *Verdict) ReadsNothing(step int32) bool { return v.readers[step] }

// Wrong reports whether a chunk of rank's output is wrong at the end of some
// schedule.
func (v *Verdict) Wrong(rank, index int) bool {
	for _, o := range v.program.want {
		if int(o.rank) == rank && int(o.index) == index {
			return v.cells[o.cell]
		}
	}
	return false
}
