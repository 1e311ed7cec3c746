package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/ir/diag"
)

// codeAtEnd finds the codes in the messages that a command prints.
var codeAtEnd = regexp.MustCompile(`(?m): (?:error|warning): .* \[([a-z-]+)\]$`)

// TestExplainedCommands runs the commands that explain prints for every code. Each must find that code, and no other.
func TestExplainedCommands(t *testing.T) {
	shown := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		lines := e.Lines()
		if e.OneSided != "" {
			lines = append(lines, e.OneSidedLine())
		}
		if len(lines) == 0 || !devices.HasCPU && strings.HasPrefix(e.Command, "mscclc run ") {
			continue
		}
		_, printed, _ := command("explain", string(code))
		t.Run(string(code), func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, line := range lines {
				if !strings.Contains(printed, "\n    "+line+"\n") {
					t.Errorf("explain does not print %q", line)
				}
				exit, stderr := shell(t, line)
				if line == e.Before {
					continue
				}
				if exit != cli.ExitInput && exit != cli.ExitMachine && (code != diag.Ignored || exit != cli.ExitGood) {
					t.Errorf("%s: exits with %d", line, exit)
				}
				found := codeAtEnd.FindAllStringSubmatch(stderr, -1)
				if len(found) == 0 || slices.ContainsFunc(found, func(f []string) bool { return f[1] != string(code) }) {
					t.Errorf("%s: want %s alone:\n%s", line, code, stderr)
				}
			}
		})
		shown++
	}
	if want := len(diag.Codes()) - 3; devices.HasCPU && shown < want {
		t.Errorf("%d codes are shown, want at least %d", shown, want)
	}
}

// shell runs a line as a shell does: commands mscclc with pipes between them and "> FILE" at the end. It returns the
// exit code of the last command and what that printed to stderr.
func shell(t *testing.T, line string) (exit int, stderr string) {
	t.Helper()
	line, file, redirected := strings.Cut(line, " > ")
	var input string
	for part := range strings.SplitSeq(line, " | ") {
		words := strings.Fields(part)
		if words[0] != "mscclc" {
			t.Fatalf("%q is not a command of mscclc", part)
		}
		var out, err bytes.Buffer
		exit = main1(words[1:], strings.NewReader(input), &out, &err)
		input, stderr = out.String(), err.String()
	}
	if redirected {
		if err := os.WriteFile(file, []byte(input), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return exit, stderr
}

// TestReplayedExamples replays the examples of the codes that a run can show.
func TestReplayedExamples(t *testing.T) {
	if !devices.HasCPU {
		t.Skip("no CPU device")
	}
	for _, code := range diag.Codes() {
		if !code.Replayable() {
			continue
		}
		e, _ := diag.Explain(code)
		for _, line := range []string{e.Lines()[0], e.OneSidedLine()} {
			if exit, stderr := shell(t, line+" --replay"); exit != cli.ExitInput || strings.Contains(stderr, "no replay") {
				t.Errorf("%s --replay: exit code %d\n%s", line, exit, stderr)
			}
		}
		if _, printed, _ := command("explain", string(code)); !strings.Contains(printed, e.Lines()[0]+" --replay\n") {
			t.Errorf("explain %s does not print how to replay the example", code)
		}
	}
}

// TestExplainList has a line of at most 100 columns for every code.
func TestExplainList(t *testing.T) {
	_, listed, _ := command("explain")
	for _, code := range diag.Codes() {
		if strings.Count(listed, "\n  "+string(code)+" ") != 1 {
			t.Errorf("%s is not listed once", code)
		}
	}
	for line := range strings.Lines(listed) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
