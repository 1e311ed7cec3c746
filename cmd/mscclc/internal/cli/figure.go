package cli

import (
	"strings"

	"mscclc/simulate"

	"github.com/spf13/pflag"
)

// ByFlag adds --by, which says by which figure something is.
func ByFlag(flags *pflag.FlagSet, by *string, what string) {
	WordFlag(flags, by, "by", "", simulate.Latency.String(),
		what+" by `TIME`: latency, of one call alone, or interval, of calls one after the other, as nccl-tests measures",
		simulate.FigureNames())
}

// FigureOf returns the figure that --by names.
func FigureOf(by string) (simulate.Figure, error) {
	f, ok := simulate.FigureByName(by)
	if !ok {
		return f, Usagef("--by takes %s, not %q", strings.Join(simulate.FigureNames(), " or "), by)
	}
	return f, nil
}
