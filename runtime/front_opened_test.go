package runtime_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	library "mscclc/runtime"
)

// A framework is an object with NCCL, as it is linked.
type framework struct {
	name  string
	units []string
	flags []string
}

// frameworks builds objects that use NCCL, in folder dir. nccl is the mock libnccl.so.2.
func frameworks(t *testing.T, dir, nccl string) {
	t.Helper()
	const part, mock = "testdata/framework.cc", "testdata/standin_nccl.cc"
	hidden := write(t, []byte("{ global: framework_start; local: *; };"))
	shared := []string{"-shared", "-fPIC"}
	soname := func(name string) string { return "-Wl,-soname," + name }
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, f := range []framework{
		{"static.so", []string{part, mock}, shared},
		{"hidden.so", []string{part, mock}, append([]string{"-Wl,--version-script=" + hidden}, shared...)},
		{"symbolic.so", []string{part, mock}, append([]string{"-Wl,-Bsymbolic"}, shared...)},
		{"linked.so", []string{part, nccl}, shared},
		{"libother.so", []string{mock}, append([]string{soname("libother.so")}, shared...)},
		{"renamed.so", []string{part, at("libother.so")}, append([]string{"-Wl,-rpath," + dir}, shared...)},
		{"opens.so", []string{part}, append([]string{"-DFRAMEWORK_OPENS"}, shared...)},
		{"program", []string{"testdata/opens.cc"}, nil},
		{"static", []string{"testdata/opens.cc", part, mock}, nil},
		{"exporting", []string{"testdata/opens.cc", part, mock}, []string{"-rdynamic"}},
		{"linked", []string{"testdata/opens.cc", part, nccl}, nil},
	} {
		if err := library.Link(at(f.name), append(f.units, "-lstdc++"), append(f.flags, "-std=c++17", "-O1")...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFrontOpened: programs that work without the library work with it, in whatever way they have NCCL. Calls that come
// to the library run by programs.
func TestFrontOpened(t *testing.T) {
	t.Parallel()
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	dir, nccl := t.TempDir(), filepath.Join(made, "real", "libnccl.so.2")
	frameworks(t, dir, nccl)
	file := wholeBundle(t, 2)
	for _, c := range []struct {
		name, program, how, object string
		comes                      bool // its calls come to the library
	}{
		{"an executable that links it", "linked", "own", "", true},
		{"an executable that has it", "static", "own", "", false},
		{"an executable that exports it", "exporting", "own", "", false},
		{"another name", "program", "local", "renamed.so", true},
		{"linked, for all to see", "program", "global", "linked.so", true},
		{"linked, for itself", "program", "local", "linked.so", true},
		{"linked, its own first", "program", "deepbind", "linked.so", false},
		{"linked, another namespace", "program", "dlmopen", "linked.so", false},
		{"inside, for all to see", "program", "global", "static.so", true},
		{"inside, for itself", "program", "local", "static.so", true},
		{"inside, after an early question", "program", "early", "static.so", true},
		{"inside, its own first", "program", "deepbind", "static.so", false},
		{"inside, another namespace", "program", "dlmopen", "static.so", false},
		{"inside, hidden", "program", "local", "hidden.so", false},
		{"inside, bound to itself", "program", "local", "symbolic.so", false},
		{"opened by its path", "program", "local", "opens.so", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var alone string
			for _, how := range []string{"plain", "preload"} {
				s := site{how: how, ranks: 2, bundle: file}
				folder := t.TempDir()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, filepath.Join(dir, c.program), c.how, filepath.Join(dir, c.object))
				cmd.Env = append(s.environment(t, folder), "FRAMEWORK_NCCL="+nccl)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", how, err, out)
				}
				last := lastLine(string(out))
				if how == "plain" {
					alone = last
					continue
				}
				if last != alone {
					t.Errorf("it says %q, and alone %q", last, alone)
				}
				if native := strings.Contains(stats(folder), `"native":true`); native != c.comes {
					t.Errorf("native calls: %v\n%s", native, out)
				}
			}
		})
	}
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
