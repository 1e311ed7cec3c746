package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/diag"
)

// A usageError is an error in how the command was called, with what would be right, or "".
type usageError struct{ text, help string }

func (e usageError) Error() string {
	if e.help == "" {
		return e.text
	}
	return e.text + "; " + e.help
}

func usagef(format string, args ...any) usageError {
	return usageError{text: diag.Shorten(fmt.Sprintf(format, args...))}
}

// hint returns e with what would be right.
func (e usageError) hint(format string, args ...any) usageError {
	e.help = fmt.Sprintf(format, args...)
	return e
}

// A reportedError says that a command has reported its failure itself, and with
// which code it exits.
type reportedError struct{ code int }

func (reportedError) Error() string { return "reported" }

// A failure is what --json prints where a command fails without a document of its own.
type failure struct {
	Schema int `json:"schema"`
	diag.FileReport
	ExitCode int `json:"exit_code" doc:"as mscclc --help lists them; 130: interrupted"`
	noted
}

// fail reports err, and returns the exit code for it. With --json the report is the document, unless the command began
// one.
func (a *App) fail(err error) int {
	var usage usageError
	var reported reportedError
	if refused := a.guard.refusal(); refused != nil {
		err = refused
	}
	text, list, code := "", diag.List(nil), exitGood
	switch {
	case errors.As(err, &reported):
		return reported.code
	case errors.As(err, &usage):
		a.json = a.json || asksJSON(a.args) // --json may stand behind a wrong flag, or for its value
		text, code = usage.Error(), exitUsage
		list = diag.List{diag.New(diag.Usage, diag.Span{}, "%s", usage.text).WithHint("%s", usage.help)}
	default:
		list, code = failureOf(err, a.file)
		if code == exitInterrupted {
			text = list[0].Text
		}
	}
	switch {
	case a.json && !a.stdout.begun:
		doc := failure{schema, diag.Report(a.file, list), code, a.notes.list()}
		doc.OK = false
		a.writeJSON(doc)
	case text != "":
		fmt.Fprintf(a.stderr, "mscclc: %s\n", text)
	default:
		a.print(list)
	}
	return code
}

// failureOf returns what is wrong by err, in file where it names no other place, and the exit code for it.
func failureOf(err error, file string) (diag.List, int) {
	if errors.Is(err, context.Canceled) {
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "interrupted")}, exitInterrupted
	}
	list := placed(problems(err), file)
	return list, exitCode(list)
}

// asksJSON reports whether arguments that could not be read ask for JSON.
func asksJSON(args []string) (asked bool) {
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return asked
		case name == "--json" && given:
			yes, err := strconv.ParseBool(value)
			asked = yes || err != nil
		case name == "--json":
			asked = true
		}
	}
	return asked
}

// exitCode is the exit code for what was found: its worst.
func exitCode(list diag.List) int {
	code := exitInput
	for _, d := range list {
		switch d.Code {
		case diag.Unavailable:
			code = max(code, exitMachine)
		case diag.Internal:
			code = exitInternal
		}
	}
	return code
}

// problems makes diagnostics of any error. One that is neither a diag.List nor
// from the file system is a fault of mscclc.
func problems(err error) diag.List {
	var list diag.List
	var one diag.Diagnostic
	var path *fs.PathError
	switch {
	case errors.As(err, &list):
		return list
	case errors.As(err, &one):
		return diag.List{one}
	case errors.As(err, &path):
		for inner := path; errors.As(inner.Err, &inner); { // the innermost says what the system said
			path = &fs.PathError{Op: inner.Op, Path: path.Path, Err: inner.Err}
		}
		return diag.List{diag.New(diag.Io, diag.Span{Pos: diag.Pos{Filename: path.Path}}, "%s: %v", path.Op, path.Err)}
	}
	return diag.List{diag.New(diag.Internal, diag.Span{}, "%v", err)}
}

// placed gives the diagnostics that name no place the file that they concern.
func placed(list diag.List, file string) diag.List {
	for i := range list {
		if list[i].Span.Filename == "" && list[i].Code != diag.Internal {
			list[i].Span.Filename = file
		}
	}
	return list
}

// show prints diagnostics on stderr, unless --json has them in the document.
func (a *App) show(list diag.List) {
	if !a.json {
		a.print(list)
	}
}

// showFiles prints the diagnostics of several files as show does, those of each file together. A warning that several
// files have is printed once.
func (a *App) showFiles(list diag.List) {
	for list = list.FoldFiles(); len(list) > 0; {
		n := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Span.Filename != list[0].Span.Filename })
		if n < 0 {
			n = len(list)
		}
		a.show(list[:n])
		list = list[n:]
	}
}

func (a *App) print(list diag.List) {
	colour := isTerminal(a.stderr) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if err := diag.Fprint(a.stderr, list, a.text, colour); err != nil {
		fmt.Fprintln(a.stderr, list.Error())
	}
}

// say prints one line of talk, of which there is none with --json. A note is said by note.
func (a *App) say(format string, args ...any) {
	if a.json {
		return
	}
	fmt.Fprintln(a.stderr, diag.Shorten(fmt.Sprintf(format, args...)))
}
