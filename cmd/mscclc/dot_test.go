package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/codegen/program"
	"mscclc/ir/irtest/parse"
)

// exchangeProgram is two ranks that exchange a chunk by packets, and say so by flags.
const exchangeProgram = `program exchange
collective allreduce ranks=2 chunks=1 inplace
protocol LL
scratch 0
even
for inplace
onesided depth 2
packets 1
flags 1
block 0.0
  0 mv input[0] -> 1:packets[0]
  1 mv input[0] + packets[0] -> output[0] final
  2 signal 1:flags[0] leave
  3 wait flags[0] x1 leave
block 1.0
  0 mv input[0] -> 0:packets[0]
  1 mv input[0] + packets[0] -> output[0] final
  2 signal 0:flags[0] leave
  3 wait flags[0] x1 leave
`

// exchangePlan returns a file that holds exchangeProgram.
func exchangePlan(t *testing.T) string { return planFile(t, exchangeProgram) }

// planFile returns a file that holds the program of a text.
func planFile(t *testing.T, text string) string {
	t.Helper()
	p, err := parse.Program("exchange", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := program.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "exchange.mprog")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// show prints a one-sided plan as the text that it was made of, as JSON and as a
// graph with an arrow for each chunk of packets and each flag.
func TestShowOneSided(t *testing.T) {
	file := exchangePlan(t)
	for stage, want := range map[string][]string{
		"program": {exchangeProgram},
		"json":    {`"depth":2`, `"op":"mv"`, `"packets":1,"flags":1`},
		"dot": {"  b0_0:s0 -> b1_0:s1\n", "  b1_0:s0 -> b0_0:s1\n", "  b0_0:s2 -> b1_0:s3 [style=dashed]\n",
			"  b1_0:s2 -> b0_0:s3 [style=dashed]\n", `| <s0> 0 mv input[0] -\> 1:packets[0] |`},
	} {
		var stdout, stderr bytes.Buffer
		if code := main1([]string{"show", file, stage}, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("show %s exits with %d: %s", stage, code, stderr.String())
		}
		for _, w := range want {
			if !strings.Contains(stdout.String(), w) {
				t.Errorf("show %s lacks %q in\n%s", stage, w, stdout.String())
			}
		}
	}
	_, line, _ := command("verify", file)
	if want := "proven: 2 ranks, one-sided, 2 blocks, 8 steps, 2 signals, 2 packets, every size; " +
		"allreduce exchange"; !strings.Contains(line, want) {
		t.Errorf("verify prints %q, want %q", line, want)
	}
}
