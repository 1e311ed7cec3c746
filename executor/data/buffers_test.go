package data

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mscclc/ir"
)

// direct does what a collective says, with the reduction in rank order.
func direct(d *Buffers) {
	c := d.Geo.Coll
	size := d.DType.Size()
	for r := range c.Ranks {
		for i := range c.OutChunks(r) {
			w := c.Want(r, i)
			if w.Any {
				continue
			}
			n := d.Geo.Length(c.Class(i))
			out := d.rank[r].output[d.Geo.Offset(i)*int64(size):]
			parts := w.List
			if w.Sum {
				for q := range c.Ranks {
					parts = append(parts, ir.Part{Rank: int32(q), Index: w.Part.Index})
				}
			} else if parts == nil {
				copy(out[:n*int64(size)], d.chunk(w.Part, n))
				continue
			}
			e := d.expect(parts, n)
			for k := range int(n) {
				if d.DType.Info().Float {
					d.DType.PutFloat(out, k, e.value[k])
				} else {
					for b := range size {
						out[k*size+b] = byte(e.ints[k] >> (8 * b))
					}
				}
			}
		}
	}
}

func collectives() []*ir.Collective {
	var list []*ir.Collective
	for _, inplace := range []bool{false, true} {
		for kind := ir.AllReduce; kind < ir.Custom; kind++ {
			if inplace && (kind == ir.AllToAll || kind == ir.SendRecv) {
				continue
			}
			list = append(list, &ir.Collective{Kind: kind, Ranks: 3, Chunks: 2, Root: 1, Peer: []int32{1, 2, 0},
				Inplace: inplace})
		}
	}
	return append(list, &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 3, In: 2, Out: 3,
		Require: map[ir.Part][]ir.Part{{Rank: 0, Index: 1}: {{Rank: 0, Index: 1}, {Rank: 1, Index: 1}}}})
}

// TestCheck accepts what is right, and finds each thing that is not: poison
// left over, one wrong element, a write beside a buffer, a write to an input.
func TestCheck(t *testing.T) {
	for _, c := range collectives() {
		for _, dt := range []DType{F32, BF16, I32, E4M3} {
			for _, elems := range []int64{7, 300} {
				d := New(NewGeometry(c, elems, dt.Size()), dt, Sum, 5)
				if rep := d.Check(); rep.Wrong == 0 {
					t.Errorf("%v %s: poison passes", c, dt)
				}
				direct(d)
				rep := d.Check()
				if err := rep.Err(); err != nil || rep.Checked == 0 {
					t.Errorf("%v %s: %v (%d checked)", c, dt, err, rep.Checked)
				}
				for r := range d.rank {
					for b := range d.rank[r].guarded {
						d.rank[r].guarded[b][guard-1] ^= 1
						if rep := d.Check(); len(rep.Broken) != 1 || rep.Err() == nil {
							t.Errorf("%v: a write before a buffer: %v", c, rep.Broken)
						}
						d.rank[r].guarded[b][guard-1] ^= 1
					}
				}
				if !c.Inplace {
					d.rank[1].input[0] ^= 1
					if rep := d.Check(); len(rep.Changed) != 1 || !strings.Contains(rep.Err().Error(), "input") {
						t.Errorf("%v: a write to an input: %v", c, rep.Changed)
					}
				}
			}
		}
	}
}

// TestCheckInOrder spoils elements of several ranks' chunks, of lengths for many processors: the first of the ranks in
// the order they are asked for is reported, and all are counted.
func TestCheckInOrder(t *testing.T) {
	for _, dt := range []DType{I32, F32, U8} {
		for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather} {
			d := New(NewGeometry(&ir.Collective{Kind: kind, Ranks: 4, Chunks: 3}, 200003, dt.Size()), dt, Sum, 2)
			direct(d)
			chunk, size := d.Geo.Chunk, int64(dt.Size())
			for _, at := range []struct{ rank, chunk, element int64 }{{2, 1, 7}, {2, 1, chunk - 5}, {2, 2, 0}, {1, 0, 50000},
				{3, 2, 1}} {
				d.rank[at.rank].output[(at.chunk*chunk+at.element+1)*size-1] ^= 0x2a
			}
			for _, x := range []struct {
				ranks []int
				wrong int64
				first string
			}{{[]int{0, 1, 2, 3}, 5, "rank 1 output chunk 0 element 50000 "},
				{[]int{3, 2, 1}, 5, "rank 3 output chunk 2 element 1 "}, {[]int{2, 3}, 4, "rank 2 output chunk 1 element 7 "}} {
				if rep := d.CheckRanks(x.ranks); rep.Wrong != x.wrong || !strings.HasPrefix(rep.First.String(), x.first) {
					t.Errorf("%v %v: of %v, %d are wrong, %v", kind, dt, x.ranks, rep.Wrong, rep.First)
				}
			}
			d.Reset()
			if rep := d.Check(); len(rep.Changed) > 0 || len(rep.Broken) > 0 || rep.Wrong == 0 {
				t.Errorf("%v %v: after a reset: %+v", kind, dt, rep)
			}
		}
	}
}

// TestDataAlike makes the same data and finds the same on one processor and on several.
func TestDataAlike(t *testing.T) {
	for _, c := range collectives() {
		for _, dt := range []DType{BF16, F64, I8, I64} {
			geo, reports := NewGeometry(c, 30011, dt.Size()), [2]Report{}
			var data [2]*Buffers
			for i, procs := range []int{1, 3} {
				was := runtime.GOMAXPROCS(procs)
				data[i] = New(geo, dt, Avg, 4)
				reports[i] = data[i].Check()
				runtime.GOMAXPROCS(was)
			}
			for r := range data[0].rank {
				for b := range data[0].rank[r].guarded {
					if !bytes.Equal(data[0].rank[r].guarded[b], data[1].rank[r].guarded[b]) {
						t.Errorf("%v %v: buffer %d of rank %d differs", c, dt, b, r)
					}
				}
			}
			if !reflect.DeepEqual(reports[0], reports[1]) {
				t.Errorf("%v %v: %+v, and %+v", c, dt, reports[0], reports[1])
			}
		}
	}
}

// TestCheckSeesMissing leaves one rank out of each sum: nearly every element of
// every type must show it.
func TestCheckSeesMissing(t *testing.T) {
	c := &ir.Collective{Kind: ir.AllReduce, Ranks: 8, Chunks: 1}
	for dt := range NumDTypes {
		for _, op := range []RedOp{Sum, Avg, Prod} {
			d := New(NewGeometry(c, 4000, dt.Size()), dt, op, 9)
			direct(d)
			if rep := d.Check(); rep.Err() != nil {
				t.Fatalf("%s %s: %v", dt, op, rep.Err())
			}
			exp := d.expect([]ir.Part{{Rank: 0}, {Rank: 1}, {Rank: 2}, {Rank: 3}, {Rank: 4}, {Rank: 5}, {Rank: 6}}, 4000)
			for k := range 4000 {
				if dt.Info().Float {
					dt.PutFloat(d.rank[0].output, k, exp.value[k])
				} else {
					for b := range dt.Size() {
						d.rank[0].output[k*dt.Size()+b] = byte(exp.ints[k] >> (8 * b))
					}
				}
			}
			if rep := d.Check(); rep.Wrong < 4000/8 {
				t.Errorf("%s %s: only %d of 4000 elements show that a rank is missing", dt, op, rep.Wrong)
			}
		}
	}
}

// TestNumbers converts every value of the small types there and back, and
// rounds what lies between neighbours to the even one.
func TestNumbers(t *testing.T) {
	for _, dt := range []DType{F16, BF16, E4M3, E5M2} {
		n := 1 << (8 * dt.Size())
		var buf, back [2]byte
		for v := range n {
			buf = [2]byte{byte(v), byte(v >> 8)}
			x := dt.Float(buf[:], 0)
			if x != x {
				continue
			}
			if math.IsInf(x, 0) && dt == E5M2 {
				continue // saturates
			}
			dt.PutFloat(back[:], 0, x)
			if back != buf && dt.Size() == 2 || back[0] != buf[0] {
				t.Fatalf("%s: %#x is %v, and back %#x", dt, v, x, back)
			}
			next := [2]byte{byte(v + 1), byte((v + 1) >> 8)}
			y := dt.Float(next[:], 0)
			if x < 0 || y != y || math.IsInf(x, 0) || math.IsInf(y, 0) || v+1 == n/2 {
				continue
			}
			dt.PutFloat(back[:], 0, (x+y)/2)
			if even := buf; v%2 == 1 {
				if even = next; back[0] != even[0] {
					t.Fatalf("%s: between %v and %v lies %#x", dt, x, y, back)
				}
			} else if back[0] != even[0] {
				t.Fatalf("%s: between %v and %v lies %#x", dt, x, y, back)
			}
		}
	}
}

// TestNames finds each type and reduction by its name.
func TestNames(t *testing.T) {
	for dt := range NumDTypes {
		if got, ok := DTypeByName(dt.String()); !ok || got != dt {
			t.Errorf("%s is %s", dt, got)
		}
	}
	for op := range NumRedOps {
		if got, ok := RedOpByName(op.String()); !ok || got != op {
			t.Errorf("%s is %s", op, got)
		}
	}
	if _, ok := DTypeByName("f31"); ok {
		t.Error("f31 is a type")
	}
	if _, ok := RedOpByName("mean"); ok {
		t.Error("mean is a reduction")
	}
}
