package algorithms_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mscclc/ir/diag"
)

// writeMatrix keeps what the full matrix said.
func writeMatrix(t *testing.T, all []program, tallies []tally, d time.Duration) {
	var b strings.Builder
	tried, total := 0, 0
	fmt.Fprintf(&b, "# What was run\n\nMade by `MSCCLC_TESTS=full go test -timeout 0 -run TestMatrix ./algorithms`: each program with 2 to 17 ranks,\n"+
		"where it has that many, for targets msccl, rccl and program, each protocol, 1 to 4 instances, in place and out of place,\n"+
		"with fusion and without; compiled, proven, written, read back, proven again, and run on the CPU with every element\n"+
		"compared. *limit* and *unsupported* count what a target refused: too large for it, or not in its format (LL16; custom and\n"+
		"sendrecv for rccl).\n\n| program | combinations | 0 wrong | limit | unsupported |\n|---|---|---|---|---|\n")
	kept, _ := matrixParts(t)
	for i, p := range all {
		y := tallies[i]
		n := y.ran + y.refused[diag.Limit] + y.refused[diag.Unsupported]
		row := fmt.Sprintf("| %s | %d | %d | %d | %d |\n", p.name, n, y.ran, y.refused[diag.Limit], y.refused[diag.Unsupported])
		if n == 0 { // this run has not tried it
			row = keptRow(kept, p.name)
			fmt.Sscanf(row, "| "+p.name+" | %d", &n)
		}
		tried, total = tried+min(n, 1), total+n
		b.WriteString(row)
	}
	fmt.Fprintf(&b, "\n%d programs, %d combinations, nothing wrong.\n", tried, total)
	t.Logf("%d combinations in %v", total, d)
	keepMatrix(t, b.String(), "")
}

// keepMatrix writes MATRIX.md, a part of which may stay as it is: that of two-sided programs, or what follows
// of one-sided ones.
func keepMatrix(t *testing.T, two, one string) {
	before, after := matrixParts(t)
	text := cmp.Or(two, before) + betweenParts + cmp.Or(one, after)
	if err := os.WriteFile("MATRIX.md", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

const betweenParts = "\n## One-sided\n\n"

// matrixParts returns the two parts of MATRIX.md.
func matrixParts(t *testing.T) (two, one string) {
	kept, err := os.ReadFile("MATRIX.md")
	if err != nil {
		t.Fatal(err)
	}
	two, one, _ = strings.Cut(string(kept), betweenParts)
	return two, one
}

// keptRow returns the row of a program in a page that is there already, or nothing.
func keptRow(page, name string) string {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| "+name+" |") {
			return line
		}
	}
	return ""
}
