package bundlecmd

import (
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/epilogue"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// checkThen reports what is wrong with the flags --then.
func (f *bundleFlags) checkThen() error {
	for _, text := range f.then {
		if _, err := epilogue.Parse(text); err != nil || text == "" {
			return cli.Usagef("--then %q: %v", text, err).Hint(`--then "residual, rms_norm(eps)"`)
		}
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
