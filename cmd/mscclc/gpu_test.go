//go:build cgo && linux

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"mscclc/executor/gpu/gputest"
	"mscclc/runtime"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts of the command on the mock driver, with the mock NCCL.
func TestScriptsOnGPUs(t *testing.T) {
	driver, err := gputest.Build()
	if err != nil {
		t.Fatal(err)
	}
	nccl := filepath.Join(t.TempDir(), "libnccl.so.2")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-DWITH_GATHER", "-o", nccl,
		"../../executor/nccl/testdata/standin.c",
		"-lpthread", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library, err := runtime.Cached()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/gpu",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits,
			"conforms": conforms},
		Setup: func(e *testscript.Env) error {
			e.Setenv("MSCCLC_CACHE", "off")
			e.Setenv("MSCCLC_LIBCUDA", driver)
			e.Setenv("DRIVER", driver)
			e.Setenv("NCCL", nccl)
			e.Setenv("LIB", library)
			return nil
		},
	})
}

// conforms COMMAND compares stdout with the document that help lists for a command that only GPUs run.
func conforms(ts *testscript.TestScript, _ bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	for _, d := range documents {
		if d.command == args[0] {
			ts.Check(conform(value, reflect.TypeOf(d.value)))
			return
		}
	}
	ts.Fatalf("no document is of %s", args[0])
}
