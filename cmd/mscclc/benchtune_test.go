package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
)

// TestTuneInterrupted: the document of a tuning that was interrupted has the table so far, and says that it was
// interrupted.
func TestTuneInterrupted(t *testing.T) {
	var stdout bytes.Buffer
	a := &app{cli.NewApp(nil, nil, &stdout, os.Stderr, nil)}
	a.JSON = true
	err := a.writeTable("", &choose.Table{Version: choose.TableVersion}, context.Canceled)
	var doc tunedDocument
	if err != (cli.ReportedError{Code: cli.ExitInterrupted}) || json.Unmarshal(stdout.Bytes(), &doc) != nil {
		t.Fatalf("%v, and\n%s", err, stdout.String())
	}
	if len(doc.Problems) != 1 || doc.Problems[0].Message != "interrupted" || doc.Version != choose.TableVersion {
		t.Errorf("the document is\n%s", stdout.String())
	}
}

// TestBenchInterrupted: a bench --json that is interrupted while it measures leaves a whole document, which says so.
func TestBenchInterrupted(t *testing.T) {
	text, err := os.ReadFile("../../algorithms/allreduce/ring.mscl")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, strings.Repeat("# more than a pipe holds\n", 8<<10)...)
	for _, args := range []string{"-", "allreduce - --judge", "allreduce - --online 5"} {
		cmd := exec.Command("mscclc", strings.Fields("bench "+args+" --ranks 2 -b 1K -e 64M -f 2 --replays 10000 --json")...)
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

// TestRuled holds how far each rule of a table reaches: half a factor beyond its last size, and all that is larger than
// what is large.
func TestRuled(t *testing.T) {
	for _, c := range []struct {
		sizes  []int64
		factor int64
		want   string
	}{
		{[]int64{1 << 10, 4 << 10, 16 << 10}, 4, "[2048 8192 32768]"},
		{[]int64{1 << 10, 3 << 10}, 9, "[1773 9216]"},
		{[]int64{1 << 10, 1 << 30}, 1 << 20, "[1048576 0]"},
	} {
		var rules []choose.Rule
		for i := range c.sizes {
			rules = ruled(rules, choose.Rule{Variant: choose.Variant{Columns: 1 + i}}, c.sizes, i, c.factor)
		}
		var ends []int64
		for _, r := range rules {
			ends = append(ends, r.UpTo)
		}
		if got := fmt.Sprint(ends); got != c.want {
			t.Errorf("%v, each %d times the one before: rules up to %s, not %s", c.sizes, c.factor, got, c.want)
		}
	}
}
