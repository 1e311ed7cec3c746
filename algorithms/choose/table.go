package choose

import (
	"embed"
	"sync"

	"mscclc/selection"
)

// EntryFor finds the entry of a table for calls on a device, of their placement: of their nodes where there is one,
// else of as many nodes, and of the same element where there is one, else of any. It may be nil.
func EntryFor(t *selection.Table, device string, c Call, element int) *selection.Entry {
	if t == nil {
		return nil
	}
	var best *selection.Entry
	most := -1
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.When != "" || e.Device != device || e.Ranks != c.Ranks || max(e.Nodes, 1) != max(c.Nodes, 1) ||
			e.Collective != c.Kind.String() || e.Inplace != c.Inplace || e.On != "" && e.On != c.unlike() ||
			e.Element != 0 && e.Element != element {
			continue
		}
		fits := 0
		if e.On == c.unlike() {
			fits += 2
		}
		if e.Element != 0 {
			fits++
		}
		if fits > most {
			best, most = e, fits
		}
	}
	return best
}

// Entry returns an entry without rules for calls on a device, as EntryFor finds it, for elements of any size.
func (c Call) Entry(device string) selection.Entry {
	e := selection.Entry{Device: device, Ranks: c.Ranks, Collective: c.Kind.String(), Inplace: c.Inplace}
	if c.Nodes > 1 {
		e.Nodes, e.On = c.Nodes, c.unlike()
	}
	return e
}

//go:embed tables/*.table
var tables embed.FS

// DefaultTable is what was measured on the devices that we have had.
var DefaultTable = sync.OnceValue(func() *selection.Table {
	all := &selection.Table{}
	for _, t := range selection.BuiltIn(tables, ReadTable) {
		all = all.With(t)
	}
	return all
})
