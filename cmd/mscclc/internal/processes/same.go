package processes

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/kernels"

	"github.com/spf13/pflag"
)

// An Argument is an argument of a command, as its user names it, and the value that this process has.
type Argument struct{ Name, Value string }

// own are the flags that processes may have different values of.
var own = map[string]bool{"procs": true, "output": true, "plot": true, "nccl": true, "table": true, "rules": true,
	"check": true, "output-file": true, "json": true, "help": true, "timeout": true}

// Arguments returns what all processes must have alike of a command's arguments: its words, and its flags. Sizes and
// names of types that are written differently are equal.
func Arguments(words []string, flags *pflag.FlagSet) []Argument {
	var list []Argument
	for i, w := range words {
		name := "the argument"
		if i > 0 {
			name = "a file beside it"
		}
		list = append(list, Argument{name, filepath.Base(w)})
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if own[f.Name] {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		list = append(list, Argument{name, f.Value.String()})
	})
	return list
}

// A stand is what a process compares with the others before anything else.
type stand struct {
	Build     string
	Arguments []Argument
}

// Build names this build of mscclc: by its version, and by the sources of the kernel.
func Build() string {
	hash := kernels.Hash()
	return fmt.Sprintf("%s, kernel %x", cli.Version(), hash[:4])
}

// Same returns an error in all processes if they are not of one build of mscclc, or do not have the same arguments.
func Same(ctx context.Context, x *exchange.Member, arguments []Argument) error {
	stands, err := exchange.Agree(ctx, x, stand{Build(), arguments}, nil)
	if err != nil {
		return devices.Impossible(err)
	}
	return compare(stands)
}

// compare returns how processes differ.
func compare(stands []stand) error {
	all := make([][]Argument, len(stands))
	for i, s := range stands {
		if all[i] = s.Arguments; s.Build != stands[0].Build {
			return devices.Impossible(fmt.Errorf("process 0 is of mscclc %s, and process %d of %s: all processes run the same "+
				"build of mscclc: %w", stands[0].Build, i, s.Build, executor.ErrNoDevice))
		}
	}
	for i, other := range all {
		for k := range max(len(all[0]), len(other)) {
			a, b := argument(all[0], k), argument(other, k)
			if a.Name == b.Name && meaning(a.Value) == meaning(b.Value) {
				continue
			}
			return cli.Usagef("all processes take the same arguments: %s is %s in process 0 and %s in process %d",
				cmp.Or(a.Name, b.Name), cmp.Or(a.Value, "not given"), cmp.Or(b.Value, "not given"), i)
		}
	}
	return nil
}

// argument returns the argument at a place, or an empty one after the last.
func argument(list []Argument, at int) Argument {
	if at < len(list) {
		return list[at]
	}
	return Argument{}
}

// meaning returns what a value that can be written in several ways stands for: bytes or a type.
func meaning(value string) any {
	if n, err := cli.ParseBytes(value); err == nil {
		return n
	}
	if t, ok := data.DTypeByName(value); ok {
		return t
	}
	return value
}
