package cli

import (
	"fmt"
	"os"

	"mscclc/lang"
	"mscclc/lang/syntax"

	"github.com/spf13/pflag"
)

// A Reading holds the flags of every command that reads algorithms.
type Reading struct {
	Limits    Limits
	libraries folders
}

// Flags adds the flags, of which --limit takes some names.
func (r *Reading) Flags(f *pflag.FlagSet, names []string) {
	f.Var(&r.libraries, "import-path", "search `FOLDER` too for libraries that a file imports, "+
		"and import only from such folders (repeatable)")
	LimitFlag(f, &r.Limits, names)
}

// Usual reports whether no flag changes how files are read.
func (r *Reading) Usual() bool { return len(r.libraries) == 0 && r.Limits.Lang == (syntax.Limits{}) }

// Imports says how the algorithm in s is expanded: what it imports, and its limits.
func (r *Reading) Imports(s *Source) lang.Options {
	return lang.Options{ImportPath: r.libraries, Limits: r.Limits.Lang,
		Open: func(name string) ([]byte, error) { return s.open(name, r.libraries, r.Limits.file()+1) }}
}

// folders is a flag that names folders, one each time that it is given.
type folders []string

func (f *folders) String() string { return "" }

func (f *folders) Type() string { return "stringArray" }

func (f *folders) Set(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("there is no folder %s", name)
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", name)
	}
	*f = append(*f, name)
	return nil
}
