package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file knows what people write for what the command calls otherwise.

// A word is the value of a flag that is one of a few names, in capitals or not. The command takes the others too, which
// other tools have for the same.
type word struct {
	value  *string
	names  []string
	others []string
}

// wordFlag defines a flag of one of a few names, with a letter for short or "". Another value is left as it is for the
// command to refuse.
func wordFlag(f *pflag.FlagSet, value *string, name, short, preset, usage string, names []string) {
	*value = preset
	f.VarP(word{value, names, nil}, name, short, usage)
}

// dtypeFlag defines --dtype, with a letter for short or "".
func dtypeFlag(f *pflag.FlagSet, value *string, short, preset string) {
	*value = preset
	f.VarP(word{value, dtypeNames(), data.OtherDTypes()}, "dtype", short, "elements are of type `T`: "+list(dtypeNames()))
}

func (w word) String() string { return *w.value }

func (w word) Type() string { return "string" }

func (w word) Set(s string) error {
	*w.value = s
	if name, ok := diag.Spelled(s, w.names); ok {
		*w.value = name
	}
	return nil
}

// A ranksFlag is --ranks N of the commands that compile for one number of ranks: it sets a parameter, as -p ranks=N
// does.
type ranksFlag struct{ setting *string }

func (ranksFlag) String() string { return "" }

func (ranksFlag) Type() string { return "int" }

func (f ranksFlag) Set(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of ranks", s)
	}
	*f.setting = "ranks=" + s
	return nil
}

// collective returns the collective that arg stands for, which is arg itself where it is none: all_reduce and
// AllReduce are allreduce, unless there is a file of that name.
func collective(arg string) string {
	if exists(arg) {
		return arg
	}
	if name := plainCollective(arg); choose.IsCollective(name) {
		return name
	}
	return arg
}

// plainCollective returns the name of a collective as mscclc writes it.
func plainCollective(arg string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(arg))
}

// exists reports whether there is a file or a folder of a name.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// didYouMean is the hint of a usage error about a word that is none of names: a near one, or otherwise.
func didYouMean(arg string, names []string, otherwise string) string {
	if near := diag.Meant(arg, names); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// unknown is the usage error about a word that is none of the names of what it should be, such as a type.
func unknown(what, word string, names []string) error {
	near := didYouMean(word, names, "")
	if near != "" {
		near += "; "
	}
	return usagef("%q is not a %s", word, what).hint("%sthere are %s", near, list(names))
}

// meantRun is the hint of a usage error about a word that is no command, and perhaps a program to be run.
func meantRun(arg string) string {
	if name := collective(arg); exists(arg) || len(algorithmsOf(name)) > 0 || slices.Contains(catalogPrograms(), name) {
		return "did you mean mscclc run " + arg + "?"
	}
	return "see mscclc --help"
}

// commandNames are the commands that a person may mean.
func commandNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// catalogPrograms are the algorithms of the catalog, without its libraries.
func catalogPrograms() (names []string) {
	for _, name := range algorithms.Names() {
		if text, err := algorithms.Open(name); err == nil && strings.Contains(string(text), "\nalgorithm ") {
			names = append(names, name)
		}
	}
	return names
}

// unknownTarget is the usage error about a word that is no target.
func unknownTarget(word string) error {
	wrong, near := fmt.Sprintf("%q is not a target", word), didYouMean(word, targetNames(), "")
	if strings.EqualFold(word, "nccl") {
		wrong, near = wrong+": NCCL itself loads no programs", ""
	}
	if near != "" {
		near += "; "
	}
	return usagef("%s", wrong).hint("%s%s; there are %s", near, targetsFor, list(targetNames()))
}

// targetsFor says which target is for what.
const targetsFor = "for NVIDIA GPUs: msccl (XML), mscclpp (a plan of MSCCL++); for AMD GPUs: rccl (XML), mscclpp; " +
	"for mscclc run and bench: plan"

// noFile says that there is no file of a name that only a file can have, and which file beside it may be meant.
func noFile(arg string) error {
	d := diag.New(diag.Io, fileSpan(arg), "there is no file %s", arg)
	if bare := strings.TrimRight(arg, "/"); bare != arg && exists(bare) {
		return diag.List{d.WithHint("did you mean %s?", bare)}
	}
	folder := filepath.Dir(arg)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return diag.List{d.WithHint("there is no folder %s to read either", folder)}
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := diag.Nearest(filepath.Base(arg), names); near != "" {
		return diag.List{d.WithHint("did you mean %s?", filepath.Join(folder, near))}
	}
	return diag.List{d.WithHint("give its path from the current folder")}
}

// meantFile returns the program or algorithm file that arg is a slip of or names without its ending, or "".
func meantFile(arg string) string {
	folder := filepath.Dir(arg)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		if e.IsDir() || !slices.Contains(endings, ending) {
			continue
		}
		if strings.TrimSuffix(e.Name(), ending) == filepath.Base(arg) {
			return filepath.Join(folder, e.Name())
		}
		names = append(names, e.Name())
	}
	if near := diag.Nearest(filepath.Base(arg), names); near != "" {
		return filepath.Join(folder, near)
	}
	return ""
}

// noSuchFile says that arg is neither a file nor an algorithm of the catalog, and what may be meant.
func noSuchFile(arg string) error {
	if ending := filepath.Ext(arg); targetOf[ending] != "" {
		return noFile(arg)
	}
	d := diag.New(diag.Io, diag.Span{}, "%s is neither a file nor an algorithm of the catalog", arg)
	if of := algorithmsOf(collective(arg)); len(of) > 0 {
		return diag.List{d.WithHint("name an algorithm of this collective: %s", list(of))}
	}
	name := strings.TrimSuffix(filepath.ToSlash(arg), ".mscl")
	if beside := meantFile(arg); beside != "" {
		return diag.List{d.WithHint("did you mean %s?", beside)}
	}
	programs := catalogPrograms()
	of := collective(path.Dir(name))
	canonical := path.Join(of, strings.ToLower(path.Base(name)))
	if len(algorithmsOf(of)) > 0 { // other collectives' algorithms are no slips of this one's
		programs = slices.DeleteFunc(programs, func(p string) bool { return path.Dir(p) != of })
	}
	for _, p := range programs {
		if p == canonical {
			return diag.List{d.WithHint("did you mean %s?", p)}
		}
	}
	if near := diag.Nearest(canonical, programs); near != "" {
		return diag.List{d.WithHint("did you mean %s?", near)}
	}
	if len(algorithmsOf(of)) > 0 {
		return diag.List{d.WithHint("%s has %s", of, list(programs))}
	}
	for _, p := range programs {
		if path.Base(p) == path.Base(canonical) {
			return diag.List{d.WithHint("did you mean %s?", p)}
		}
	}
	if near := diag.Nearest(strings.ToLower(name), collectiveNames()); near != "" {
		return diag.List{d.WithHint(
			"did you mean %s? run and bench choose an algorithm of this collective; mscclc list %s shows all, such as %s",
			near, near, algorithmsOf(near)[0])}
	}
	return diag.List{d.WithHint("mscclc list shows the catalog")}
}

func collectiveNames() []string {
	var names []string
	for _, k := range choose.Collectives() {
		names = append(names, k.String())
	}
	return names
}

func dtypeNames() []string {
	names := make([]string, len(data.DTypes))
	for i := range data.DTypes {
		names[i] = data.DTypes[i].Name
	}
	return names
}

func targetNames() []string {
	names := make([]string, len(codegen.Targets))
	for i, t := range codegen.Targets {
		names[i] = t.Name
	}
	return names
}
