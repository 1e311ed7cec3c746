package choosing

import (
	"math"
	"slices"
	"strconv"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/topology"

	"github.com/spf13/pflag"
)

// A Part says what is left of a topology, and which of its GPUs take part.
type Part struct {
	Without []string // links, classes and ranks that are down, as topology.Without takes them
	Ranks   string   // the GPUs that take part, as 0-3,8-11; "" is all that are not down
	NoRelay bool     // GPUs that do not take part do not forward
}

// Add adds the flags of a Part. Their help texts begin with the text before.
func (p *Part) Add(flags *pflag.FlagSet, before string) {
	flags.StringSliceVar(&p.Without, "without", nil, before+"`LINK`, CLASS or RANK is down, or each of several")
	flags.StringVar(&p.Ranks, "ranks", "", before+"the GPUs of `LIST` take part, as 0-3,8-11")
	flags.BoolVar(&p.NoRelay, "no-relay", false, before+"GPUs that do not take part do not forward")
}

// Of returns a topology without what is down, and the GPUs that take part, indexed by rank.
func (p *Part) Of(t *topology.Topology) (less *topology.Topology, gpus []int32, err error) {
	if less, err = t.Without(p.Without); err != nil {
		return nil, nil, err
	}
	if p.Ranks != "" {
		list, err := listed(p.Ranks)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range list {
			gpus = append(gpus, int32(r))
		}
		return less, gpus, nil
	}
	for g := range t.Ranks() {
		if !slices.Contains(p.Without, strconv.Itoa(g)) {
			gpus = append(gpus, int32(g))
		}
	}
	return less, gpus, nil
}

// mostListed is how many ranks --ranks may name.
const mostListed = 1 << 17

// listed reads numbers and ranges of them: 0-3,8.
func listed(text string) ([]int, error) {
	list, bad, ok := cli.Numbers(text, 0, math.MaxInt32, mostListed)
	if !ok {
		return nil, cli.Usagef("--ranks %q: %q is no rank and no range of ranks", diag.Printable(text), diag.Printable(bad)).
			Hint("ranks are written so: 0-3,8-11")
	}
	return list, nil
}

// RootAmong returns the rank of a root, which is a GPU of the topology. A root below 0 is none, and the first rank is
// the root. It fails where the root takes no part.
func RootAmong(gpus []int32, root int) (int, error) {
	if root < 0 {
		return 0, nil
	}
	rank := slices.IndexFunc(gpus, func(g int32) bool { return int(g) == root })
	if rank < 0 {
		return 0, cli.Usagef("root %d takes no part", root)
	}
	return rank, nil
}
