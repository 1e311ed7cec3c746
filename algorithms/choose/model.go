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
// by the model. Programs are compiled once. Its methods may be called at once.
type Chooser struct {
	Table  *Table
	Device string

	mu    sync.Mutex
	built map[builtKey]*built
}

type builtKey struct {
	program, sided, protocol string
	call                     Call
}

type built struct {
	program *ir.Program
	shape   Shape
	err     error
}

// Program compiles v for calls like call.
func (c *Chooser) Program(v Variant, call Call) (*ir.Program, error) {
	b := c.build(v, call)
	return b.program, b.err
}

func (c *Chooser) build(v Variant, call Call) *built {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := builtKey{v.Program, v.Sided, v.Protocol, call}
	if b := c.built[key]; b != nil {
		return b
	}
	b := &built{}
	var chunks *ir.ChunkDAG
	if b.program, chunks, b.err = v.compile(call); b.err == nil {
		b.shape = shape(chunks)
	}
	if c.built == nil {
		c.built = map[builtKey]*built{}
	}
	c.built[key] = b
	return b
}

// Choose returns the variant for a call of so many bytes, and whether a table said
// so.
func (c *Chooser) Choose(call Call, bytes int64, element int) (v Variant, measured bool, err error) {
	if e := c.Table.Entry(c.Device, call, element); e != nil {
		v := e.Rule(bytes).Variant
		if c.build(v, call).err == nil {
			return v, true, nil
		}
	}
	best, found := 0.0, false
	var why error
	for _, candidate := range Candidates(call.Kind) {
		b := c.build(candidate, call)
		if b.err != nil {
			why = errors.Join(why, fmt.Errorf("%s: %w", candidate.Program, b.err))
			continue
		}
		proto, _ := ir.ProtocolByName(candidate.Protocol)
		if t := b.shape.Micros(proto, bytes); !found || t < best {
			v, best, found = candidate, t, true
		}
	}
	if !found {
		if why == nil {
			why = fmt.Errorf("the catalog has no %v", call.Kind)
		}
		return v, false, why
	}
	return v, false, nil
}

// Ranked are the forms that compile for a call, with what the model says of each,
// the fastest first.
func (c *Chooser) Ranked(call Call, bytes int64) (list []Variant, micros []float64) {
	times := map[Variant]float64{}
	for _, v := range Candidates(call.Kind) {
		if b := c.build(v, call); b.err == nil {
			proto, _ := ir.ProtocolByName(v.Protocol)
			list, times[v] = append(list, v), b.shape.Micros(proto, bytes)
		}
	}
	slices.SortStableFunc(list, func(a, b Variant) int { return cmp.Compare(times[a], times[b]) })
	for _, v := range list {
		micros = append(micros, times[v])
	}
	return list, micros
}
