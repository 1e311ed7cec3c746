package simulate

import (
	"slices"

	"mscclc/ir/either"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// A Figure is one of the two times of a call.
type Figure uint8

const (
	// Latency is the time of a call alone: from its begin on all ranks to its end on the last.
	Latency Figure = iota

	// Interval is the time from the end of a call to the end of the next, where calls follow each other: a rank begins
	// the next call when it has ended this one, while other ranks are still at it. Benchmarks that launch many calls
	// and divide measure it.
	Interval
)

var figureNames = [...]string{Latency: "latency", Interval: "interval"}

// FigureNames returns the names of the figures, in their order.
func FigureNames() []string { return figureNames[:] }

func (f Figure) String() string { return figureNames[f] }

// FigureByName finds a figure.
func FigureByName(name string) (f Figure, ok bool) {
	i := slices.Index(figureNames[:], name)
	return Figure(max(i, 0)), i >= 0
}

// Launches that are simulated at most, and passes of all of them.
const (
	mostLaunches  = 8
	roughLaunches = 4
	launchPasses  = 32
)

// launches returns how many launches are simulated, one after the other: one for the latency, and for the interval as
// repeats has it.
func (s *simulation) launches(rough bool) int64 {
	if s.call.Figure == Latency {
		return 1
	}
	return repeats(s.program, s.Simulated, rough)
}

// repeats returns how many launches of a given number of passes an interval is found from: two where there is time, and
// more where a launch has few passes; of a program so large that there is time for one only, one, which shows no
// interval.
func repeats(p *either.Program, passes int64, rough bool) int64 {
	most := int64(mostLaunches)
	if rough {
		most = roughLaunches
	}
	return max(1, min(most, max(2, launchPasses/passes), mostEvents/int64(max(len(p.Steps), 1))/passes))
}

// Both returns the results of Run for a call's two figures. interval is nil where it is not known: of a program that is
// too large to be simulated twice.
func Both(p *either.Program, t *topology.Topology, c *devices.Costs, call Call) (latency, interval *Result, err error) {
	call.Figure = Latency
	if latency, err = Run(p, t, c, call); err != nil {
		return nil, nil, err
	}
	if latency.Passes > 0 && repeats(p, latency.Simulated, call.Rough) < 2 {
		return latency, nil, nil
	}
	call.Figure, call.Trace = Interval, false
	interval, err = Run(p, t, c, call)
	return latency, interval, err
}
