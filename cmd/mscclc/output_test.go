package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
)

// writingEnv names the file that TestSignals's child process writes until a signal ends it.
const writingEnv = "MSCCLC_TEST_WRITING"

// TestSignals: a signal that ends the process leaves no temporary file, and the old file as it was.
func TestSignals(t *testing.T) {
	if path := os.Getenv(writingEnv); path != "" {
		cli.RemoveOnSignal()
		a := cli.NewApp(nil, nil, os.Stdout, io.Discard, nil)
		t.Fatal(a.WriteTo(path, func(w io.Writer) error {
			w.Write(make([]byte, 1<<20))
			os.Stdout.WriteString("writing\n")
			time.Sleep(time.Minute)
			return nil
		}))
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			t.Logf("%v is ignored here, as nohup has it", s)
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "old.xml")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignals$")
		cmd.Env = append(os.Environ(), writingEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for line := ""; line != "writing\n"; {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if list, _ := os.ReadDir(dir); len(list) != 2 {
			t.Fatalf("%d files while one is written, want 2", len(list))
		}
		cmd.Process.Signal(s)
		cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != s {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
		list, err := os.ReadDir(dir)
		text, _ := os.ReadFile(path)
		if err != nil || len(list) != 1 || string(text) != "old" {
			t.Errorf("%v leaves %v, and %.40q in the file: %v", s, list, text, err)
		}
	}
}

// TestNoFiles: what is no file is refused wherever a file is read, and at once, though nobody writes to the pipe.
func TestNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("a.mscl", 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"a.xml", "a.json", "a.topo", "a.table"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", "socket.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile("importing.mscl",
		[]byte("algorithm a(ranks = 2)\ncollective allgather(ranks)\nimport \"a.mscl\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"verify a.xml":                          "this is a named pipe",
		"verify a.mscl a.json":                  "this is a named pipe",
		"verify socket.xml":                     "this is a socket",
		"verify importing.mscl":                 "a.mscl cannot be read: it is a named pipe",
		"compile a.mscl":                        "this is a named pipe",
		"run a.xml":                             "this is a named pipe",
		"run allreduce --table a.table":         "this is a named pipe",
		"bench a.xml":                           "this is a named pipe",
		"bench allreduce --table a.table":       "this is a named pipe",
		"show a.json":                           "this is a named pipe",
		"lint a.json":                           "this is a named pipe",
		"fmt a.mscl":                            "this is a named pipe",
		"list a.mscl":                           "this is a named pipe",
		"simulate a.xml":                        "this is a named pipe",
		"simulate allreduce/ring -t a.topo":     "this is a named pipe",
		"simulate allreduce/ring --costs a.xml": "this is a named pipe",
		"select allreduce -t a.xml":             "this is a named pipe",
		"select allreduce --costs a.json":       "this is a named pipe",
		"topo a.topo":                           "this is a named pipe",
		"compile allreduce/ring -o a.xml":       "no program reads this pipe",
		"show allreduce/ring -o a.xml":          "no program reads this pipe",
	} {
		var stdout, stderr bytes.Buffer
		if code := main1(strings.Fields(command), strings.NewReader(""), &stdout, &stderr); code != cli.ExitInput ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, and\n%s", command, code, stderr.String())
		}
	}
}

// TestLongFiles: a message of a file is as true of a long one, and one that is too long is refused by the limit.
func TestLongFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	blank := bytes.Repeat([]byte(" "), 65<<20)
	for name, c := range map[string]struct{ head, tail, want string }{
		"list.json":  {"[", "]", "list.json is JSON, and neither a program file of mscclc nor a plan of MSCCL++"},
		"empty.json": {"", "", "empty.json is empty"},
		"late.json":  {"", `{"gpus":[]}`, "late.json begins with more than 64 KiB of blanks"},
		"after.json": {"[", "] 1", "the file is no JSON: invalid character '1' after top-level value"},
		"plan.json":  {`{"gpus":[`, "]}", `keys "name", "collective", "protocol", "inplace" are missing`},
		"long.mscl":  {"", "", "the file has 68157440 bytes; the limit file is 1048576"},
	} {
		if err := os.WriteFile(name, append(append([]byte(c.head), blank...), c.tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := main1([]string{"verify", name}, strings.NewReader(""), &stdout, &stderr); code != cli.ExitInput ||
			!strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, and\n%.400s", name, code, stderr.String())
		}
	}
}
