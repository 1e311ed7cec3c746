package benchcmd

import (
	"strings"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor/data"
	"mscclc/ir/diag"
)

// This file says which types, reductions, roots and sizes are measured.

// A benchCase is what rows have in common: their type, reduction and root.
type benchCase struct {
	dtype data.DType
	redop data.RedOp
	root  int
}

// parseTypes reads -d and --op, of which all is every one.
func (p *benchPlan) parseTypes() error {
	p.dtypes, p.redops = nil, nil
	if strings.EqualFold(p.benchFlags.dtype, "all") {
		for t := range data.DType(data.NumDTypes) {
			p.dtypes = append(p.dtypes, t)
		}
	} else if t, ok := data.DTypeByName(p.benchFlags.dtype); ok {
		p.dtypes = append(p.dtypes, t)
	} else {
		return cli.Unknown("type", p.benchFlags.dtype, cli.DtypeNames())
	}
	if strings.EqualFold(p.benchFlags.redop, "all") {
		for op := range data.RedOp(len(data.RedOps)) {
			p.redops = append(p.redops, op)
		}
	} else if op, ok := data.RedOpByName(p.benchFlags.redop); ok {
		p.redops = append(p.redops, op)
	} else {
		return cli.Unknown("reduction", p.benchFlags.redop, data.RedOps[:])
	}
	several := len(p.dtypes) > 1 || len(p.redops) > 1 || p.allRoots
	if several && (p.task != toMeasure || p.online > 0 || p.plot != "" || p.rules != "") {
		return cli.Usagef("bench measures all types, reductions and roots, without --online, --rules and --plot")
	}
	p.dtype, p.redop = p.dtypes[0], p.redops[0]
	return nil
}

// cases returns what is measured of w's collective, in the order of nccl-tests.
func (w *benchWorld) cases() (list []benchCase) {
	roots, redops := []int{w.coll.Root}, w.redops
	if w.allRoots {
		roots = nil
		for r := range w.coll.Ranks {
			roots = append(roots, r)
		}
	}
	if !w.coll.Reduces() {
		redops = redops[:1]
	}
	for _, t := range w.dtypes {
		for _, op := range redops {
			for _, root := range roots {
				list = append(list, benchCase{t, op, root})
			}
		}
	}
	return list
}

// use makes c what is measured.
func (w *benchWorld) use(c benchCase) {
	if w.roots != nil {
		w.compiled = w.roots[c.root]
	}
	coll := *w.coll
	coll.Root = c.root
	w.coll, w.dtype, w.redop = &coll, c.dtype, c.redop
}

// sizesOf returns how -b, -e, -f and -i step.
func (f *benchFlags) sizesOf(first, last int64) (sizes []int64, step int64, err error) {
	if f.step != "" {
		if step, err = cli.ParseBytes(f.step); err != nil {
			return nil, 0, err
		}
	}
	switch {
	case f.factor > 1 && (step == 0 || f.OneGiven("factor") != ""):
		return bench.Sizes(first, last, f.factor), 0, nil
	case step == 0:
		step = 1 << 20 // nccl-tests'
	}
	if n := (last-first)/step + 1; n > mostSteps {
		return nil, 0, cli.Usagef("-b, -e and -i make %s: there may be %d", diag.Counted(int(n), "size"), mostSteps)
	}
	return bench.Steps(first, last, step), step, nil
}

// mostSteps bounds the sizes that -i makes.
const mostSteps = 100_000

// smallest has bench measure one size: -e alone may not reach it, as sizes are steps from -b on.
const smallest = "-b %[1]d -e %[1]d"

// measure is how many elements calls of a type have.
func (w *benchWorld) measure(t data.DType) sizing.Measure {
	return sizing.Measure{Coll: w.coll, DType: t, Unit: w.multiple, Row: w.row}
}

// withData returns 0, where it is the first of the sizes, and the sizes of which calls have data.
func (w *benchWorld) withData(t data.DType) ([]int64, error) {
	if w.sizes[0] > 0 {
		return sizing.WithData(w.sizes, w.measure(t), smallest)
	}
	kept := []int64{0}
	if len(w.sizes) > 1 {
		with, err := sizing.WithData(w.sizes[1:], w.measure(t), smallest)
		if err == nil {
			kept = append(kept, with...)
		}
	}
	return kept, nil
}
