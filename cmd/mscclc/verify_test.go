package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/ir/diag"
)

// verify --json has for each problem what shows it, and its replay.
func TestVerifyJSON(t *testing.T) {
	files := examples(t)
	args := []string{"verify", "--json", "--replay", "--bitwise", "good.mscl"}
	os.WriteFile("good.mscl",
		[]byte("algorithm good()\ncollective allreduce(2, chunks = 1, inplace = true)\nlet c = chunk(0, input, 0).reduce(chunk(1, input, 0))\nc.copy(1, input, 0)\n"), 0o666)
	for name := range files {
		args = append(args, name)
	}
	if !devices.HasCPU {
		args = slices.DeleteFunc(args, func(s string) bool { return s == "--replay" })
	}
	_, out, stderr := command(args...)
	if stderr != "" {
		t.Errorf("stderr: %s", stderr)
	}
	var reports []struct {
		File     string
		OK       bool
		Problems []struct {
			Code           diag.Code
			Counterexample *struct {
				With, Chunk any
				Waits       []any
				Slots       int
			}
		}
		Proof   *struct{ Slots int }
		Bitwise *struct{ Identical bool }
		Replays []struct{ Shown bool }
	}
	if err := json.Unmarshal([]byte(out), &reports); err != nil {
		t.Fatal(err)
	}
	if r := reports[0]; !r.OK || r.Proof == nil || r.Proof.Slots != 0 || r.Bitwise == nil || !r.Bitwise.Identical {
		t.Errorf("a good file: %+v", r)
	}
	shown := 0
	for _, r := range reports[1:] {
		code := files[r.File].Code
		if filepath.Ext(r.File) == ".mscl" || !code.Replayable() {
			continue
		}
		shown++
		w := r.Problems[0].Counterexample
		if r.OK || w == nil || (code == diag.Deadlock) != (len(w.Waits) > 0) ||
			(code == diag.Race) != (w.With != nil && w.Chunk != nil) || w.Slots != 2 {
			t.Errorf("%s: counterexample %+v", r.File, w)
		}
		if devices.HasCPU && (len(r.Replays) == 0 || !r.Replays[0].Shown) {
			t.Errorf("%s: replays %+v", r.File, r.Replays)
		}
	}
	if shown != 4 {
		t.Errorf("%d codes have counterexamples", shown)
	}
}

// Files are judged at once as they are one by one.
func TestVerifyManyFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 40 {
		name := strings.Repeat("a", 1+i) + ".mscl"
		text := "algorithm x(n = 4)\ncollective allgather(n)\nfor r in 0..n { chunk(r, input, 0).copy([q for q in 0..n], output, r) }\n"
		if i%7 == 3 {
			text += "let y = z\n"
		}
		os.WriteFile(name, []byte(text), 0o666)
	}
	code, out, stderr := command("verify", ".", "nowhere", ".")
	// but for how long each took
	lines := strings.Split(regexp.MustCompile(`(?m) +[0-9.]+s$`).ReplaceAllString(strings.TrimSpace(out), ""), "\n")
	if code != cli.ExitInput || len(lines) != 82 || lines[81] != "81 files: 68 ok, 13 rejected" {
		t.Fatalf("exit code %d, %d lines\n%s\n%s", code, len(lines), out, stderr)
	}
	if !slices.IsSortedFunc(lines[:40],
		func(a, b string) int { return len(strings.Fields(a)[1]) - len(strings.Fields(b)[1]) }) {
		t.Errorf("not in order:\n%s", out)
	}
	if !slices.Equal(lines[:40], lines[41:81]) {
		t.Error("the folder's second time differs from its first")
	}
}

// An interrupt ends verify at once, after what was printed, with no half of a
// document behind.
func TestVerifyInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("no SIGINT to send")
		return
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"verify", "allgather/ring", "-"},
		{"verify", "allgather/ring", "-", "--sarif", "out.sarif"}} {
		cmd := exec.Command("mscclc", args...) // which TestMain has put there
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n') // the second file is stdin, which does not end
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		in.Close()
		if err != nil || !strings.HasPrefix(line, "ok    allgather/ring ") ||
			cmd.ProcessState.ExitCode() != cli.ExitInterrupted || stderr.String() != "mscclc: interrupted\n" {
			t.Errorf("%v: %v, %q, %q", args, cmd.ProcessState, line, stderr.String())
		}
		if files, _ := os.ReadDir("."); len(files) > 0 {
			t.Errorf("%v leaves %v", args, files)
		}
	}
}
