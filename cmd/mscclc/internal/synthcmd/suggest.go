package synthcmd

import (
	"context"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/synthesis"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// A Chosen is what was chosen of the catalog for calls of a size: a program that takes a given number of microseconds.
type Chosen struct {
	Call   choose.Call
	Bytes  int64
	Micros float64
	Share  float64 // of the bound; 0 where there is none
}

// How many ranks there are at most where a program of trees is looked for, and how long that is done.
const (
	mostRanks   = 64
	searchLimit = 5 * time.Second
)

// Suggest notes a synthesized program that is faster on a topology than that of the catalog for the largest of some
// calls, if there is one. Spec is what the user calls the topology.
func Suggest(a *cli.App, t *topology.Topology, spec string, chosen []Chosen) {
	if len(chosen) == 0 {
		return
	}
	c := chosen[len(chosen)-1]
	if c.Call.Ranks > mostRanks || !choosing.WantsTrees(c.Call, c.Bytes, c.Share) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), searchLimit)
	defer cancel()
	if best := c.trees(ctx, t); best > 0 && best < c.Micros {
		a.Note("", "a program of %s takes %.0f us at %s, the catalog's %.0f: %s makes one", certificate.Trees(c.Call.Kind), best,
			cli.SizeText(c.Bytes), c.Micros, choosing.TreesCommand(c.Call, spec))
	}
}

// trees returns the least time of the programs of trees that are found in time, or 0.
func (c *Chosen) trees(ctx context.Context, t *topology.Topology) (micros float64) {
	gpus := make([]int32, t.Ranks())
	for i := range gpus {
		gpus[i] = int32(i)
	}
	for _, r := range requests(t, synthesis.Request{Kind: c.Call.Kind, Root: c.Call.Root, GPUs: gpus}, []int{0, 4, 1}) {
		if ctx.Err() != nil {
			break
		}
		m, err := makeOne(ctx, t, r)
		if err != nil || m.hops() > most || m.simulate(t, gpus, c.Bytes) != nil {
			continue
		}
		if micros == 0 || m.micros < micros {
			micros = m.micros
		}
	}
	return micros
}
