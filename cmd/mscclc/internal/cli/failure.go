package cli

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

// A UsageError is an error in how the command was called, with what would be right, or "".
type UsageError struct{ text, help string }

// Error implements error.
func (e UsageError) Error() string {
	if e.help == "" {
		return e.text
	}
	return e.text + "; " + e.help
}

// Usagef returns an error of usage, with exit code 2.
func Usagef(format string, args ...any) UsageError {
	return UsageError{text: diag.Shorten(fmt.Sprintf(format, args...))}
}

// Hint returns e with what would be right.
func (e UsageError) Hint(format string, args ...any) UsageError {
	e.help = fmt.Sprintf(format, args...)
	return e
}

// A ReportedError says that a command has reported its failure itself, and with
// which code it exits.
type ReportedError struct{ Code int }

// Error implements error.
func (ReportedError) Error() string { return "reported" }

// A Failure is what --json prints where a command fails without a document of its own.
type Failure struct {
	Schema int `json:"schema"`
	diag.FileReport
	ExitCode int `json:"exit_code" doc:"as mscclc --help lists them; 130: interrupted"`
	Noted
}

// Fail reports err, and returns the exit code for it. With --json the report is the document, unless the command began
// one.
func (a *App) Fail(err error) int {
	var usage UsageError
	var reported ReportedError
	if refused := a.Guard.refusal(); refused != nil {
		err = refused
	}
	text, list, code := "", diag.List(nil), ExitGood
	switch {
	case errors.As(err, &reported):
		return reported.Code
	case errors.As(err, &usage):
		a.JSON = a.JSON || AsksJSON(a.args) // --json may stand after a wrong flag, or for its value
		text, code = usage.Error(), ExitUsage
		list = diag.List{diag.New(diag.Usage, diag.Span{}, "%s", usage.text).WithHint("%s", usage.help)}
	default:
		list, code = FailureOf(err, a.File)
		if code == ExitInterrupted {
			text = list[0].Text
		}
	}
	switch {
	case a.JSON && !a.Stdout.begun:
		doc := Failure{Schema, diag.Report(a.File, list), code, a.Notes.List()}
		doc.OK = false
		a.WriteJSON(doc)
	case text != "":
		fmt.Fprintf(a.Stderr, "mscclc: %s\n", text)
	default:
		a.print(list)
	}
	return code
}

// FailureOf returns what is wrong by err, in file where it names no other place, and the exit code for it.
func FailureOf(err error, file string) (diag.List, int) {
	if errors.Is(err, context.Canceled) {
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "interrupted")}, ExitInterrupted
	}
	list := Placed(Problems(err), file)
	return list, ExitCode(list)
}

// AsksJSON reports whether arguments that could not be read, or were not, ask for JSON.
func AsksJSON(args []string) (asked bool) {
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

// ExitCode returns the exit code for what was found: its worst.
func ExitCode(list diag.List) int {
	code := ExitInput
	for _, d := range list {
		switch d.Code {
		case diag.Unavailable:
			code = max(code, ExitMachine)
		case diag.Internal:
			code = ExitInternal
		}
	}
	return code
}

// Problems makes diagnostics of any error. One that is neither a diag.List nor
// from the file system is a fault of mscclc.
func Problems(err error) diag.List {
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

// Placed gives the diagnostics that name no place the file that they concern.
func Placed(list diag.List, file string) diag.List {
	for i := range list {
		if list[i].Span.Filename == "" && list[i].Code != diag.Internal {
			list[i].Span.Filename = file
		}
	}
	return list
}

// Show prints diagnostics on stderr, unless --json has them in the document.
func (a *App) Show(list diag.List) {
	if !a.JSON {
		a.print(list)
	}
}

// ShowFiles prints the diagnostics of several files as show does, those of each file together. A warning that several
// files have is printed once.
func (a *App) ShowFiles(list diag.List) {
	for list = list.FoldFiles(); len(list) > 0; {
		n := slices.IndexFunc(list, func(d diag.Diagnostic) bool { return d.Span.Filename != list[0].Span.Filename })
		if n < 0 {
			n = len(list)
		}
		a.Show(list[:n])
		list = list[n:]
	}
}

func (a *App) print(list diag.List) {
	colour := IsTerminal(a.Stderr) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if err := diag.Fprint(a.Stderr, list, a.Text, colour); err != nil {
		fmt.Fprintln(a.Stderr, list.Error())
	}
}

// Say prints one line of talk, of which there is none with --json. A note is said by note.
func (a *App) Say(format string, args ...any) {
	if a.JSON {
		return
	}
	fmt.Fprintln(a.Stderr, diag.Shorten(fmt.Sprintf(format, args...)))
}

// Panicked makes a diagnostic of a panic.
func Panicked(r any) diag.Diagnostic {
	return diag.New(diag.Internal, diag.Span{}, "%v",
		r).WithHint("this is a fault of mscclc; please report it with the command and its input")
}

// Unavailable returns the error of what this machine or build cannot do.
func Unavailable(format string, args ...any) error {
	return diag.List{diag.New(diag.Unavailable, diag.Span{}, format, args...)}
}
