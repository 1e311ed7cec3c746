package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// TestBenchInterrupted: a bench --json that is interrupted while it measures leaves a whole document, which says so.
func TestBenchInterrupted(t *testing.T) {
	text, err := os.ReadFile("../../algorithms/allreduce/ring.mscl")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, strings.Repeat("# more than a pipe holds\n", 8<<10)...)
	for _, args := range []string{"bench -", "compare allreduce -", "search allreduce -", "bench allreduce - --online 5"} {
		cmd := exec.Command("mscclc", strings.Fields(args+" --ranks 2 -b 1K -e 64M -f 2 --replays 10000 --json")...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, err = in.Write(text) // the command knows of signals when it reads
		in.Close()
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		var doc cli.Failure
		code := cmd.ProcessState.ExitCode()
		if err != nil || code != cli.ExitInterrupted || json.Unmarshal(stdout.Bytes(), &doc) != nil {
			t.Errorf("%s: %v, exit code %d, and\n%s%s", args, err, code, stdout.String(), stderr.String())
		} else if doc.OK || len(doc.Problems) != 1 || doc.Problems[0].Message != "interrupted" {
			t.Errorf("%s: the document is\n%s", args, stdout.String())
		}
	}
}
