package benchcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// checkTable refuses rules of --table that the calls which are to be measured cannot follow, and
// says where the table has nothing for them.
func (w *benchWorld) checkTable(a *cli.App) error {
	if w.chosenBy == nil {
		return nil
	}
	var found diag.List
	used, threads := false, false
	var without []string // calls that the table has nothing for, where it has something for others
	for _, inplace := range [2]bool{false, true} {
		if !w.measures(inplace) {
			continue
		}
		call := w.call(inplace)
		e := choose.EntryFor(w.chosenBy, w.site.Name(), call, w.dtype.Size())
		if e == nil || !e.Same(choose.EntryFor(w.table, w.site.Name(), call, w.dtype.Size())) {
			if _, _, err := w.chooser.Choose(call, w.sizes[0], w.dtype.Size()); !errors.Is(err, choose.ErrNotInPlace) {
				without = append(without, "calls "+choosing.PlaceName(inplace))
			}
			continue
		}
		used = true
		found = append(found, w.chooser.Unfit(e, call, w.sizes)...)
		if end := e.End(); end > 0 && end < w.sizes[len(w.sizes)-1] {
			without = append(without, fmt.Sprintf("calls of more than %d bytes %s", end, choosing.PlaceName(inplace)))
		}
		for i := range e.Rules {
			found = append(found, w.tooWide(&e.Rules[i])...)
		}
		threads = threads || slices.ContainsFunc(e.Rules, func(r selection.Rule) bool { return r.Threads > 0 })
	}
	if len(found) > 0 {
		return found.Sort()
	}
	if !w.first {
		return nil
	}
	note := func(format string, args ...any) {
		a.Note(w.benchFlags.table, format, args...)
	}
	if !used {
		note("no entry is for %v of %s on %q: the program is chosen without it%s", w.coll.Kind, diag.Counted(w.coll.Ranks, "rank"),
			w.site.Name(), choosing.OtherNodes(w.chosenBy, w.site.Name(), w.call(false)))
	} else if len(without) > 0 {
		note("it has nothing for %s: their program is chosen without it", strings.Join(without, ", and for "))
	}
	if threads && devices.GPUs[w.device] == nil {
		note("\"threads\" are ignored: only a GPU's blocks have some")
	}
	return nil
}

// tooWide returns what is wrong with a rule that has more replicas than the device.
func (w *benchWorld) tooWide(r *selection.Rule) diag.List {
	if devices.GPUs[w.device] != nil || r.Replicas <= executor.DefaultMaxReplicas {
		return nil
	}
	return diag.List{diag.New(diag.Limit, r.Span, "\"replicas\" of the rule is %d, and %s has %d", r.Replicas, w.site.Name(),
		executor.DefaultMaxReplicas)}
}
