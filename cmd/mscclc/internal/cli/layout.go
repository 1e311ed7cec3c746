package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table lays out rows whose cells are separated by tabs.
func Table(rows ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

// Indent moves the lines of s four to the right.
func Indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
