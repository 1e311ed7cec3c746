package choosing

import (
	"fmt"
	"math"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/selection"
)

// ReadTables returns what variants are chosen by: what --table has, before what is built in. own is nil without
// --table. The table may name programs of the user. The tables that are built in were measured without these, and do
// not count beside some.
func ReadTables(table string, userPrograms choose.UserPrograms) (all, own *selection.Table, err error) {
	all = choose.DefaultTable()
	if len(userPrograms) > 0 {
		all = nil
	}
	if table == "" {
		return all, nil, nil
	}
	file, err := cli.OpenOf("--table", table)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if own, err = userPrograms.ReadTable(table, file); err != nil {
		return nil, nil, err
	}
	if all == nil {
		return own, own, nil
	}
	return all.With(own), own, nil
}

// Hundredths rounds a time for a table.
func Hundredths(x float64) float64 { return math.Round(x*100) / 100 }

// OtherNodes says, for the end of a note, which --nodes t has an entry for that is otherwise for calls like c on a
// device, or nothing.
func OtherNodes(t *selection.Table, device string, c choose.Call) string {
	for _, e := range t.Entries {
		if e.Device == device && e.Ranks == c.Ranks && e.Collective == c.Kind.String() && max(e.Nodes, 1) != max(c.Nodes, 1) {
			return fmt.Sprintf(" (there is one with --nodes %d)", max(e.Nodes, 1))
		}
	}
	return ""
}
