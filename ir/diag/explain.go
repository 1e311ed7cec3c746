package diag

import (
	"slices"
	"strings"
)

// An Explanation is what `explain` says of a code: a paragraph, and a small
// example that is rejected with it, where an input file can bring it about.
type Explanation struct {
	Code    Code
	Text    string
	Example string
}

// Explain finds the explanation of a code.
func Explain(code Code) (Explanation, bool) {
	i := slices.IndexFunc(explanations, func(e Explanation) bool { return e.Code == code })
	if i < 0 {
		return Explanation{}, false
	}
	e := explanations[i]
	e.Text, e.Example = strings.TrimSpace(e.Text), strings.TrimLeft(e.Example, "\n")
	return e, true
}

// Codes lists every code, in the order of explanation: those of verified
// programs first, then those of the language, then the rest.
func Codes() []Code {
	codes := make([]Code, len(explanations))
	for i, e := range explanations {
		codes[i] = e.Code
	}
	return codes
}
