package choose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mscclc/ir"
)

// A Shape is what a program costs, whatever it runs on: how many transfers follow
// each other at most, and which part of a call's bytes the rank that sends or
// receives most does.
type Shape struct {
	Rounds int
	Volume float64
}

// shape measures the operations of d.
func shape(d *ir.ChunkDAG) Shape {
	type cell struct {
		rank, index int32
		buf         ir.Buf
	}
	rounds := map[cell]int{}
	sent, received := make([]int, d.Coll.Ranks), make([]int, d.Coll.Ranks)
	var s Shape
	at := func(r ir.Ref, i int32) cell {
		if d.Coll.Inplace && r.Buf == ir.Output { // one memory with input
			r.Buf = ir.Input
			if inOut, outIn := d.Coll.Shift(int(r.Rank)); inOut >= 0 {
				r.Index -= int32(inOut)
			} else {
				r.Index += int32(outIn)
			}
		}
		return cell{r.Rank, r.Index + i, r.Buf}
	}
	for k := range d.Ops {
		op := &d.Ops[k]
		for i := range op.Count {
			n := 0
			for _, src := range d.Sources(op) {
				m := rounds[at(src, i)]
				if src.Rank != op.Dst.Rank {
					m++
					sent[src.Rank]++
					received[op.Dst.Rank]++
				}
				n = max(n, m)
			}
			rounds[at(op.Dst, i)] = n
			s.Rounds = max(s.Rounds, n)
		}
	}
	most := 0
	for r := range sent {
		most = max(most, sent[r], received[r])
	}
	s.Volume = float64(most) / float64(max(d.Coll.Divisor(), 1))
	return s
}

// The model's numbers, of an H200 with NVLink 4 through a switch: microseconds of
// a launch, of a round by packets and of one by flags, and bytes that a link moves
// in a microsecond. Packets cost what their flags take of the wire.
const (
	launchMicros = 2.5
	packetMicros = 1.6
	flagMicros   = 3.0
	linkBytes    = 350e3
)

var wire = [ir.NumProtocols]float64{ir.Simple: 1, ir.LL: 2, ir.LL16: 2, ir.LL128: 128. / 120}

// slower is what a round by some packets takes longer than by those of 16 bytes:
// small ones are more, and lines of 128 bytes wait for a warp's threads.
var slower = [ir.NumProtocols]float64{ir.LL: 0.2, ir.LL128: 0.6}

// Micros is what the model says a call of so many bytes takes.
func (s Shape) Micros(p ir.Protocol, bytes int64) float64 {
	round := packetMicros
	if p == ir.Simple {
		round = flagMicros
	}
	return launchMicros + float64(s.Rounds)*(round+slower[p]) + s.Volume*wire[p]*float64(bytes)/linkBytes
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
	program, sided, protocol string
	call                     Call
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
	key := builtKey{v.Program, v.Sided, v.Protocol, call}
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
			s.Shape = shape(chunks)
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

// ranked is Ranked, and says why what is not there is not.
func (c *Chooser) ranked(call Call, bytes int64) (list []Variant, micros []float64, why error) {
	times := map[Variant]float64{}
	for _, v := range Candidates(call.Kind) {
		s, err := c.Shape(v.Program, call)
		if err != nil {
			if v.Protocol == ir.Simple.String() { // once an algorithm
				why = errors.Join(why, fmt.Errorf("%s: %w", v.Program, err))
			}
			continue
		}
		proto, _ := ir.ProtocolByName(v.Protocol)
		list, times[v] = append(list, v), s.Micros(proto, bytes)
	}
	slices.SortStableFunc(list, func(a, b Variant) int { return cmp.Compare(times[a], times[b]) })
	for _, v := range list {
		micros = append(micros, times[v])
	}
	return list, micros, why
}
