package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/internal/testing/objects"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == objects.Compiler {
		objects.Main()
	}
	testscript.Main(sharing{m}, map[string]func(){"mscclc": main})
}

// sharing are tests that compile the library as those of package runtime do: what either compiles, the other takes.
type sharing struct{ *testing.M }

func (m sharing) Run() int {
	if err := flag.Set("test.parallel", "4"); err != nil { // scripts mostly wait
		panic(err)
	}
	dir, err := os.MkdirTemp("", "mscclc-compiler")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := objects.Use(dir); err != nil {
		panic(err)
	}
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("MSCCLC_UPDATE") != "",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			return false, errors.New("no condition " + strconv.Quote(name))
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("MSCCLC_CACHE", "off") // a script that looks at the cache has a folder of its own
			return nil
		},
	})
}

// exits runs a command that must exit with a code: exits 2 mscclc nonsense
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// A panic anywhere is an internal error with a short text.
func TestPanicIsInternalError(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := main1([]string{"compile", "-"}, panicking{}, &stdout, &stderr)
	if code != cli.ExitInternal || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	text := stderr.String()
	if !strings.Contains(text, "error: at the bottom [internal]") || strings.Count(text, "\n") > 4 {
		t.Errorf("stderr is\n%s", text)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("at the bottom") }

// silent returns a run of the command that reads and writes nothing.
func silent() *cli.App { return cli.NewApp(nil, nil, io.Discard, io.Discard, nil) }
