package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// Endings of the files that commands take.
var (
	sourceEndings   = []string{".mscl"}
	planEndings     = []string{".json"}
	programEndings  = []string{".mscl", ".xml", ".plan", ".json"}
	compiledEndings = []string{".xml", ".plan"}
	topologyEndings = []string{".topo", ".xml"}
	foldersOnly     = []string{}
)

// Endings of the files that commands write. The value of a flag that names one has its endings in values, or where they
// depend on what is written, the command gives them to wrongEnding.
var (
	outputEndings  = []string{".json", ".plan", ".xml"} // of compile
	graphEndings   = []string{".dot", ".gv"}
	textEndings    = []string{".txt"}
	pictureEndings = []string{".svg", ".png"}
	drawingEndings = []string{".svg"}
	traceEndings   = []string{".json"}
	sarifEndings   = []string{".sarif", ".json"}
	tableEndings   = []string{".table", ".json"}
	timesEndings   = []string{".jsonl", ".json"}
)

// targetOf is the target that the ending of a file asks for.
var targetOf = map[string]string{".xml": "msccl", ".json": "mscclpp", ".plan": "plan"}

// endingOf is the ending of the files of each format.
var endingOf = map[codegen.Format]string{
	codegen.FormatXML: ".xml", codegen.FormatMSCCLPP: ".json", codegen.FormatProgram: ".plan",
}

// ending returns the ending of a file's name, in small letters.
func ending(name string) string { return strings.ToLower(filepath.Ext(name)) }

// wrongEnding returns an error of usage if flag names an output whose ending is none of endings, which files with this
// content have. Stdout, devices and pipes have no ending, and empty endings allow any. The hint is for the user, or "".
func wrongEnding(flag, name string, endings []string, hint string) error {
	if isStdout(name) || len(endings) == 0 || slices.Contains(endings, ending(name)) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	return usagef("%s takes a name that ends in %s, not %s", flag, either(endings), diag.Printable(name)).hint("%s", hint)
}

// either joins words as in "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
