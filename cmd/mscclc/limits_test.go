package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir/diag"

	"github.com/spf13/pflag"
)

// limitedFile reaches every limit of the language.
const limitedFile = `algorithm every(ranks = 4, name = "four")
import "a.mscl"
import "c.mscl"
collective allreduce(ranks, inplace = true)
let all = [0, 1, 2, 3]
parallelize(2) {
    for i in all {
        let c = twice(chunk((i + 1) % ranks, input, i))
        for step in 2..ranks + 1 { c = chunk((i + (step)) % ranks, input, i).reduce(c) }
        for step in 0..ranks - 1 { c = c.copy((i + step + 1) % ranks, input, i) }
    }
}
`

// TestLimitHints: a message about a limit names the flag with a value that works, on every command that has it.
func TestLimitHints(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{"a.mscl": "def twice(c) = c\n", "c.mscl": "def thrice(c) = c\n", "every.mscl": limitedFile}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"every.xml", "every.mprog", "every.json"} {
		if code, text := called("compile every.mscl -o " + file); code != cli.ExitGood {
			t.Fatalf("%s: %s", file, text)
		}
	}
	language := []string{"steps=20", "ops=5", "cells=10", "file=100", "files=1", "list=2", "nesting=1",
		"string=3", "parts=1"}
	for _, c := range []struct {
		command string
		limits  []string
	}{
		{"compile every.mscl -o other.xml", append([]string{"insts=10", "moves=10", "work=1"}, language...)},
		{"compile every.mscl --target mscclpp -o other.json", []string{"insts=10", "moves=10", "work=1"}},
		{"verify every.mscl", language},
		{"verify every.xml", []string{"cells=10", "moves=10", "work=1"}},
		{"verify every.mprog", []string{"cells=10", "moves=10", "work=1"}},
		{"verify every.json", []string{"cells=10", "moves=10", "work=1"}},
		{"run every.mscl --bytes 1K", language},
		{"run every.json --bytes 1K", []string{"cells=10", "moves=10"}},
		{"show every.mscl program", language},
		{"show every.json", []string{"cells=10", "moves=10"}},
		{"lint every.json --ignore mscclpp-reduce,mscclpp-graph,lint-meet", []string{"cells=10", "moves=10"}},
		{"fmt every.mscl", []string{"file=100", "nesting=1", "string=3"}},
		{"list every.mscl", []string{"file=100", "nesting=1", "string=3"}},
		{"simulate every.mscl -t h200:gpus=4 -b 1M -e 1M", language},
		{"select allreduce every.mscl -t h200:gpus=4 -b 1M -e 1M", language},
		{"search allreduce every.mscl -b 1K -e 1K --replays 1 -o t.table", []string{"file=100", "string=3"}},
	} {
		for _, limit := range c.limits {
			follow(t, c.command, limit)
		}
	}
}

var limitFlagText = regexp.MustCompile(`--limit ([a-z]+=[0-9]+[KMG]?) (is enough|allows more)`)

// follow calls a command under a limit, then as the hint of its message says, which must do.
func follow(t *testing.T, command, limit string) {
	t.Helper()
	code, text := called(command + " --limit " + limit)
	name, _, _ := strings.Cut(limit, "=")
	hint := limitFlagText.FindStringSubmatch(text)
	if code != cli.ExitInput || hint == nil || !strings.HasPrefix(hint[1], name+"=") {
		t.Errorf("%s --limit %s: exit code %d\n%s", command, limit, code, text)
		return
	}
	if code, text := called(command + " --limit " + hint[1]); code != cli.ExitGood {
		t.Errorf("%s --limit %s: exit code %d\n%s", command, hint[1], code, text)
	}
}

// Called runs a command and returns its exit code, and what it printed.
func called(command string) (int, string) {
	var out bytes.Buffer
	code := main1(strings.Fields(command), strings.NewReader(""), &out, &out)
	return code, out.String()
}

// TestLimitValues: a value that is too large is refused, with the largest. No message names the flag where a command
// does not have it.
func TestLimitValues(t *testing.T) {
	for limit, want := range map[string]string{
		"work=9223372036854775807": "work takes a number from 1 to 1048576G",
		"nesting=20000":            "nesting takes a number from 1 to 10K",
		"file=2G":                  "file takes a number from 1 to 2047M",
		"steps=0":                  "steps takes a number from 1 to",
		"cells=-1":                 "cells takes a number from 1 to 1G",
		"insts=99999999999999":     "insts takes a number from 1 to 1G",
	} {
		code, text := called("verify allreduce/ring --limit " + limit)
		if code != cli.ExitUsage || !strings.Contains(text, want) {
			t.Errorf("--limit %s: exit code %d, %q, want %q", limit, code, text, want)
		}
	}
	big := filepath.Join(t.TempDir(), "big.topo")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	if code, text := called("topo " + big); code != cli.ExitInput || strings.Contains(text, "--limit") {
		t.Errorf("a topology that is too large: exit code %d\n%s", code, text)
	}
}

// TestLargeProgram: when a program is written that is larger than what is usually read, a note names the flag that
// reads it.
func TestLargeProgram(t *testing.T) {
	block := make([]byte, 1<<20)
	hints := map[int]string{512: "", 513: "mscclc reads it with --limit file=513M",
		2050: "mscclc reads files of up to 2047 MiB"}
	for megabytes, want := range hints {
		var said bytes.Buffer
		a := cli.NewApp(nil, nil, io.Discard, &said, nil)
		err := a.WriteProgram("-", func(w io.Writer) (err error) {
			for i := 0; i < megabytes && err == nil; i++ {
				_, err = w.Write(block)
			}
			return err
		})
		if err != nil || !strings.Contains(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%d MiB: %v, %q, want %q", megabytes, err, said.String(), want)
		}
	}
	var lim cli.Limits
	cli.LimitFlag(new(pflag.FlagSet), &lim, cli.LimitNames())
	if err := lim.Set("file=513M"); err != nil {
		t.Fatal(err)
	}
	for want, read := range map[string]codegen.ReadOptions{"--limit file=2047M allows more": {}, "EOF": lim.Read} {
		r := io.MultiReader(io.LimitReader(endless{}, 513<<20-100), strings.NewReader(strings.Repeat(" ", 100)))
		_, err := io.Copy(io.Discard, codegen.LimitFile("a.json", r, read))
		var found diag.List
		if errors.As(err, &found) != (want != "EOF") || found != nil && found[0].Hint != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
