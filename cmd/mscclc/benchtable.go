package main

import (
	"fmt"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/executor"
	"mscclc/ir/diag"
)

// checkTable refuses rules of --table that the calls which are to be measured cannot follow, and
// says where the table has nothing for them.
func (w *benchWorld) checkTable(a *app) error {
	if w.chosenBy == nil {
		return nil
	}
	var found diag.List
	used, threads := false, false
	for _, inplace := range [2]bool{false, true} {
		if w.place == "in" && !inplace || w.place == "out" && inplace {
			continue
		}
		call := w.call(inplace)
		e := w.chosenBy.Entry(w.site.Name(), call, w.dtype.Size())
		if e == nil || !e.Same(w.table.Entry(w.site.Name(), call, w.dtype.Size())) {
			continue
		}
		used = true
		if e.Inplace == inplace { // else it is for want of a better one, and the model is asked after it
			found = append(found, w.chooser.Unfit(e, call, w.sizes)...)
		}
		for i := range e.Rules {
			found = append(found, w.tooWide(&e.Rules[i])...)
		}
		threads = threads || slices.ContainsFunc(e.Rules, func(r choose.Rule) bool { return r.Threads > 0 })
	}
	switch {
	case len(found) > 0:
		return found.Sort()
	case a.json || !w.first:
	case !used:
		a.say("%s: note: no entry is for %v of %s on %q: the program is chosen without it%s", diag.Printable(w.benchFlags.table), w.coll.Kind, count(w.coll.Ranks, "rank"), w.site.Name(), w.otherNodes())
	case threads && gpuTable[w.device] == nil:
		a.say("%s: note: \"threads\" are ignored: only a GPU's blocks have some", diag.Printable(w.benchFlags.table))
	}
	return nil
}

// otherNodes says which --nodes the table would have entries for.
func (w *benchWorld) otherNodes() string {
	for _, e := range w.chosenBy.Entries {
		if e.Device == w.site.Name() && e.Ranks == w.coll.Ranks && e.Collective == w.coll.Kind.String() && max(e.Nodes, 1) != w.nodes {
			return fmt.Sprintf(" (there is one with --nodes %d)", max(e.Nodes, 1))
		}
	}
	return ""
}

// tooWide is what is wrong with a rule that has more columns than the device.
func (w *benchWorld) tooWide(r *choose.Rule) diag.List {
	if gpuTable[w.device] != nil || r.Columns <= executor.DefaultMaxColumns {
		return nil
	}
	return diag.List{diag.New(diag.Limit, r.At(), "\"columns\" of the rule is %d, and %s has %d", r.Columns, w.site.Name(), executor.DefaultMaxColumns)}
}
