package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir/diag"
)

// Endings of the files that commands take.
var (
	SourceEndings   = []string{files.LibrarySuffix}
	PlanEndings     = []string{codegen.FileKinds[codegen.KindMSCCLPP].Ending}
	ProgramEndings  = kindEndings(func(*codegen.FileKindInfo) bool { return true })
	CompiledEndings = kindEndings(func(i *codegen.FileKindInfo) bool { return i.Compiled && i.Target != "" })
	TopologyEndings = []string{".topo", ".xml"}
	FoldersOnly     = []string{}
)

// Endings of the files that commands write. The value of a flag that names one has its endings in values, or where they
// depend on what is written, the command gives them to WrongEnding.
var (
	OutputEndings  = slices.Sorted(maps.Keys(TargetOf)) // of compile
	BundleEndings  = []string{".bundle"}
	GraphEndings   = []string{".dot", ".gv"}
	TextEndings    = []string{".txt"}
	PictureEndings = []string{".svg", ".png"}
	DrawingEndings = []string{".svg"}
	TraceEndings   = []string{".json"}
	PageEndings    = []string{".html", ".htm"}
	SarifEndings   = []string{".sarif", ".json"}
	TableEndings   = []string{".table", ".json"}
	RulesEndings   = []string{".rules", ".json"}
	TimesEndings   = []string{".jsonl", ".json"}
)

// kindEndings returns the endings of the kinds of files that has selects, each once, in the order of FileKinds.
func kindEndings(has func(i *codegen.FileKindInfo) bool) (list []string) {
	for k := range codegen.FileKinds {
		if i := &codegen.FileKinds[k]; i.Ending != "" && has(i) && !slices.Contains(list, i.Ending) {
			list = append(list, i.Ending)
		}
	}
	return list
}

// TargetOf is the target that the ending of a file asks for.
var TargetOf = targetOf()

func targetOf() map[string]string {
	of := map[string]string{}
	for _, i := range codegen.FileKinds {
		if i.Target != "" {
			of[i.Ending] = i.Target
		}
	}
	return of
}

// Ending returns the ending of a file's name, in small letters.
func Ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// WrongEnding returns an error of usage if flag names an output whose ending is none of endings, which files with this
// content have. Stdout, devices and pipes have no ending, and empty endings allow any. The hint is for the user, or "".
func WrongEnding(flag, name string, endings []string, hint string) error {
	if IsStdout(name) || len(endings) == 0 || slices.Contains(endings, Ending(name)) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	return Usagef("%s takes a name that ends in %s, not %s", flag, anyOf(endings), diag.Printable(name)).Hint("%s", hint)
}

// anyOf joins words as in "a, b or c".
func anyOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
