package runtime_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// explored is a program of testdata that drives code of the library through all orders of events: the very code, whose
// units it is linked with. Its argument is the number of ranks.
type explored struct {
	program string
	units   []string
	most    string
	faults  []planted
}

// A planted fault is a change to a unit that makes it wrong. The program must end with an error.
type planted struct{ name, unit, from, to string }

// object compiles a source of the library or of testdata. include is where the library's source lies, if it is a copy.
func object(t *testing.T, source, include string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.o")
	flags := []string{"-std=c++17", "-O2", "-Wall", "-Wextra", "-I", include, "-c", source, "-o", file}
	if out, err := exec.Command(cmp.Or(os.Getenv("CXX"), "g++"), flags...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// run links objects and runs the program.
func (x explored) run(t *testing.T, most string, objects map[string]string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), x.program)
	args := []string{"-o", file}
	for _, o := range objects {
		args = append(args, o)
	}
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(file, most).CombinedOutput()
	return string(out), err
}

// try runs the program as it is, and with each planted fault for up to three ranks.
func (x explored) try(t *testing.T) {
	tree, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(tree, "runtime", "src")
	objects := map[string]string{x.program: object(t, filepath.Join("testdata", x.program+".cc"), src)}
	for _, u := range x.units {
		objects[u] = object(t, filepath.Join(src, u), src)
	}
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		out, err := x.run(t, x.most, objects)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s ranks: %s", x.most, out)
	})
	for _, f := range x.faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			good, err := os.ReadFile(filepath.Join(src, f.unit))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(good), f.from) != 1 {
				t.Fatalf("%q is not once in %s", f.from, f.unit)
			}
			changed := filepath.Join(t.TempDir(), "runtime", "src", f.unit)
			if err := os.MkdirAll(filepath.Dir(changed), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(changed, []byte(strings.Replace(string(good), f.from, f.to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			with := map[string]string{f.unit: object(t, changed, filepath.Dir(filepath.Join(src, f.unit)))}
			for name, o := range objects {
				with[name] = cmp.Or(with[name], o)
			}
			out, err := x.run(t, "3", with)
			if err == nil {
				t.Errorf("it is not found:\n%s", out)
			}
			t.Logf("%s", out)
		})
	}
}
