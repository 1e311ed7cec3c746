package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/benchcmd"
	"mscclc/cmd/mscclc/internal/bundlecmd"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/completion"
	"mscclc/cmd/mscclc/internal/doctorcmd"
	"mscclc/cmd/mscclc/internal/playcmd"
	"mscclc/cmd/mscclc/internal/runcmd"
	"mscclc/cmd/mscclc/internal/selectcmd"
	"mscclc/cmd/mscclc/internal/showcmd"
	"mscclc/cmd/mscclc/internal/simulatecmd"
	"mscclc/cmd/mscclc/internal/synthcmd"
	"mscclc/cmd/mscclc/internal/tunecmd"
	"mscclc/cmd/mscclc/internal/verifycmd"
	"mscclc/cmd/mscclc/internal/withcmd"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

// A document is what --json prints of a command: any value of its type.
type document struct {
	command string // with the flags that make the document another
	value   any
}

// documents lists what every command prints. Help is made of them, and a test holds what commands print against them.
var documents = []document{
	{"bench", bench.Document{}},
	{"bundle", bundlecmd.Document{}},
	{"compare", benchcmd.ComparedDocument{}},
	{"compile", compiling.Document{}},
	{"completion SHELL", completion.ScriptDocument{}},
	{"doctor", doctorcmd.Machine{}},
	{"doctor FOLDER", doctorcmd.Document{}},
	{"explain", explainedDocument{}},
	{"fmt", []formatted{}},
	{"help", helpDocument{}},
	{"library", libraryDocument{}},
	{"lint", []cli.Report{}},
	{"list", listedDocument{}},
	{"play", playcmd.Document{}},
	{"run", runcmd.Document{}},
	{"search", benchcmd.SearchedDocument{}},
	{"select", selectcmd.Document{}},
	{"show", showcmd.Document{}},
	{"simulate", simulatecmd.Document{}},
	{"synthesize", synthcmd.Document{}},
	{"check", synthcmd.Checked{}},
	{"topo", machineReport{}},
	{"topo MACHINE", topologyReport{}},
	{"topo MACHINE --bound", boundsReport{}},
	{"verify", []verifycmd.Report{}},
	{"version", versionDocument{}},
	{"with", withcmd.Document{}},
	{"trace-chunk", showcmd.HistoryDocument{}},
	{"tune", tunecmd.Document{}},
	{"any command that fails before its document", cli.Failure{}},
}

// sharedParts are what several documents have, by the names that help has for them. The order is that of help.
var sharedParts = []struct {
	name string
	of   reflect.Type
}{
	{"problem", reflect.TypeFor[diag.Problem]()},
	{"program", reflect.TypeFor[cli.ProgramInfo]()},
	{"counterexample", reflect.TypeFor[verifycmd.CounterexampleInfo]()},
	{"step", reflect.TypeFor[verifycmd.StepInfo]()},
}

// A jsonField is a field of a JSON object.
type jsonField struct {
	name, doc string
	absent    bool // where it would be empty
	null      bool // where it would be nil
	of        reflect.Type
}

// jsonFields lists the fields that encoding/json writes of a struct, those of embedded structs among them.
func jsonFields(t reflect.Type) (list []jsonField) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.Anonymous && name == "":
			list = append(list, jsonFields(of)...)
		case name == "-" || !f.IsExported():
		default:
			if of.Kind() == reflect.Interface { // a problem's, which is the verifier's own
				of = reflect.TypeFor[verifycmd.CounterexampleInfo]()
			}
			absent := options == "omitempty" || options == "omitzero"
			list = append(list, jsonField{name, f.Tag.Get("doc"), absent, !absent && f.Type.Kind() == reflect.Pointer, of})
		}
	}
	return list
}

// kindOf names a type as help has it, and returns the struct whose fields are still to be said, or nil.
func kindOf(t reflect.Type) (name string, fields reflect.Type) {
	for _, p := range sharedParts {
		if p.of == t {
			return p.name, nil
		}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Kind() == reflect.Uint8 {
		return "string", nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean", nil
	case reflect.String:
		return "string", nil
	case reflect.Float32, reflect.Float64:
		return "number", nil
	case reflect.Slice, reflect.Array:
		name, fields = kindOf(t.Elem())
		return "list of " + name, fields
	case reflect.Map:
		name, fields = kindOf(t.Elem())
		return "object of " + name, fields
	case reflect.Struct:
		return "object", t
	}
	return "integer", nil
}

// writeFields lists the fields of a struct, and below each object its own.
func writeFields(b *strings.Builder, t reflect.Type, indent string) {
	for _, f := range jsonFields(t) {
		name := indent + f.name
		if f.absent {
			name += "?"
		}
		kind, inner := kindOf(f.of)
		if f.null {
			kind += " or null"
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(fmt.Sprintf("%-30s %-16s  %s", name, kind, f.doc), " "))
		if inner != nil {
			writeFields(b, inner, indent+"  ")
		}
	}
}

func jsonHelp() *cobra.Command {
	return &cobra.Command{Use: "json", Short: "What --json prints", Long: jsonText()}
}

func jsonText() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		`With --json a command prints one JSON document on stdout, and nothing on stderr. Every document has
"schema": %d, or is a list of objects that have it. The schema rises when a field goes or changes its meaning. Fields
may be added.

A command that cannot begin its work, such as one with a wrong flag or a file that cannot be read, prints the last of
these documents. Its exit_code is the exit code. If the work fails after the document was begun, the message goes to
stderr.

The notes that stderr has without --json are in the list notes. A list of objects has them in its first object.

The fields of each document follow. A field with a ? is absent where it would be empty.
`, cli.Schema)
	for _, d := range documents {
		t := reflect.TypeOf(d.value)
		what := ""
		if t.Kind() == reflect.Slice {
			t, what = t.Elem(), ": a list, with an object for each file"
		}
		fmt.Fprintf(&b, "\n%s%s\n", d.command, what)
		writeFields(&b, t, "  ")
	}
	for _, p := range sharedParts {
		fmt.Fprintf(&b, "\nA %s:\n", p.name)
		writeFields(&b, p.of, "  ")
	}
	return strings.TrimRight(b.String(), "\n")
}
