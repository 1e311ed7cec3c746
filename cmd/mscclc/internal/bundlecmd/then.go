package bundlecmd

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/abi"
	"mscclc/ir/epilogue"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// checkThen reports what is wrong with the flags --then, and makes equal lists one.
func (f *bundleFlags) checkThen(spec *bundle.Spec) error {
	var texts []string
	for _, text := range f.then {
		l, err := epilogue.Parse(text)
		hint := `--then "residual, rms_norm(eps)"`
		if w := new(epilogue.Wrong); errors.As(err, &w) {
			return cli.Usagef("--then %q: %s", text, w.Text).Hint("%s", cmp.Or(w.Hint, hint))
		}
		switch {
		case err != nil:
			return cli.Usagef("--then %q: %v", text, err).Hint("%s", hint)
		case len(l) == 0:
			return cli.Usagef("--then %q lacks its stages", text).Hint("%s", hint)
		case !slices.Contains(texts, l.String()):
			texts = append(texts, l.String())
		}
	}
	if f.then = texts; len(texts) > 0 && !slices.ContainsFunc(spec.DTypes, abi.FinishesRows) {
		return cli.Usagef("--then finishes rows of f16, bf16 or f32, and --dtype has none of these (%s)", f.dtypes).
			Hint("--dtype bf16")
	}
	return nil
}

// rowCTAs returns how many CTAs a launch that finishes rows has at most: --ctas, or else as many as a GPU of the device
// holds at once, as far as that is known. Between these calls, a job's GPU has nothing else to do.
func (f *bundleFlags) rowCTAs() int {
	costs, err := devices.CostsOf(topology.DeviceOf(strings.ToLower(f.device)))
	if f.ctasGiven || err != nil || costs.OneSided.Resident < float64(f.ctas) {
		return f.ctas
	}
	ctas := f.ctas
	for 2*ctas <= int(costs.OneSided.Resident) {
		ctas *= 2
	}
	return ctas
}

// rows returns the rules that --then asks for, among n ranks.
func (f *bundleFlags) rows(n int) (list []bundle.Rule) {
	for _, text := range f.then {
		then, _ := epilogue.Parse(text) // which checkThen has read
		list = append(list, bundle.RowsLadder(n, f.rowCTAs(), then)...)
	}
	return list
}
