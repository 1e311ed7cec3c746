package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file knows what people write for what the command calls otherwise.

// A Word is the value of a flag that is one of a few names, in capitals or not. The command takes the others too, which
// other tools have for the same.
type Word struct {
	value  *string
	Names  []string
	Others []string
}

// WordFlag defines a flag of one of a few names, with a letter for short or "". Another value is left as it is for the
// command to refuse.
func WordFlag(f *pflag.FlagSet, value *string, name, short, preset, usage string, names []string) {
	*value = preset
	f.VarP(Word{value, names, nil}, name, short, usage)
}

// DtypeFlag defines --dtype, with a letter for short or "".
func DtypeFlag(f *pflag.FlagSet, value *string, short, preset string) {
	*value = preset
	f.VarP(Word{value, DtypeNames(), data.OtherDTypes()}, "dtype", short, "elements are of type `T`: "+List(DtypeNames()))
}

// String implements pflag.Value.
func (w Word) String() string { return *w.value }

// Type implements pflag.Value.
func (w Word) Type() string { return "string" }

// Set implements pflag.Value.
func (w Word) Set(s string) error {
	*w.value = s
	if name, ok := diag.Spelled(s, w.Names); ok {
		*w.value = name
	}
	return nil
}

// Collective returns the collective that arg stands for, which is arg itself where it is none: all_reduce and
// AllReduce are allreduce, unless there is a file of that name.
func Collective(arg string) string {
	if Exists(arg) {
		return arg
	}
	if name := PlainCollective(arg); choose.IsCollective(name) {
		return name
	}
	return arg
}

// MeantCollective returns the collective that arg is a slip of, or a test of nccl-tests as all_reduce_perf is, or "".
func MeantCollective(arg string) string {
	return diag.Meant(strings.TrimSuffix(PlainCollective(arg), "perf"), CollectiveNames())
}

// PlainCollective returns the name of a collective as mscclc writes it.
func PlainCollective(arg string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(arg))
}

// Exists reports whether there is a file or a folder of a name.
func Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// others has the words that people and other tools write for what mscclc has under one name or several.
var others = map[string][]string{
	"gpu": {"cuda", "hip"}, "nvidia": {"cuda"}, "amd": {"hip"}, "rocm": {"hip"},
	"mean": {"avg"}, "average": {"avg"}, "product": {"prod"},
	"fp8": {"e4m3", "e5m2"}, "float8": {"e4m3", "e5m2"},
	"msccl++": {"mscclpp"},
}

// DidYouMean returns the hint of a usage error about a word that is none of names: those that others has for it, a near
// one, or otherwise.
func DidYouMean(arg string, names []string, otherwise string) string {
	meant := slices.DeleteFunc(slices.Clone(others[strings.ToLower(arg)]),
		func(name string) bool { return !slices.Contains(names, name) })
	if len(meant) > 0 {
		return "did you mean " + strings.Join(meant, " or ") + "?"
	}
	if near := diag.Meant(arg, names); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// Unknown returns the usage error about a word that is none of the names of what it should be, such as a type.
func Unknown(what, word string, names []string) error {
	near := DidYouMean(word, names, "")
	if near != "" {
		near += "; "
	}
	return Usagef("%q is not a %s", word, what).Hint("%sthere are %s", near, List(names))
}

// MeantRun returns the hint of a usage error about a word that is no command, and perhaps a program to be run.
func MeantRun(arg string) string {
	if name := Collective(arg); Exists(arg) || len(AlgorithmsOf(name)) > 0 || slices.Contains(CatalogPrograms(), name) {
		return "did you mean mscclc run " + arg + "?"
	}
	return "see mscclc --help"
}

// CommandNames returns the commands that a person may mean.
func CommandNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// UnknownTarget returns the usage error about a word that is no target.
func UnknownTarget(word string) error {
	wrong, near := fmt.Sprintf("%q is not a target", word), DidYouMean(word, TargetNames(), "")
	if strings.EqualFold(word, "nccl") {
		wrong, near = wrong+": NCCL itself loads no programs", ""
	}
	if near != "" {
		near += "; "
	}
	return Usagef("%s", wrong).Hint("%s%s; there are %s", near, TargetsFor, List(TargetNames()))
}

// TargetsFor says which target is for what.
const TargetsFor = "for NVIDIA GPUs: msccl (XML), mscclpp (a plan of MSCCL++); for AMD GPUs: rccl (XML), mscclpp; " +
	"for mscclc run and bench: program"

// noFile says that there is no file of a name that only a file can have, and which file beside it may be meant.
func noFile(arg string) error {
	if to, err := os.Readlink(arg); err == nil {
		return diag.List{diag.New(diag.Io, FileSpan(arg), "this symbolic link leads to %s, where there is nothing", to)}
	}
	d := diag.New(diag.Io, FileSpan(arg), "there is no file %s", arg)
	if bare := strings.TrimRight(arg, "/"); bare != arg && Exists(bare) {
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
		if e.IsDir() || !slices.Contains(endings, Ending(e.Name())) {
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
	if TargetOf[Ending(arg)] != "" {
		return noFile(arg)
	}
	d := diag.New(diag.Io, diag.Span{}, "%s is neither a file nor an algorithm of the catalog", arg)
	if of := AlgorithmsOf(Collective(arg)); len(of) > 0 {
		return diag.List{d.WithHint("name an algorithm of this collective: %s", List(of))}
	}
	name := strings.TrimSuffix(filepath.ToSlash(arg), ".mscl")
	if beside := meantFile(arg); beside != "" {
		return diag.List{d.WithHint("did you mean %s?", beside)}
	}
	programs := CatalogPrograms()
	of := Collective(path.Dir(name))
	canonical := path.Join(of, strings.ToLower(path.Base(name)))
	if len(AlgorithmsOf(of)) > 0 { // other collectives' algorithms are no slips of this one's
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
	if len(AlgorithmsOf(of)) > 0 {
		return diag.List{d.WithHint("%s has %s", of, List(programs))}
	}
	for _, p := range programs {
		if path.Base(p) == path.Base(canonical) {
			return diag.List{d.WithHint("did you mean %s?", p)}
		}
	}
	if near := MeantCollective(name); near != "" {
		return diag.List{d.WithHint(
			"did you mean %s? run, bench and simulate choose an algorithm of this collective; mscclc list %s shows all, such as %s",
			near, near, AlgorithmsOf(near)[0])}
	}
	return diag.List{d.WithHint("mscclc list shows the catalog")}
}

// DtypeNames returns the types of elements.
func DtypeNames() []string {
	names := make([]string, len(data.DTypes))
	for i := range data.DTypes {
		names[i] = data.DTypes[i].Name
	}
	return names
}

// TargetNames returns the targets of compile.
func TargetNames() []string {
	names := make([]string, len(codegen.Targets))
	for i, t := range codegen.Targets {
		names[i] = t.Name
	}
	return names
}

// CodeNames returns the codes of all errors and warnings.
func CodeNames() (names []string) {
	for _, c := range diag.Codes() {
		names = append(names, string(c))
	}
	return names
}
