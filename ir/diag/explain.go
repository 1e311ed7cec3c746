package diag

import (
	"slices"
	"strings"
)

// An Explanation is what `explain` says of a code: a paragraph, and a small
// example that is rejected with it or warned of, where an input file can bring
// it about.
type Explanation struct {
	Code    Code
	Text    string
	Example string
	Command string // that rejects the example, or warns of it; "" is verify's, or lint's
}

// File is the name that the example has as a file, or "" where it is none.
func (e *Explanation) File() string {
	for _, kind := range []struct{ begins, name string }{{"<", "example.xml"}, {"{", "example.json"}, {"algorithm ", "example.mscl"}} {
		if strings.HasPrefix(e.Example, kind.begins) {
			return kind.name
		}
	}
	return ""
}

// Replayable says whether a program with this problem can be run so that it
// shows.
func (c Code) Replayable() bool {
	return c == Deadlock || c == Race || c == Uninitialized || c == WrongResult
}

// Explain finds the explanation of a code. Programs with a warning are right, so that it is lint that shows one.
func Explain(code Code) (Explanation, bool) {
	i := slices.IndexFunc(explanations, func(e Explanation) bool { return e.Code == code })
	if i < 0 {
		return Explanation{}, false
	}
	e := explanations[i]
	e.Text, e.Example = strings.TrimSpace(e.Text), strings.TrimLeft(e.Example, "\n")
	if file := e.File(); file != "" && e.Command == "" {
		e.Command = "mscclc verify " + file
		if code.Warning() {
			e.Command = "mscclc lint " + file
		}
	}
	return e, true
}

// OneSidedExample is a one-sided program, as a plan in JSON, that verify rejects with the code, or "".
func OneSidedExample(code Code) string { return strings.TrimLeft(oneSidedExamples[code], "\n") }

// Codes lists every code, in the order of explanation: those of verified
// programs first, then those of the language, then the rest.
func Codes() []Code {
	codes := make([]Code, len(explanations))
	for i, e := range explanations {
		codes[i] = e.Code
	}
	return codes
}
