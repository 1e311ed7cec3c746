package diag

import (
	"cmp"
	"embed"
	"slices"
	"strings"
)

// An Explanation is what the command explain prints for a code. Means, Why and Fix are whole sentences.
type Explanation struct {
	Code  Code
	Means string // what the code means; its first sentence stands alone in lists
	Why   string // why that is an error, or for a warning, why it matters
	Fix   string // what to do about it

	// Command shows the code. It reads the example from standard input, if there is one. Tables leave "mscclc " out, and
	// all of it for "verify -" and, of warnings, "lint -". Before is a command line to run first, or "".
	Command string
	Before  string

	Example   string // text of an input file, or "" where none is needed or possible
	File      string // name of that file, or ""
	OneSided  string // text of a one-sided program with the same problem, or ""
	NoCommand string // why no command shows the code on every machine, or ""
}

// A Group is a part of the list of all codes.
type Group struct {
	Title        string
	explanations []Explanation
}

// Codes lists the codes of g.
func (g *Group) Codes() (codes []Code) {
	for _, e := range g.explanations {
		codes = append(codes, e.Code)
	}
	return codes
}

// Groups has every code once, in the order of explanation.
var Groups = []Group{
	{"Errors in programs, from .mscl files or any other file", ofPrograms},
	{"Errors in the text of .mscl files", ofLanguage},
	{"Errors of targets, machines, files and runs", ofTheRest},
	{"Warnings: what runtimes ignore in a file", ofIgnored},
	{"Warnings: what MSCCL++'s executor does wrong with a plan", ofMSCCLPP},
	{"Warnings of mscclc lint: what is slow or fragile in a plan of MSCCL++", ofLint},
}

// Codes lists every code, in the order of Groups.
func Codes() (codes []Code) {
	for i := range Groups {
		codes = append(codes, Groups[i].Codes()...)
	}
	return codes
}

// examples has a file CODE.mscl, CODE.xml or CODE.json for each code that an input file shows, and a file
// CODE.onesided.json for each code that a one-sided program shows too.
//
//go:embed examples
var examples embed.FS

// Explain returns the explanation of a code, and false if there is none.
func Explain(code Code) (Explanation, bool) {
	for _, g := range Groups {
		i := slices.IndexFunc(g.explanations, func(e Explanation) bool { return e.Code == code })
		if i < 0 {
			continue
		}
		e := g.explanations[i]
		e.Means, e.Why, e.Fix = oneLine(e.Means), oneLine(e.Why), oneLine(e.Fix)
		for _, ext := range []string{".mscl", ".xml", ".json"} {
			if text := example(string(code) + ext); text != "" {
				e.Example, e.File = text, string(code)+ext
			}
		}
		e.OneSided = example(string(code) + ".onesided.json")
		if e.NoCommand = withoutCommand[code]; e.NoCommand == "" {
			e.Command = "mscclc " + cmp.Or(e.Command, usualCommand(code))
		}
		return e, true
	}
	return Explanation{}, false
}

func example(name string) string {
	text, err := examples.ReadFile("examples/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func usualCommand(code Code) string {
	if code.Warning() {
		return "lint -"
	}
	return "verify -"
}

// Text returns the whole explanation as paragraphs, each on one line.
func (e *Explanation) Text() string {
	why := "Why it is an error: "
	if e.Code.Warning() {
		why = "Why it matters: "
	}
	return e.Means + "\n\n" + why + e.Why + "\n\nWhat to do: " + e.Fix
}

// First returns the first sentence of the explanation.
func (e *Explanation) First() string {
	first, _, _ := strings.Cut(e.Means, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// Lines returns the command lines that show the code, to be run in a shell, or nil where NoCommand says why not.
func (e *Explanation) Lines() (lines []string) {
	if e.NoCommand != "" {
		return nil
	}
	if e.Before != "" {
		lines = append(lines, e.Before)
	}
	return append(lines, e.from("")+e.Command)
}

// OneSidedLine returns the command line that shows the code with the one-sided example.
func (e *Explanation) OneSidedLine() string { return e.from(" --sided one") + e.Command }

// from begins a command line that reads the example.
func (e *Explanation) from(flag string) string {
	if e.Example == "" {
		return ""
	}
	return "mscclc explain " + string(e.Code) + " --example" + flag + " | "
}

// Replayable reports whether a run can show a problem with this code.
func (c Code) Replayable() bool {
	return c == Deadlock || c == Race || c == Uninitialized || c == WrongResult
}
