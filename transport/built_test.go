package transport

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
)

// This file builds programs and libraries of testdata. All tests of a process share what they build: a unit is compiled
// once for each set of flags.

// built has what was built: a file for each set of arguments.
var built = struct {
	sync.Mutex
	dir   string
	files map[string]func() (string, error)
}{files: map[string]func() (string, error){}}

// RemoveBuilt removes what tests have built.
func RemoveBuilt() {
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

// once makes a file of this name in a folder of its own, unless a test has made it with these arguments.
func once(name string, args []string, make func(file string) error) (string, error) {
	key := fmt.Sprintf("%s %q", name, args)
	built.Lock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "transport")
		if err != nil {
			built.Unlock()
			return "", err
		}
		built.dir = dir
	}
	if built.files[key] == nil {
		file := filepath.Join(built.dir, fmt.Sprint(len(built.files)), name)
		built.files[key] = sync.OnceValues(func() (string, error) {
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				return "", err
			}
			return file, make(file)
		})
	}
	file := built.files[key]
	built.Unlock()
	return file()
}

func gxx(args ...string) error {
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("g++ %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// object compiles a unit.
func object(unit string, flags []string) (string, error) {
	return once(filepath.Base(unit)+".o", append(flags[:len(flags):len(flags)], unit), func(file string) error {
		return gxx(append(append([]string{"-std=c++17", "-O1", "-g", "-fPIC", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra",
			"-Werror", "-Wno-unused-function"}, flags...), "-c", unit, "-o", file)...) // the headers of the kernel have unused ones
	})
}

// Linked builds a program of units, which are compiled with these flags. Flag -shared makes it a library. Tests of both
// packages in this folder call it.
func Linked(t *testing.T, name string, units []string, flags ...string) string {
	t.Helper()
	file, err := once(name, append(flags[:len(flags):len(flags)], units...), func(file string) error {
		objects := make([]string, len(units))
		var g errgroup.Group
		g.SetLimit(runtime.NumCPU())
		for i, unit := range units {
			g.Go(func() (err error) {
				objects[i], err = object(unit, flagsOf(unit, flags))
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		return gxx(append(append(append([]string{"-o", file}, flags...), objects...), "-ldl", "-lpthread")...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// flagsOf returns the flags that a unit is compiled with: macros are for units of testdata.
func flagsOf(unit string, flags []string) []string {
	if strings.HasPrefix(unit, "testdata/") {
		return flags
	}
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return strings.HasPrefix(flag, "-D") })
}

// Units returns the units of the package.
func Units(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("*.cc")
	if err != nil || len(list) == 0 {
		t.Fatalf("no units: %v", err)
	}
	return list
}

// engineProgram builds a program of testdata with the package, and plugin a net plugin of a version of NCCL's
// interface.
func engineProgram(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return Linked(t, name, append(Units(t), "testdata/"+name+".cc"), flags...)
}

func plugin(t *testing.T, version int, flags ...string) string {
	t.Helper()
	return Linked(t, "libnccl-net-tests.so", []string{"testdata/plugin.cc"},
		append(flags, fmt.Sprintf("-DVERSION=%d", version), "-shared")...)
}
