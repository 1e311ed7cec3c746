package choosing

import (
	"context"
	"fmt"
	"time"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/topology"
	"mscclc/topology/bound"
)

// BoundLimit is how long a bound is looked for. What is found by then is valid, if not the best.
const BoundLimit = 20 * time.Second

// A Bound is the bound of a collective on a topology, or none.
type Bound struct {
	coll *ir.Collective
	is   *bound.Bound // nil where there is none
}

// BoundOn returns the bound of a collective whose ranks are on GPUs of a topology: gpus is indexed by rank; nil is all.
// There is none of custom collectives, of one rank, and where ranks do not reach each other.
func BoundOn(t *topology.Topology, c *ir.Collective, gpus []int32) Bound {
	ctx, cancel := context.WithTimeout(context.Background(), BoundLimit)
	defer cancel()
	q := bound.Question{Kind: c.Kind, GPUs: gpus, Root: c.Root}
	for rank := range gpus {
		q.Names = append(q.Names, rank)
	}
	is, err := bound.Of(ctx, t, q)
	if err != nil {
		return Bound{coll: c}
	}
	return Bound{c, is}
}

// A Beside is how a time stands beside the bound of its call.
type Beside struct {
	Micros float64 `json:"bound_us,omitempty" doc:"the least time that the links of the topology allow"`
	Share  float64 `json:"of_bound,omitempty" doc:"bound_us over us: 1 is the best possible"`
	Cut    string  `json:"cut,omitempty" doc:"the links that limit it"`
}

// Beside returns how a time in microseconds of a call of a given number of bytes stands beside the bound.
func (b Bound) Beside(bytes int64, t data.DType, micros float64) (is Beside) {
	if b.is == nil || micros <= 0 {
		return is
	}
	moved := data.CallBytes(b.coll, data.PieceElems(b.coll, bytes, t), t) // without a rest that no rank moves
	if moved == 0 {
		return is
	}
	is.Micros, is.Cut = b.is.Micros(moved), b.is.Cut
	is.Share = is.Micros / micros
	return is
}

// Text returns the share, or -.
func (b Beside) Text() string {
	if b.Micros == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*b.Share)
}

// Line says what the bound is and what limits it, on t; it is empty where there is none.
func (b Bound) Line(t *topology.Topology) string {
	if b.is == nil {
		return ""
	}
	return fmt.Sprintf("the bound on %s is %.4g GB/s (algbw); the cut is %s\n", t.Name, b.is.MBs()/1e3, b.is.Cut)
}
