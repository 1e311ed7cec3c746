package cli

import (
	"fmt"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"

	"github.com/spf13/pflag"
)

// A parameterFlag is a flag of the commands that compile which sets a parameter, as -p NAME=N does.
type parameterFlag struct {
	setting *string
	name    string
	least   int
	what    string // N is, in messages
}

// RanksFlag returns --ranks N of the commands that compile for one number of ranks.
func RanksFlag(setting *string) pflag.Value {
	return parameterFlag{setting, "ranks", 1, "number of ranks"}
}

// AddRoot defines --root N of the commands that compile.
func AddRoot(f *pflag.FlagSet, setting *string) {
	f.Var(parameterFlag{setting, "root", 0, "rank"}, "root",
		"have rank `N` be the root: -p root=N, of collectives and algorithms that have one")
}

// Root returns the rank that AddRoot's flag has set, and whether it was given.
func Root(setting string) (root int, given bool) {
	root, err := strconv.Atoi(strings.TrimPrefix(setting, "root="))
	return root, err == nil
}

// Numbers reads numbers from least to most, and ranges of them, as 2-17,64: count at most in all. It is not ok where a
// part is none of these, and bad is that part.
func Numbers(text string, least, most, count int) (list []int, bad string, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		first, err1 := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || first < least || last < first || last > most || last-first >= count-len(list) {
			return nil, part, false
		}
		for n := first; n <= last; n++ {
			list = append(list, n)
		}
	}
	return list, "", true
}

// String implements pflag.Value.
func (parameterFlag) String() string { return "" }

// Type implements pflag.Value.
func (parameterFlag) Type() string { return "int" }

// Set implements pflag.Value.
func (f parameterFlag) Set(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < f.least {
		return fmt.Errorf("%q is not a %s", s, f.what)
	}
	*f.setting = f.name + "=" + s
	return nil
}

// CheckRoot returns the error of a root that a collective of a given number of ranks cannot have, or nil. Given says
// that one is named.
func CheckRoot(kind ir.Kind, ranks, root int, given bool) error {
	switch {
	case given && !kind.Rooted():
		return Usagef("%v has no root", kind)
	case root >= ranks:
		return Usagef("root %d is none of %s: they are 0 to %d", root, diag.Counted(ranks, "rank"), ranks-1)
	}
	return nil
}
