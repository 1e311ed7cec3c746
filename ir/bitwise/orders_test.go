package bitwise_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/lang"
)

// TestOrdersText has orders of programs of the catalog, as they are written.
func TestOrdersText(t *testing.T) {
	for _, c := range []struct {
		name        string
		each, chain []string
	}{
		{"allreduce/onephase", []string{"r0 + r1 + r2 + r3"}, []string{"r0 + r1 + r2 + r3"}},
		{"allreduce/binomial", []string{"r0 + r1 + (r2 + r3)"}, []string{"r0 + r1 + (r2 + r3)"}},
		{"reducescatter/ring", []string{"r1 + r2 + r3 + r0", "r2 + r3 + r0 + r1", "r0 + r3 + r1 + r2", "r0 + r1 + r2 + r3"},
			[]string{"((r1 + r2) + r3) + r0", "((r2 + r3) + r0) + r1", "((r0 + r3) + r1) + r2", "((r0 + r1) + r2) + r3"}},
		{"allgather/ring", nil, nil},
	} {
		o := bitwise.OrdersOf(compileAllReduce(t, c.name, lang.Params{"ranks": "4"}, true))
		for by, want := range [][]string{bitwise.Each: c.each, bitwise.Chain: c.chain} {
			var got []string
			for _, x := range o.Of[by] {
				got = append(got, x.Text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", c.name, got, want)
			}
		}
		if one := len(c.each) <= 1; o.One() != one {
			t.Errorf("%s: one order: %v, want %v", c.name, o.One(), one)
		}
	}
}

// period is after how many elements the inputs of a rank begin anew.
const period = 61

// TestOrdersRun runs the AllReduce of the catalog with inputs that repeat, in calls of several sizes and widths.
// Elements that have the same inputs have the same bits if their orders have the same key, in whatever program they
// are. Where keys differ within a program, some bits do.
func TestOrdersRun(t *testing.T) {
	needDevice(t)
	for _, ranks := range []int{3, 4, 8} {
		for _, dt := range []data.DType{data.F32, data.BF16, data.F16} {
			by := bitwise.Chain
			if dt == data.F32 {
				by = bitwise.Each
			}
			inputs := repeating(ranks, dt)
			seen := map[[2]uint64]map[int]string{} // by key and place in a period, the bits
			for _, s := range allReduces() {
				if s.params["ordered"] != nil || len(s.params) != 1 || s.params["ranks"] != fmt.Sprint(ranks) {
					continue
				}
				p := compileAllReduce(t, s.name, s.params, true)
				o := bitwise.OrdersOf(p)
				runOrders(t, s.name, p, o.Of[by], inputs, dt, seen)
			}
			if len(seen) < 3 {
				t.Errorf("%d ranks, %v: %d orders, too few to compare", ranks, dt, len(seen))
			}
		}
	}
}

// repeating returns the inputs of all ranks for a period.
func repeating(ranks int, dt data.DType) [][]float64 {
	rnd := rand.New(rand.NewSource(int64(ranks)))
	list := make([][]float64, ranks)
	for r := range list {
		for range period {
			list[r] = append(list[r], number(rnd, dt))
		}
	}
	return list
}

// runOrders runs a program, and compares the bits of elements with those of the same order.
func runOrders(t *testing.T, name string, p *either.Program, trees []bitwise.Tree, inputs [][]float64, dt data.DType,
	seen map[[2]uint64]map[int]string) {
	t.Helper()
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // Compile has proved it
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	keys, unknown := map[ir.Part][2]uint64{}, false
	for _, x := range trees {
		unknown = unknown || x.Unknown
		for _, c := range x.Chunks {
			keys[c] = x.Key
		}
	}
	mine := map[[2]uint64]map[int]string{}
	chunks := int64(p.Coll.Chunks)
	sizes := []int64{chunks, 7 * chunks, 67 * chunks}
	if len(trees) == 1 { // any element has it, wherever it lies
		sizes = append(sizes, 1, 5, 97, 1001)
	}
	for turn, elems := range sizes {
		each := (elems + chunks - 1) / chunks // elements of a chunk
		args := executor.DataArgs(data.New(data.NewGeometry(p.Coll, elems, dt.Size()), dt, data.Sum, 1))
		args.Wait, args.Threads, args.Replicas = time.Minute, 1, 1+turn%3
		for r, b := range args.Input {
			for i := range elems {
				dt.PutFloat(b, int(i), inputs[r][i%period])
			}
		}
		if _, err := l.Run(context.Background(), args); err != nil {
			t.Fatal(err)
		}
		outputs := args.Output
		if p.Coll.Inplace {
			outputs = args.Input
		}
		for r, output := range outputs {
			for i := range elems {
				key, at := keys[ir.Part{Rank: int32(r), Index: int32(i / each)}], int(i%period)
				if len(trees) == 1 {
					key = trees[0].Key
				}
				bits := string(output[int(i)*dt.Size():][:dt.Size()])
				if before := put(mine, key, at, bits); before != bits {
					t.Fatalf("%s, %v: rank %d has the bits %x of element %d of %d, where the same order had %x", name, dt, r, bits,
						i, elems, before)
				}
				if before := put(seen, key, at, bits); before != bits {
					t.Fatalf("%s, %v: rank %d has the bits %x of element %d of %d, where another program had %x", name, dt, r, bits,
						i, elems, before)
				}
			}
		}
	}
	if len(trees) > 1 && !unknown && !apart(mine) {
		t.Errorf("%s, %v: %d orders, and all bits are alike", name, dt, len(trees))
	}
}

// put keeps bits, unless there are some, and returns those that are kept.
func put(all map[[2]uint64]map[int]string, key [2]uint64, at int, bits string) string {
	if all[key] == nil {
		all[key] = map[int]string{}
	}
	if before, ok := all[key][at]; ok {
		return before
	}
	all[key][at] = bits
	return bits
}

// apart reports whether some two orders have other bits of the same inputs.
func apart(all map[[2]uint64]map[int]string) bool {
	of := map[int]string{}
	for _, bits := range all {
		for at, b := range bits {
			if before, ok := of[at]; ok && before != b {
				return true
			}
			of[at] = b
		}
	}
	return false
}
