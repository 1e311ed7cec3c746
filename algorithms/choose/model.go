package choose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// The model's numbers, of H200s with NVLink 4 through a switch, as h200.table has
// them: microseconds of a launch and of a round, by flags and by packets; what
// it takes more where ranks meet at the begin and the end of a launch, since they
// write each other's memory plainly; and bytes in a microsecond that a rank sends to
// several others at once, to one other, as packets, whose flags are half of them, or as lines, which take
// a little longer.
const (
	launchMicros = 2.5
	flagMicros   = 2.1
	meetMicros   = 2.0
	linkBytes    = 350e3
	pairBytes    = 365e3

	packetLaunchMicros = 1.6
	packetMicros       = 1.0
	packetBytes        = 115e3
	lineMicros         = 1.2
	lineBytes          = 265e3
	linePairBytes      = 310e3
)

// And of the two-sided form: of a message, and what the block of a peer moves. Its
// packets take so much longer than plain messages.
const (
	messageMicros = 5.0
	blockBytes    = 24e3
)

var slower = [ir.NumProtocols]float64{ir.Simple: 1, ir.LL: 2.4, ir.LL16: 2.4, ir.LL128: 1.3}

// tie decides between LL and LL16, which are the same on the wire of a one-sided program.
var tie = [ir.NumProtocols]float64{ir.LL: 0.01}

// Micros is what the model says a call of so many bytes takes by v, whose program
// has shape s. It is the rule that picks between the one-sided and the two-sided form
// of a program as well: where all ranks reach each other's memory, as the model
// has it, the two-sided one is never cheaper.
func (s Shape) Micros(v Variant, bytes int64) float64 {
	proto, _ := ir.ProtocolByName(v.Protocol)
	rounds, sent := float64(s.Rounds), s.Volume*float64(bytes)
	link, lines := linkBytes, lineBytes
	if s.Peers <= 1 {
		link, lines = pairBytes, linePairBytes
	}
	switch {
	case v.Sided == "two":
		return launchMicros + rounds*messageMicros + sent*slower[proto]/min(link, blockBytes*float64(max(s.Peers, 1)))
	case proto == ir.LL128:
		return packetLaunchMicros + rounds*lineMicros + sent/lines
	case proto != ir.Simple:
		return packetLaunchMicros + rounds*packetMicros + sent/packetBytes + tie[proto]
	case s.Rounds == 0:
		return launchMicros
	}
	return launchMicros + meetMicros + rounds*flagMicros + sent/link
}

// A Chooser finds the variant for a call: by a table where it has an entry, else
// by the model. For that an algorithm is expanded once, whatever the protocol, and
// only what is chosen is compiled. Its methods may be called at once.
type Chooser struct {
	Table  *Table
	Device string

	mu     sync.Mutex
	built  map[builtKey]*built
	shaped map[builtKey]*shaped
}

// A builtKey is a variant for calls; of a shape it has no protocol.
type builtKey struct {
	program, sided, protocol, via string
	call                          Call
}

type built struct {
	program *ir.Program
	err     error
}

type shaped struct {
	Shape
	err error
}

// Program compiles v for calls like call.
func (c *Chooser) Program(v Variant, call Call) (*ir.Program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := builtKey{v.Program, v.Sided, v.Protocol, v.Via, call}
	b := c.built[key]
	if b == nil {
		b = &built{}
		b.program, b.err = v.Compile(call)
		if c.built == nil {
			c.built = map[builtKey]*built{}
		}
		c.built[key] = b
	}
	return b.program, b.err
}

// Shape is the shape of a program of the catalog for calls like call.
func (c *Chooser) Shape(program string, call Call) (Shape, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := builtKey{program: program, call: call}
	s := c.shaped[key]
	if s == nil {
		s = &shaped{}
		var chunks *ir.ChunkDAG
		if chunks, s.err = expand(program, call); s.err == nil {
			s.Shape = ShapeOf(chunks)
		}
		if c.shaped == nil {
			c.shaped = map[builtKey]*shaped{}
		}
		c.shaped[key] = s
	}
	return s.Shape, s.err
}

// Choose returns the variant for a call of so many bytes, and whether a table said
// so.
func (c *Chooser) Choose(call Call, bytes int64, element int) (v Variant, measured bool, err error) {
	if e := c.Table.Entry(c.Device, call, element); e != nil {
		v := e.Rule(bytes).Variant
		if _, err := c.Program(v, call); err == nil {
			return v, true, nil
		}
	}
	ranked, _, why := c.ranked(call, bytes)
	for _, v := range ranked {
		_, err := c.Program(v, call)
		if err == nil {
			return v, false, nil
		}
		why = errors.Join(why, fmt.Errorf("%v: %w", v, err))
	}
	if why == nil {
		why = fmt.Errorf("the catalog has no %v", call.Kind)
	}
	return v, false, why
}

// Ranked are the forms that there are for a call, with what the model says of each,
// the fastest first. Not each need compile.
func (c *Chooser) Ranked(call Call, bytes int64) (list []Variant, micros []float64) {
	list, micros, _ = c.ranked(call, bytes)
	return list, micros
}

// mostMoved is how many chunks a program moves that is chosen where there is a
// smaller one: beyond, which is some 500 ranks, it takes minutes to compile.
const mostMoved = 1 << 18

// ErrNotInPlace is part of the error where no program of the catalog runs in place.
var ErrNotInPlace = errors.New("it is not to be had in place")

// ranked is Ranked, and says why what is not there is not.
func (c *Chooser) ranked(call Call, bytes int64) (list []Variant, micros []float64, why error) {
	times, huge, unplaced := map[Variant]float64{}, map[Variant]int{}, true
	for _, v := range Candidates(call.Kind) {
		s, err := c.Shape(v.Program, call)
		if err != nil {
			if v.Protocol == ir.Simple.String() && v.Sided == "" { // once an algorithm
				why = errors.Join(why, fmt.Errorf("%s: %w", v.Program, err))
			}
			var list diag.List
			unplaced = unplaced && errors.As(err, &list) && list[0].Code == diag.NotInPlace
			continue
		}
		list, times[v] = append(list, v), s.Micros(v, bytes)
		if s.Moved > mostMoved {
			huge[v] = 1
		}
	}
	slices.SortStableFunc(list, func(a, b Variant) int {
		return cmp.Or(cmp.Compare(huge[a], huge[b]), cmp.Compare(times[a], times[b]))
	})
	for _, v := range list {
		micros = append(micros, times[v])
	}
	if unplaced && why != nil {
		why = errors.Join(ErrNotInPlace, why)
	}
	return list, micros, why
}
