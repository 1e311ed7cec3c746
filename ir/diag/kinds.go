package diag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kinds gathers diagnostics of which each kind is to stand once, as its first, which says how many more there were. A
// kind is a code and the format of its text.
type Kinds struct{ found []kind }

type kind struct {
	Diagnostic
	format string
	more   int
}

// Add adds d, whose text was made by format.
func (k *Kinds) Add(d Diagnostic, format string) {
	if !k.More(d.Code, format) {
		k.found = append(k.found, kind{d, format, 0})
	}
}

// More reports whether there is one of a kind, and if so that there is one more.
func (k *Kinds) More(code Code, format string) bool {
	i := slices.IndexFunc(k.found, func(f kind) bool { return f.Code == code && f.format == format })
	if i >= 0 {
		k.found[i].more++
	}
	return i >= 0
}

// List gives the first of each kind, in the order in which they came.
func (k *Kinds) List() List {
	var list List
	for _, f := range k.found {
		if f.more > 0 {
			f.Text += fmt.Sprintf(" (and %d more like it)", f.more)
		}
		list = append(list, f.Diagnostic)
	}
	return list
}

// Extended adds n to runs of numbers, each from its first to the number after its last. N is larger than all in runs.
func Extended(runs [][2]int, n int) [][2]int {
	if last := len(runs) - 1; last >= 0 && runs[last][1] == n {
		runs[last][1]++
		return runs
	}
	return append(runs, [2]int{n, n + 1})
}

// RanksText names ranks, given as runs from the first to the number after the last: "rank 3", "ranks 0, 2 and 5 to 7".
func RanksText(runs [][2]int) string {
	text := RunsText(runs, func(run [2]int) string {
		if run[1]-run[0] == 1 {
			return strconv.Itoa(run[0])
		}
		return fmt.Sprintf("%d to %d", run[0], run[1]-1)
	})
	if len(runs) == 1 && runs[0][1]-runs[0][0] == 1 {
		return "rank " + text
	}
	return "ranks " + text
}

// runsShown bounds the runs that RunsText names.
const runsShown = 6

// RunsText joins the texts of the first runs, with "and" before the last, and counts the numbers in the others.
func RunsText(runs [][2]int, text func([2]int) string) string {
	var items []string
	for _, run := range runs[:min(len(runs), runsShown)] {
		items = append(items, text(run))
	}
	more := 0
	for _, run := range runs[len(items):] {
		more += run[1] - run[0]
	}
	if more > 0 {
		items = append(items, fmt.Sprintf("%d more", more))
	}
	return joined(items)
}

// joined joins items with commas, and with "and" before the last.
func joined(items []string) string {
	last := len(items) - 1
	if last <= 0 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}
