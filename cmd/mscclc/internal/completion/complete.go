package completion

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/showcmd"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Place says what completion offers at one place of a command line: words, and files with some endings. Words is nil
// where there are none, and endings is nil where no file may stand. The zero place offers nothing, such as for a
// number.
type Place struct {
	words   func(cursor) []string // WORD, or WORD, a tab and its description
	endings []string
	anyFile bool
}

// A cursor is where completion is asked for: after the arguments args of a command, and in the word that begins as
// typed.
type cursor struct {
	cmd   *cobra.Command
	args  []string
	typed string
}

// shownEndings are those of programs and bundles.
var shownEndings = slices.Concat(cli.ProgramEndings, cli.BundleEndings)

// playedEndings are those of what the page opens.
var playedEndings = slices.Concat(cli.ProgramEndings, cli.TraceEndings)

// Arguments are the places of each command's arguments, by the command's name. The last place is that of all further
// arguments.
var Arguments = map[string][]Place{
	"bench":       {{words: programWords, endings: cli.ProgramEndings}, {endings: cli.ProgramEndings}},
	"bundle":      {{endings: cli.ProgramEndings}},
	"check":       {{endings: []string{".json"}}, {endings: cli.SourceEndings}, {}},
	"compare":     {{words: collectiveWords}, {endings: cli.ProgramEndings}},
	"compile":     {{words: algorithmWords, endings: cli.SourceEndings}, {}},
	"doctor":      {{endings: cli.FoldersOnly}, {}},
	"man":         {{endings: cli.FoldersOnly}, {}},
	"explain":     {{words: codeWords}, {}},
	"lsp":         {{}},
	"fmt":         {{words: algorithmWords, endings: cli.SourceEndings}},
	"help":        {{words: topicWords}, {}},
	"library":     {{}},
	"lint":        {{endings: cli.PlanEndings}},
	"list":        {{words: programWords, endings: cli.SourceEndings}},
	"play":        {{words: algorithmWords, endings: playedEndings}, {}},
	"run":         {{words: programWords, endings: cli.ProgramEndings}, {endings: cli.ProgramEndings}},
	"search":      {{words: collectiveWords}, {endings: cli.ProgramEndings}},
	"select":      {{words: collectiveWords}, {endings: cli.ProgramEndings}},
	"show":        {{words: algorithmWords, endings: shownEndings}, {words: stageWords}, {}},
	"simulate":    {{words: algorithmWords, endings: cli.ProgramEndings}, {}},
	"synthesize":  {{words: collectiveWords}, {}},
	"topo":        {{words: machineWords, endings: cli.TopologyEndings}, {}},
	"tune":        {{words: collectiveWords}},
	"verify":      {{words: algorithmWords, endings: shownEndings}},
	"trace-chunk": {{words: algorithmWords, endings: cli.SourceEndings}, {}},
	"version":     {{}},
	"with":        {{anyFile: true}},
}

// Values are the places of the values of flags, by the flag's name, or the command's and the flag's. Flags that take
// one of a few words (see cli.WordFlag), switches and numbers are not listed.
var Values = map[string]Place{
	"after":             {words: afterWords},
	"arena":             {},
	"begin":             {},
	"bench root":        {},
	"bundle device":     {words: deviceWords},
	"bundle dtype":      {words: typeWords},
	"bundle output":     {endings: cli.BundleEndings},
	"bundle ranks":      {},
	"bundle then":       {},
	"bytes":             {},
	"compare output":    {endings: cli.TimesEndings},
	"compare root":      {},
	"compile output":    {endings: cli.OutputEndings},
	"certificate":       {endings: []string{".json"}},
	"check ranks":       {},
	"chunks":            {},
	"costs":             {endings: []string{".json"}},
	"dump":              {words: dumpWords},
	"emit":              {endings: cli.FoldersOnly},
	"end":               {},
	"ignore":            {words: warningWords},
	"import-path":       {endings: cli.FoldersOnly},
	"library output":    {endings: cli.FoldersOnly},
	"limit":             {words: limitWords},
	"nccl":              {anyFile: true},
	"nodes":             {},
	"html":              {endings: cli.PageEndings},
	"opt":               {words: passWords},
	"optimise":          {words: levelWords},
	"param":             {words: parameterWords},
	"pipeline":          {},
	"output-file":       {endings: []string{".json"}},
	"play output":       {endings: cli.FoldersOnly},
	"plot":              {endings: cli.PictureEndings},
	"program":           {},
	"rules":             {endings: cli.RulesEndings},
	"sarif":             {endings: cli.SarifEndings},
	"search output":     {endings: slices.Concat(cli.TableEndings, cli.RulesEndings)},
	"search root":       {},
	"select device":     {words: deviceWords},
	"together":          {words: togetherWords},
	"show output":       {endings: showcmd.Endings()},
	"simulate device":   {words: deviceWords},
	"sizes":             {},
	"stepbytes":         {},
	"svg":               {endings: cli.DrawingEndings},
	"synthesize output": {endings: cli.SourceEndings},
	"synthesize ranks":  {},
	"table":             {anyFile: true},
	"tile":              {},
	"topo device":       {words: knownDeviceWords},
	"topo output":       {endings: cli.TopologyEndings},
	"topo ranks":        {},
	"topo weights":      {},
	"topology":          {words: machineWords, endings: cli.TopologyEndings},
	"trace":             {endings: cli.TraceEndings},
	"tune bits":         {words: tuneBitsWords},
	"tune output":       {endings: cli.BundleEndings},
	"tune ranks":        {},
	"verify bits":       {words: bitsWords},
	"verify ranks":      {},
	"with bundle":       {endings: cli.BundleEndings},
	"with lib":          {endings: cli.FoldersOnly},
	"without":           {},
}

// Register gives the commands of root what completion offers for their arguments and the values of their flags.
func Register(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if places, ok := Arguments[cmd.Name()]; ok {
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return places[min(len(args), len(places)-1)].complete(cmd, args, typed)
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if at, ok := ValueOf(cmd, flag); ok {
				cmd.RegisterFlagCompletionFunc(flag.Name, at.complete)
			}
		})
	}
}

// ValueOf returns the place of the value of a flag of cmd. It is not ok where Values lacks the flag.
func ValueOf(cmd *cobra.Command, flag *pflag.Flag) (at Place, ok bool) {
	if at, ok = Values[cmd.Name()+" "+flag.Name]; ok {
		return at, true
	}
	if at, ok = Values[flag.Name]; ok {
		return at, true
	}
	if w, ok := flag.Value.(cli.Word); ok {
		return Place{words: func(at cursor) []string {
			if list := asTyped(at.typed, withDocs(w.Names, wordDocs[flag.Name])); len(list) > 0 {
				return list
			}
			return asTyped(at.typed, w.Others)
		}}, true
	}
	switch flag.Value.Type() {
	case "int", "int64", "uint64", "uint", "duration":
		return Place{}, true
	case "bool", new(compiling.OptionalBool).Type():
		return Place{words: truthWords}, true
	}
	return Place{}, false
}

// complete returns a cobra.CompletionFunc. It offers what begins as typed does. Where a file may have another name than
// those offered, and nothing else fits, the shell offers files as it does for other programs.
func (at Place) complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if at.anyFile {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	if at.words != nil {
		found = at.words(cursor{cmd, args, typed})
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if at.endings != nil {
		found = append(found, filesAt(typed, at.endings)...)
		directive = cobra.ShellCompDirectiveDefault
	}
	found = slices.DeleteFunc(found, func(w string) bool { return !strings.HasPrefix(w, typed) })
	goesOn := func(w string) bool { // no space belongs after it
		w, _, _ = strings.Cut(w, "\t")
		return strings.ContainsAny(w[len(w)-1:], "/=:")
	}
	if len(found) > 0 && !slices.ContainsFunc(found, func(w string) bool { return !goesOn(w) }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return found, directive
}

// filesAt lists the folders, with a slash after, and the files with one of the endings, whose paths begin as typed
// does. A hidden file is listed where its dot is typed.
func filesAt(typed string, endings []string) (found []string) {
	dir, base := path.Split(typed)
	entries, _ := os.ReadDir(filepath.FromSlash(cmp.Or(dir, ".")))
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name)) // follows links
		switch {
		case err != nil:
		case info.IsDir():
			found = append(found, dir+name+"/")
		case slices.Contains(endings, cli.Ending(name)):
			found = append(found, dir+name)
		}
	}
	return found
}

// ValueEndings returns the endings of the files that a flag names, or nil if they are any.
func ValueEndings(flag string) []string { return Values[flag].endings }
