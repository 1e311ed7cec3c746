package objects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == Compiler {
		Main()
	}
	os.Exit(m.Run())
}

// TestCachedCompiler: an object is made anew where the text of its unit, a header or a flag is another, and not where
// only the folder is. A unit that is wrong is an error each time, and a warning is seen each time.
func TestCachedCompiler(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip(err)
	}
	cache, links := t.TempDir(), t.TempDir()
	t.Setenv("CXX", "")
	t.Setenv("PATH", os.Getenv("PATH"))
	if err := Use(links); err != nil || os.Getenv("CXX") != Compiler {
		t.Fatal(os.Getenv("CXX"), err)
	}
	compile := func(header, unit string, flags ...string) (kept int, object []byte, said string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "runtime")
		os.Mkdir(dir, 0o700)
		os.WriteFile(filepath.Join(dir, "one.h"), []byte(header), 0o600)
		os.WriteFile(filepath.Join(dir, "one.cc"), []byte(unit), 0o600)
		cmd := exec.Command(filepath.Join(links, Compiler),
			append(flags, "-c", filepath.Join(dir, "one.cc"), "-o", filepath.Join(dir, "one.o"))...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
		out, _ := cmd.CombinedOutput()
		object, _ = os.ReadFile(filepath.Join(dir, "one.o"))
		list, _ := filepath.Glob(filepath.Join(cache, "mscclc", "test-objects", "*.o"))
		return len(list), object, string(out)
	}
	const unit = "#include \"one.h\"\nint f() { return one; }\n"
	for i, c := range []struct {
		header, unit string
		flags        []string
		kept         int
		says         string
	}{
		{"#define one 1\n", unit, nil, 1, ""},
		{"#define one 1\n", unit, nil, 1, ""},
		{"#define one 2\n", unit, nil, 2, ""},
		{"#define one 2\n", unit, []string{"-O2"}, 3, ""},
		{"#define one 2\n", unit, []string{"-O2", "-DOTHER"}, 4, ""},
		{"#define one 2\n", "\n" + unit, []string{"-O2"}, 5, ""},
		{"#define one x\n", unit, nil, 5, "'x' was not declared"},
		{"#define one x\n", unit, nil, 5, "'x' was not declared"},
		{"#define one 1; int y\n", unit, []string{"-Wall"}, 5, "unused variable"},
		{"#define one 1; int y\n", unit, []string{"-Wall"}, 5, "unused variable"},
	} {
		kept, object, said := compile(c.header, c.unit, c.flags...)
		said = strings.NewReplacer("‘", "'", "’", "'").Replace(said)
		if kept != c.kept || !strings.Contains(said, c.says) || c.says == "" && (said != "" || len(object) == 0) {
			t.Errorf("case %d: %d objects are kept, and it says %q", i, kept, said)
		}
	}
}
