package completion

import (
	"path"
	"slices"
	"strings"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/showcmd"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
	"mscclc/selection"
	"mscclc/topology"
	"mscclc/topology/nccl"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The functions of this file list what a place offers, from the tables that the commands work by.

// wordDocs describe the words of some flags (see cli.WordFlag), by the flag's name.
var wordDocs = map[string]func(word string) string{
	"target": targetDoc,
}

func targetDoc(name string) string {
	t, err := codegen.TargetByName(name)
	if err != nil {
		return ""
	}
	return t.Doc
}

// withDocs lists names, each with its description; doc may be nil.
func withDocs(names []string, doc func(name string) string) []string {
	if doc == nil {
		return names
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = cobra.CompletionWithDesc(name, cli.FirstLine(doc(name)))
	}
	return list
}

func truthWords(cursor) []string { return []string{"true", "false"} }

// asTyped lists the words that begin as typed does, in capitals or not, with typed as it is: shells offer no others.
func asTyped(typed string, words []string) (list []string) {
	for _, w := range words {
		if len(w) >= len(typed) && strings.EqualFold(w[:len(typed)], typed) {
			list = append(list, typed+w[len(typed):])
		}
	}
	return list
}

// collectiveWords lists the collectives of which the catalog's fastest variant can be chosen: all_reduce after all_.
func collectiveWords(at cursor) (list []string) {
	plain := cli.PlainCollective(at.typed)
	for _, name := range cli.CollectiveNames() {
		if rest, ok := strings.CutPrefix(name, plain); ok && (plain != "" || at.typed == "") {
			list = append(list, cobra.CompletionWithDesc(at.typed+rest, "a collective"))
		}
	}
	return list
}

// algorithmWords lists the algorithms of the catalog: until a slash is typed, the collectives with a slash after.
func algorithmWords(at cursor) (list []string) {
	of := map[string]int{}
	for _, name := range cli.CatalogPrograms() {
		if strings.Contains(at.typed, "/") {
			list = append(list, withDocs([]string{name}, algorithmDoc)...)
			continue
		}
		if folder := path.Dir(name) + "/"; of[folder] == 0 {
			list = append(list, folder)
		}
		of[path.Dir(name)+"/"]++
	}
	if len(of) > 0 {
		list = withDocs(list, func(folder string) string { return diag.Counted(of[folder], "algorithm") })
	}
	return list
}

// algorithmDoc returns the first sentence of an algorithm of the catalog.
func algorithmDoc(name string) string {
	text, err := algorithms.Open(name)
	if err != nil {
		return ""
	}
	return cli.FirstSentence(string(text))
}

// programWords lists collectives and algorithms.
func programWords(at cursor) []string {
	return append(collectiveWords(at), algorithmWords(at)...)
}

// stageWords lists the stages of show that the file before the cursor has.
func stageWords(at cursor) (list []string) {
	compiled := len(at.args) > 0 && slices.Contains(cli.CompiledEndings, cli.Ending(at.args[0]))
	for _, s := range showcmd.Stages {
		if compiled && !slices.Contains(showcmd.CompiledStages, s.Name) {
			continue
		}
		list = append(list, cobra.CompletionWithDesc(s.Name, s.Doc))
	}
	return list
}

// topicWords lists what help has pages of: commands and topics.
func topicWords(at cursor) (list []string) {
	for _, c := range at.cmd.Root().Commands() {
		if !c.Hidden {
			list = append(list, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return list
}

// codeDoc returns the first sentence about a code, without its full stop.
func codeDoc(code string) string {
	e, _ := diag.Explain(diag.Code(code))
	return strings.TrimSuffix(e.First(), ".")
}

func codeWords(cursor) []string { return withDocs(cli.CodeNames(), codeDoc) }

// warningWords lists the codes of warnings that --ignore takes, after those that are typed already.
func warningWords(at cursor) (list []string) {
	before := at.typed[:strings.LastIndexByte(at.typed, ',')+1]
	for _, code := range cli.CodeNames() {
		if diag.Code(code).Warning() && !strings.Contains(","+before, ","+code+",") {
			list = append(list, cobra.CompletionWithDesc(before+code, codeDoc(code)))
		}
	}
	return list
}

// typeWords lists the types of elements, after those that are typed already.
func typeWords(at cursor) (list []string) {
	before := at.typed[:strings.LastIndexByte(at.typed, ',')+1]
	for _, name := range cli.DtypeNames() {
		if !strings.Contains(","+before, ","+name+",") {
			list = append(list, before+name)
		}
	}
	return list
}

// machineWords lists the machines that mscclc knows; after a colon, the parameters of the machine that is typed.
func machineWords(at cursor) (list []string) {
	open := func(spec string) *topology.Topology {
		t, err := nccl.Open(spec)
		if err != nil {
			return &topology.Topology{}
		}
		return t
	}
	name, _, ok := strings.Cut(at.typed, ":")
	if !ok {
		return asTyped(at.typed, withDocs(topology.Names(), func(name string) string { return open(name).Doc }))
	}
	before := at.typed[:strings.LastIndexAny(at.typed, ":,")+1]
	for _, p := range open(name).Params {
		if !strings.Contains(before, p+"=") {
			list = append(list, before+p+"=")
		}
	}
	return list
}

// deviceWords lists the devices that the tables which are built in name.
func deviceWords(cursor) (list []string) {
	for _, e := range choose.DefaultTable().Entries {
		if !slices.Contains(list, e.Device) {
			list = append(list, e.Device)
		}
	}
	return list
}

// knownDeviceWords lists the devices of which topologies are.
func knownDeviceWords(cursor) []string { return topology.Devices() }

// parameterWords lists the parameters of the algorithm, or the collective, that args begin with, which -p has not set
// yet: NAME=, or the values that NAME may have where it is typed, as far as they are known.
func parameterWords(at cursor) (list []string) {
	if len(at.args) == 0 {
		return nil
	}
	set := func(name string) bool {
		given, _ := at.cmd.Flags().Lookup("param").Value.(pflag.SliceValue)
		for _, p := range given.GetSlice() {
			if strings.HasPrefix(p, name+"=") {
				return true
			}
		}
		return false
	}
	for _, p := range parametersOf(at.args[0]) {
		typed := strings.HasPrefix(at.typed, p.Name+"=")
		switch {
		case !typed && set(p.Name):
		case !typed:
			list = append(list, cobra.CompletionWithDesc(p.Name+"=", strings.TrimSpace(p.Default+" by default")))
		case p.Default == "true" || p.Default == "false":
			list = append(list, p.Name+"=true", p.Name+"=false")
		case p.Default != "":
			list = append(list, cobra.CompletionWithDesc(p.Name+"="+p.Default, "by default"))
		}
	}
	return list
}

// parametersOf returns the parameters of the algorithm or the collective that arg names, or none.
func parametersOf(arg string) []syntax.ParamInfo {
	if kind, ok := ir.KindByName(cli.Collective(arg)); ok && choose.IsCollective(kind.String()) && !cli.Exists(arg) {
		return choosing.Params(kind)
	}
	text, err := files.Read(arg, "an algorithm", int64(syntax.DefaultLimits.File))
	if err != nil {
		text, err = algorithms.Open(arg)
	}
	if err != nil {
		return nil
	}
	f, err := syntax.Parse(arg, text)
	if err != nil {
		return nil
	}
	return f.Info().Params
}

// limitWords lists the limits that --limit of the command raises, with an equals sign after each.
func limitWords(at cursor) (list []string) {
	if l, ok := at.cmd.Flags().Lookup("limit").Value.(*cli.Limits); ok {
		for _, name := range l.Names {
			list = append(list, name+"=")
		}
	}
	return list
}

// passWords lists the passes that --opt can turn off.
func passWords(at cursor) (list []string) {
	for _, p := range compiling.Passes(at.OneSided()) {
		if !p.Required {
			list = append(list, cobra.CompletionWithDesc(p.Name+"=off", "do not "+p.Doc))
		}
	}
	return list
}

// afterWords lists the passes that --after takes.
func afterWords(at cursor) []string { return at.passes(compiling.PassNames(at.OneSided())) }

// dumpWords lists what --dump takes.
func dumpWords(at cursor) []string {
	return at.passes(append(compiling.DumpNames(at.OneSided()), "all"))
}

// Passes describes those of names that are passes.
func (c cursor) passes(names []string) []string {
	return withDocs(names, func(name string) string { return compiling.PassDoc(c.OneSided(), name) })
}

// OneSided reports whether the flags before the cursor ask for one-sided programs.
func (c cursor) OneSided() bool { return compiling.OneSidedBy(c.cmd.Flags()) }

func levelWords(cursor) []string {
	return []string{"0\tonly the required passes", "1\tall passes"}
}

func togetherWords(cursor) []string {
	return []string{"2\ttwo replicas in a CTA", "4\tfour replicas in a CTA"}
}

// bitsWords lists what --bits of verify takes.
func bitsWords(cursor) []string { return []string{"order\tthe order in which elements are added"} }

// tuneBitsWords lists what --bits of tune takes.
func tuneBitsWords(cursor) []string {
	return []string{selection.Invariant + "\tfor jobs with MSCCLC_BITS=invariant"}
}
