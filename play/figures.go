package play

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology/bound"
)

// figures says what a call costs, and how far it is from what the links allow.
func (b *builder) figures(r *simulate.Result, costs *devices.Costs) *Figures {
	c := b.program.Coll
	f := &Figures{Bytes: b.Bytes, DType: b.DType.String(), Latency: r.Micros, Link: int(r.Link), Occupied: r.Occupied,
		Caveat: strings.TrimSpace(costs.Caveat())}
	if r.Micros > 0 {
		f.AlgBW = float64(b.Bytes) / r.Micros / 1e3
		f.BusBW = f.AlgBW * c.BusFactor()
	}
	if r.Link >= 0 {
		f.LinkName = strings.TrimSpace(b.topology.LinkName(r.Link))
	}
	f.Text = fmt.Sprintf("%.2f us on %s at %s, algbw %.2f GB/s, busbw %.2f GB/s", f.Latency, b.topology.Name,
		diag.SizeText(b.Bytes), f.AlgBW, f.BusBW)
	moved := data.CallBytes(c, data.PieceElems(c, b.Bytes, b.DType), b.DType)
	if is := b.bound(); is != nil && r.Micros > 0 && moved > 0 {
		least := is.Micros(moved)
		share := least / r.Micros
		f.Bound, f.Share, f.Cut = &least, &share, is.Cut
		f.Text += fmt.Sprintf(", %.0f %% of the bound", 100*share)
	}
	return f
}

// boundTime is how long a bound is looked for; one that is not exact by then is not shown.
const boundTime = 2 * time.Second

// bounds keeps the bounds that were found last: a machine changes seldom while a text is edited.
var bounds struct {
	sync.Mutex
	known map[string]*bound.Bound
}

const mostBounds = 64

// bound returns the bound of the collective on the machine, or nil where none is known.
func (b *builder) bound() *bound.Bound {
	c := b.program.Coll
	key := fmt.Sprint(b.Machine, "\x00", b.Topology, "\x00", c.Kind, c.Root, b.seats)
	bounds.Lock()
	defer bounds.Unlock()
	if is, known := bounds.known[key]; known {
		return is
	}
	q := bound.Question{Kind: c.Kind, GPUs: b.seats, Root: c.Root}
	for rank := range b.seats {
		q.Names = append(q.Names, rank)
	}
	is, err := bound.Of(&clock{context.Background(), time.Now().Add(boundTime)}, b.topology, q)
	if err != nil || !is.Exact {
		is = nil
	}
	if bounds.known == nil || len(bounds.known) == mostBounds {
		bounds.known = map[string]*bound.Bound{}
	}
	bounds.known[key] = is
	return is
}

// A clock is a context that is done at a time. It asks the clock itself: in WebAssembly no timer fires while something
// runs.
type clock struct {
	context.Context
	end time.Time
}

// Err implements context.Context.
func (c *clock) Err() error {
	if time.Now().After(c.end) {
		return context.DeadlineExceeded
	}
	return nil
}
