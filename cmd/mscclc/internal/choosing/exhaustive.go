package choosing

import "github.com/spf13/pflag"

// ExhaustiveFlag adds --exhaustive. Its help text begins with the text before.
func ExhaustiveFlag(flags *pflag.FlagSet, exhaustive *bool, before string) {
	flags.BoolVar(exhaustive, "exhaustive", false, before+"simulate all programs, and leave out none by its least time")
}
