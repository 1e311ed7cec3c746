package benchcmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor"
	"mscclc/executor/exchange"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
)

// This file says which variants search measures, and in which widths.

// mostOneLane is how many variants in one lane are measured at most, of those within tuning.WithinBest.
const mostOneLane = 8

// mostOverNodes is how many variants are measured where ranks are on several nodes, and mostAlike how many of these are
// of one algorithm in one form.
const mostOverNodes, mostAlike = 36, 2

// overNodesTime is how long a size is searched there unless --time says otherwise.
const overNodesTime = 30 * time.Second

// searchLimit returns how long a size is searched, in each placement.
func (w *benchWorld) searchLimit() time.Duration {
	if w.on != "" && w.OneGiven("time") == "" {
		return overNodesTime
	}
	return w.limit
}

// searching returns the measurements of a search, of which there are many.
func (w *benchWorld) searching() bench.Measuring {
	m := w.measuring
	if w.OneGiven("replays") == "" {
		m.Replays = 3
	}
	if w.OneGiven("warmup") == "" {
		m.Warmup = 1
	}
	if w.OneGiven("replay-time") == "" {
		m.Target = 600 * time.Microsecond
	}
	return m
}

// The widths that are tried on CPUs, whose blocks have one thread, and on GPUs of several nodes. A message to another
// node costs a time beside its bytes, so that few replicas and long tiles may be the fastest.
var (
	hostWidths = &bench.Widths{Replicas: []int64{1, 2, 4, executor.DefaultMaxReplicas}, Tiles: triedTiles,
		First: []launch.Width{{Replicas: 1}, {Replicas: 2}, {Replicas: executor.DefaultMaxReplicas},
			{Replicas: 1, Tile: 1 << 20}}}
	nodesWidths = &bench.Widths{Replicas: []int64{1, 2, 4, 8, 16, 32, 64}, Threads: []int64{128, 256, 512},
		Tiles: triedTiles, First: []launch.Width{{Replicas: 1, Threads: 512}, {Replicas: 4, Threads: 512},
			{Replicas: 16, Threads: 512}, {Replicas: 4, Threads: 512, Tile: 256 << 10}, {Replicas: 1,
				Threads: 512, Tile: 1 << 20}}}
	triedTiles = []int64{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}
)

// widths returns the widths that a search looks among; nil are the usual ones.
func (w *benchWorld) widths() *bench.Widths {
	switch {
	case devices.GPUs[w.device] == nil:
		return hostWidths
	case w.on != "":
		return nodesWidths
	}
	return nil
}

// The found are forms to be measured, the likeliest first.
type found struct {
	forms []*bench.Form
}

// candidates are the forms that are measured for a call, each as wide as it was best before, as the executor makes it,
// and as a guess has it. In a job of several processes all have the same: those that the first process takes, as far as
// all can compile them. There are none where the collective has no program in this placement.
func (w *benchWorld) candidates(ctx context.Context, call choose.Call, bytes int64,
	before map[string]bench.Form) (*found, error) {
	var list []selection.Choice
	var err error
	if w.first {
		list, err = w.likely(call, bytes)
	}
	return w.formsOf(ctx, call, bytes, before, list, err)
}

// formsOf makes forms of the first process's list. err is what has failed there.
func (w *benchWorld) formsOf(ctx context.Context, call choose.Call, bytes int64, before map[string]bench.Form,
	list []selection.Choice, err error) (*found, error) {
	lists, err := exchange.Agree(ctx, w.exchange, list, err)
	if err != nil {
		return nil, err
	}
	list = lists[0]
	forms, fits := make([]*bench.Form, len(list)), make([]bool, len(list))
	for i, v := range list {
		forms[i], err = w.variant(v, call)
		fits[i] = err == nil
	}
	everywhere, err := exchange.Agree(ctx, w.exchange, fits, nil)
	if err != nil {
		return nil, err
	}
	is := &found{}
	for i, v := range list {
		if !slices.ContainsFunc(everywhere, func(fits []bool) bool { return !fits[i] }) {
			is.add(forms[i], w.guess(v, bytes), before)
		}
	}
	return is, nil
}

// guess is about the right width of a variant.
func (w *benchWorld) guess(v selection.Choice, bytes int64) launch.Width {
	replicas, threads := tuning.Guessed(bytes)
	if devices.GPUs[w.device] == nil {
		replicas, threads = min(replicas, executor.DefaultMaxReplicas), 0
	}
	return launch.Width{Replicas: max(1, replicas/max(v.Lanes, 1)), Threads: threads} // each replica has all lanes
}

// add adds a form in its widths.
func (is *found) add(f *bench.Form, guess launch.Width, before map[string]bench.Form) {
	if f.Choice.Via != ir.ViaAny {
		is.forms = append(is.forms, f)
		return
	}
	if b, ok := before[f.Name]; ok {
		wide := *f
		wide.Choice.Width = b.Choice.Width
		is.forms = append(is.forms, &wide)
	}
	guessed := *f
	guessed.Choice.Width = guess.Or(f.Choice.Width)
	is.forms = append(is.forms, f, &guessed)
}

// likely returns the variants that are measured for a call, the likeliest first, and few of those with several lanes.
func (w *benchWorld) likely(call choose.Call, bytes int64) (list []selection.Choice, err error) {
	ranked, micros, err := w.chooser.Ranked(call, bytes, w.dtype.Size())
	switch {
	case errors.Is(err, choose.ErrNotInPlace):
		return nil, nil
	case err != nil:
		return nil, err
	case w.on != "":
		return w.overNodes(call, ranked), nil
	}
	var port []selection.Choice
	var tried [2]int // with one lane, and with several
	for i, v := range ranked {
		several := 0
		if v.Lanes > 1 {
			several = 1
		}
		far := tried[several] >= [2]int{mostOneLane, tuning.MostLaned}[several] || micros[i] > tuning.WithinBest*micros[0]
		if far && !w.own.Has(v.Program) { // the user's own are measured in any case
			continue
		}
		if _, err := w.variant(v, call); err != nil {
			continue
		}
		list = append(list, v)
		tried[several]++
		if p, ok := choose.Ported(v); ok && bytes >= portWorth && devices.GPUs[w.device] != nil {
			port = append(port, p)
		}
	}
	return append(list, port...), nil
}

// overNodes returns the variants that are measured on several nodes. The simulation knows little of the network there,
// so of each algorithm the likeliest form is measured, however far from the best it is simulated, and then other forms
// of it. Programs that do the same in the same blocks, such as those of LL where no two ranks are of one node, count
// once.
func (w *benchWorld) overNodes(call choose.Call, ranked []selection.Choice) (list []selection.Choice) {
	type kind struct {
		program string
		sided   selection.Sided
		laned   bool
	}
	forms, algorithms, seen := map[kind]int{}, map[string]bool{}, map[[sha256.Size]byte]bool{}
	taken := map[int]bool{}
	for _, anew := range [2]bool{true, false} {
		for i, v := range ranked {
			k := kind{v.Program, v.Sided, v.Lanes > 1}
			if taken[i] || anew && algorithms[v.Program] || forms[k] == mostAlike {
				continue
			}
			if len(taken) >= mostOverNodes && !w.own.Has(v.Program) {
				continue
			}
			f, err := w.variant(v, call)
			if err != nil {
				continue
			}
			if what := tuning.Contents(f.Program); !seen[what] {
				seen[what], taken[i], algorithms[v.Program] = true, true, true
				forms[k]++
			}
		}
	}
	for i, v := range ranked {
		if taken[i] {
			list = append(list, v)
		}
	}
	return list
}

// fastest measures candidates. Over nodes it then measures the fastest in other lanes, with other copies of scratch.
func (w *benchWorld) fastest(ctx context.Context, search *bench.Search, c *bench.Call, call choose.Call, from *found) (
	[]bench.Tried, error) {
	tried, err := search.Tune(ctx, c, from.forms)
	if err != nil || w.on == "" || c.Bytes() < choose.LanesFrom {
		return tried, err
	}
	best := tried[0]
	v := best.Choice.Plain()
	if v.Sided != selection.OneSided || v.Protocol != ir.Simple || w.own.Compiled(v.Program) {
		return tried, nil
	}
	wide := map[string]bench.Form{}
	list := []selection.Choice{v}
	for _, lanes := range otherLanes(v.InLanes, devices.SharesCTAs(w.device)) {
		other := v
		other.InLanes = lanes
		list = append(list, other)
	}
	list = w.distinct(call, list)
	for _, v := range list {
		wide[v.Plain().String()] = best.Form
	}
	more, err := w.formsOf(ctx, call, c.Bytes(), wide, list, nil)
	if err != nil {
		return nil, err
	}
	again := *search
	again.Within /= 2
	better, err := again.Tune(ctx, c, more.forms)
	if err != nil && (ctx.Err() != nil || errors.Is(err, exchange.ErrEnd)) {
		return nil, err
	}
	if len(better) == 0 { // all of these failed
		return tried, nil
	}
	return better, nil
}

// distinct leaves out variants whose programs do what one before them does: those of programs without scratch with
// other copies of it, and of programs with too little to do with more lanes.
func (w *benchWorld) distinct(call choose.Call, list []selection.Choice) []selection.Choice {
	seen := map[[sha256.Size]byte]bool{}
	return slices.DeleteFunc(list, func(v selection.Choice) bool {
		f, err := w.variant(v, call)
		if err != nil {
			return false // whoever measures it says why not
		}
		what := tuning.Contents(f.Program)
		before := seen[what]
		seen[what] = true
		return before
	})
}

// otherLanes returns the lanes, and copies of scratch, that are tried beside those of the fastest; and, where replicas
// can share CTAs, those of the fastest with such.
func otherLanes(of selection.InLanes, shared bool) (list []selection.InLanes) {
	for _, lanes := range []int{0, 4, 8, 16} {
		if lanes != of.Lanes {
			list = append(list, selection.InLanes{Lanes: lanes})
		}
	}
	for _, copies := range []int{0, 2, 5, 8} {
		if of.Lanes > 1 && copies != of.Copies {
			list = append(list, selection.InLanes{Lanes: of.Lanes, Copies: copies})
		}
	}
	if of.Lanes > 1 && shared {
		of.Together = ir.MostTogether
		list = append(list, of)
	}
	return list
}

// portWorth are the bytes of a call from which on it is tried whether copies by a port are sooner.
const portWorth = 1 << 20
