package main

import (
	"strconv"
	"strings"

	"mscclc/lang"
	"mscclc/passes"
)

// instLimit bounds the instructions that passes make.
const instLimit = "insts"

// limits are the bounds that --limit raises, by the names that messages use.
type limits struct{ set []string }

func limitNames() []string { return append(lang.LimitNames(), instLimit) }

// apply sets what --limit says.
func (l *limits) apply(of *lang.Limits, p *passes.Options) error {
	for _, s := range l.set {
		name, value, _ := strings.Cut(s, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return usagef("--limit takes NAME=N with N from 1, not %q; there are %s", s, strings.Join(limitNames(), ", "))
		}
		if name == instLimit {
			p.MaxInsts = int(n)
		} else if err := of.Set(name, n); err != nil {
			return usagef("%v", err)
		}
	}
	return nil
}
