package diag

import (
	"cmp"
	"fmt"
	"math"
)

// mostLimits are the largest values of limits. Positions in files and chunks have 31 bits, operations and instructions
// are counted in 32, and nesting uses the stack.
var mostLimits = map[string]int64{
	"ops": 1 << 30, "cells": 1 << 30, "insts": 1 << 30, "moves": 1 << 40, "file": 2047 << 20, "files": 1 << 20,
	"list": 1 << 30, "nesting": 10 << 10, "string": 1 << 20, "parts": 1 << 20,
}

// MostLimit returns the largest value that --limit takes for a name.
func MostLimit(name string) int64 { return cmp.Or(mostLimits[name], 1<<50) }

// LimitHint returns the hint of a message about a limit that --limit raises, where need is known to be enough: the flag
// with a value of at least need. Where no value is enough it says which is the largest.
func LimitHint(name string, need int64) string {
	if most := MostLimit(name); need > most {
		return fmt.Sprintf("--limit %s=%s is the largest value, and %d would be needed: make the input smaller", name,
			LimitText(most), need)
	}
	return fmt.Sprintf("--limit %s=%s is enough", name, LimitText(max(need, 1)))
}

// MoreHint returns the hint of a message about a limit of which it is not known how much is enough. It names 16 times
// what was reached when the input was refused, and at least the limit that is usual without the flag.
func MoreHint(name string, reached, usual int64) string {
	most := MostLimit(name)
	if reached >= most {
		return fmt.Sprintf("--limit %s=%s is the largest value: make the input smaller", name, LimitText(most))
	}
	return fmt.Sprintf("--limit %s=%s allows more", name, LimitText(min(max(AtMost(16, reached), usual), most)))
}

// LimitText returns a number of at least n, as --limit takes it: with a suffix, K, M or G, where that makes it short.
func LimitText(n int64) string {
	for _, unit := range []struct {
		suffix string
		size   int64
	}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n%unit.size == 0 && n > 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.suffix)
		}
		if n >= 8*unit.size {
			return fmt.Sprintf("%d%s", (n+unit.size-1)/unit.size, unit.suffix)
		}
	}
	return fmt.Sprint(n)
}

// AtMost returns a*b, or the largest int64 where that is more; both are at least 0.
func AtMost(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
