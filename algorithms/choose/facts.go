package choose

import (
	"slices"
	"strings"

	"mscclc/lang/syntax"
)

// This file says what an algorithm's file says of itself, without being expanded.

// A facts is what the choice needs to know of a file. The zero value is that of a file that has syntax errors.
type facts struct {
	flat     bool // takes a number of ranks
	nodal    bool // takes numbers of nodes and GPUs
	rooted   bool // takes a root
	hinted   bool // has hints that only the one-sided lowering follows
	switched bool // uses the switch, which needs multicast addresses of its caller
	differs  bool // its header says that ranks may end with different bits
	ringed   bool // takes orders of rings
	rowed    bool // takes a number of rows of a torus
	square   bool // which is otherwise as near to a square as ranks allow, and else 1
}

// rows returns how many rows a given number of ranks have where nothing sets them.
func (is facts) rows(ranks int) int {
	rows := 1
	for d := 2; is.square && d*d <= ranks; d++ {
		if ranks%d == 0 {
			rows = d
		}
	}
	return rows
}

// factsOf returns the facts of a file.
func factsOf(f *syntax.File) facts {
	info := f.Info()
	has := func(name, value string) bool {
		return slices.Contains(info.Named, syntax.Named{Name: name, Value: value})
	}
	return facts{
		flat: info.Has("ranks"), nodal: info.Has("nodes") && info.Has("gpus"), rooted: info.Has("root"),
		hinted:   has("pull", "true") || has("via", "switch") || has("via", "port"),
		switched: has("via", "switch"),
		ringed:   info.Has(ringParams[0]),
		rowed:    info.Has("rows"),
		square:   slices.Contains(info.Params, syntax.ParamInfo{Name: "rows", Default: "0"}),
		differs:  strings.HasPrefix(info.Header("Bits"), "not the same"),
	}
}

// factsInCatalog returns the facts of a program of the catalog. Commands ask for those of all programs before they do
// anything, so these are a table (facts_gen.go), which TestFactsOfCatalog makes of the files.
func factsInCatalog(program string) facts {
	program, _, _ = Unshaped(program)
	return catalogFacts[program]
}
