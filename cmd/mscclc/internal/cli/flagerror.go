package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"mscclc/ir/diag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagError says plainly what is wrong with a flag of cmd, and which flag may be meant.
func FlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	wrong, near := Usagef("%v", err), ""
	switch {
	case errors.As(err, &missing) && cmd.Name() == "select" && missing.GetSpecifiedName() == "ranks":
		near = "the number of ranks is that of --topology: give -t h200:gpus=4, say, in place of --ranks; "
	case errors.As(err, &missing):
		if near = meantFlag(cmd, missing.GetSpecifiedName()); near != "" {
			near = "did you mean " + near + "?; "
		}
	case errors.As(err, &invalid):
		name := "--" + invalid.GetFlag().Name
		if short := invalid.GetFlag().Shorthand; short != "" { // which of them was written is not known here
			name = "-" + short + " (" + name + ")"
		}
		wrong = Usagef("%s%s", name, refusedValue(invalid))
	}
	return wrong.Hint("%ssee %s --help", near, cmd.CommandPath())
}

// EmptyFlag returns the error of a flag of cmd that is given without a value, such as -o "$FILE" of a variable that is
// not set.
func EmptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if s := f.Value.String(); f.Value.Type() == "string" && s == "" || f.Value.Type() == "stringSlice" && s == "[]" {
			err = Usagef("the value of --%s is empty", f.Name).Hint("give one, or leave --%s out", f.Name)
		}
	})
	return err
}

// From returns the error of a flag whose value is below least, or nil.
func From[T int | int64 | time.Duration](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return Usagef("--%s takes %v or more, not %v", flag, least, value)
}

// UpTo returns the error of a flag whose value is above most, or nil.
func UpTo(flag string, value, most int) error {
	if value <= most {
		return nil
	}
	return Usagef("--%s takes a number up to %d, not %d", flag, most, value)
}

// refusedValue says, after the name of a flag, which values it takes and which one was given.
func refusedValue(err *pflag.InvalidValueError) string {
	var number *strconv.NumError
	isNumber, takes := errors.As(err, &number), "a number"
	switch {
	case err.GetFlag().Value.Type() == "duration":
		takes = "a time with its unit, as in 10s"
	case !isNumber:
		return ": " + err.Unwrap().Error()
	case errors.Is(err, strconv.ErrRange):
		takes = "a smaller number"
	case number.Func == "ParseBool":
		takes = "true or false"
	case number.Func == "ParseInt" || number.Func == "Atoi":
		takes = "a whole number"
	}
	return fmt.Sprintf(" takes %s, not %q", takes, err.GetValue())
}

// alike has flags for one thing, under the names that they have in some commands or in other tools.
var alike = [][]string{
	{"bytes", "begin", "b", "size", "sizes", "minbytes"},
	{"ranks", "nranks", "ngpus", "gpus", "np", "g", "topology"},
	{"iters", "n"},
	{"topology", "machine", "t"},
	{"dtype", "datatype", "type", "d"},
	{"output", "out", "o"},
}

// meantFlag returns the flag of cmd that name is a slip of, or that another tool calls so, or "".
func meantFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, set := range alike {
		if i := slices.IndexFunc(set, func(s string) bool { return slices.Contains(names, s) }); i >= 0 &&
			slices.Contains(set, name) {
			return "--" + set[i]
		}
	}
	if near := diag.Nearest(name, names); len(name) > 1 && near != "" {
		return "--" + near
	}
	return ""
}
