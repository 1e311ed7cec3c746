package lang

import (
	_ "embed"
	"strings"
)

//go:embed doc.go
var packageComment string

// Brief is a section of the package comment, by its heading, as plain text; "" where there is none.
func Brief(heading string) string {
	_, text, _ := strings.Cut(packageComment, "\n// # "+heading+"\n//\n")
	text, _, _ = strings.Cut(text, "\n// # ")
	text, _, _ = strings.Cut(text, "\npackage ")
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "//"), " "))
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, "\n")), "\t", "    ")
}
