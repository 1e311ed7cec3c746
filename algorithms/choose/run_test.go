//go:build cgo

package choose

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mscclc/bench"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/selection"
)

// what the collectives are called with.
var everyKind = []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo,
	ir.SendRecv, ir.Gather, ir.Scatter}

// TestEveryCall runs what is chosen for each collective with some of 1 to 17 ranks, in and
// out of place where there is such a form, with no element, one, odd numbers of
// them, and so many that another variant is chosen; the elements of the result are
// compared, and what is chosen must be one-sided. A collective is run with a ninth of
// the numbers of ranks, with MSCCLC_TESTS=ci with a third, and with MSCCLC_TESTS=full with all.
func TestEveryCall(t *testing.T) {
	counts := []int{1, 2, 3, 4, 5, 8, 12, 16, 17}
	for i, kind := range everyKind {
		t.Run(kind.String(), func(t *testing.T) {
			for k, ranks := range counts {
				if n := i*len(counts) + k; covering.Full() || covering.Takes(n, 3) && covering.OneIn(n/3, 3) {
					everySize(t, kind, ranks)
				}
			}
		})
	}
}

func everySize(t *testing.T, kind ir.Kind, ranks int) {
	coll := &ir.Collective{Kind: kind, Ranks: ranks, Chunks: 1}
	switch kind {
	case ir.Broadcast, ir.ReduceTo, ir.Gather, ir.Scatter:
		coll.Root = ranks - 1
	case ir.SendRecv:
		for r := range ranks {
			coll.Peer = append(coll.Peer, int32((r+1)%ranks))
		}
	}
	host := bench.NewHost("cpu", ranks, executor.Options{Device: cpu.Device()}, time.Minute)
	defer host.Close()
	chooser := &Chooser{Device: "Some GPU", Shared: true, Table: DefaultTable()} // on the CPU it is Simple nearly always
	for _, inplace := range [2]bool{false, true} {
		if inplace && (kind == ir.AllToAll || kind == ir.SendRecv) {
			continue // have no such form
		}
		for _, elems := range []int64{0, 1, 7, 1001, 1 << 30} {
			call := &bench.Call{Coll: bench.Whole(coll, inplace), DType: data.I32, RedOp: data.Sum, Elems: elems}
			v, _, err := chooser.Choose(Call{Kind: kind, Ranks: ranks, Root: coll.Root, Inplace: inplace}, call.Bytes(),
				call.DType.Size())
			if err != nil || v.Sided != selection.OneSided {
				t.Fatalf("%d ranks, in place %v, %d elements: %v, %v", ranks, inplace, elems, v, err)
			}
			call.Elems = min(elems, 4099)
			if err := right(chooser, host, v, call); err != nil {
				t.Errorf("%d ranks, in place %v, %d elements: %v: %v", ranks, inplace, call.Elems, v, err)
			}
		}
	}
}

// right runs v, and says what of its result is wrong.
func right(c *Chooser, host *bench.Host, v selection.Choice, call *bench.Call) error {
	ctx := context.Background()
	p, err := c.Program(v, Call{Kind: call.Coll.Kind, Ranks: call.Coll.Ranks, Root: call.Coll.Root,
		Inplace: call.Coll.Inplace})
	if err != nil {
		return err
	}
	op, err := host.Ready(ctx, &bench.Form{Name: v.String(), Program: p}, call)
	if err != nil {
		return err
	}
	defer op.Close()
	if err := host.Place(ctx, call, bench.First); err != nil {
		return err
	}
	if err := host.Once(ctx, op); err != nil {
		return err
	}
	found, err := host.Check(ctx, call, bench.First)
	if err == nil && (found.Wrong > 0 || found.Outside > 0 || found.Checked == 0 && call.Elems > 0) {
		err = fmt.Errorf("%+v", found)
	}
	return err
}
