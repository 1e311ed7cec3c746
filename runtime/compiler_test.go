package runtime_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	library "mscclc/runtime"
)

// This file has tests keep what g++ compiles. They compile the library's units about seven times: plain, for both
// libraries, and under sanitizers. CXX names a link to the test's own program, which is a compiler under that name. It
// asks g++ only for units whose text, after the preprocessor, it has not compiled with these flags before.

// cachedCompiler is the name of the compiler, and unused is how long an object is kept that nobody uses.
const (
	cachedCompiler = "mscclc-test-g++"
	unused         = 7 * 24 * time.Hour
)

// useCachedCompiler has package runtime compile by the cached compiler, whose link it puts into a folder, unless the
// environment names another one.
func useCachedCompiler(dir string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(own, filepath.Join(dir, cachedCompiler)); err != nil || os.Getenv("CXX") != "" {
		return err
	}
	os.Setenv("CXX", cachedCompiler)
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return nil
}

// compileCached runs g++ with the arguments of the process, or takes what it made before. It returns the exit code.
func compileCached(args []string) int {
	unit, object := slices.Index(args, "-c")+1, slices.Index(args, "-o")+1
	if unit == 0 || object == 0 || unit == len(args) || object == len(args) {
		return gxx(args, nil)
	}
	kept, err := keptObject(args, unit, object)
	if !slices.Contains(args, "-Werror") { // who asks for errors names the warnings; the mock driver's are others
		shown := []string{"-Wall", "-Wextra", "-Wshadow"} // what is kept has none of these
		args, object = append(shown, args...), object+len(shown)
	}
	if err != nil {
		return gxx(args, nil)
	}
	if copyFile(kept, args[object]) == nil {
		now := time.Now()
		os.Chtimes(kept, now, now)
		return 0
	}
	var said bytes.Buffer
	code := gxx(args, &said)
	if code == 0 && said.Len() == 0 { // warnings are to be seen again
		part := fmt.Sprintf("%s.%d", kept, os.Getpid())
		if copyFile(args[object], part) == nil {
			os.Rename(part, kept) // another process has made the same, at worst
		}
	}
	return code
}

// unitObjects compiles units of tests to a folder, several at once.
func unitObjects(to string, units []string, flags ...string) ([]string, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	objects, errs := make([]string, len(units)), make([]error, len(units))
	room := make(chan struct{}, runtime.NumCPU())
	var wait sync.WaitGroup
	for i, unit := range units {
		objects[i] = filepath.Join(to, filepath.Base(unit)+".o")
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			errs[i] = library.Link(objects[i], []string{unit}, append([]string{"-c"}, flags...)...)
		})
	}
	wait.Wait()
	return objects, errors.Join(errs...)
}

// gxx runs g++, and returns its exit code. It also writes what g++ says to said, if that is not nil.
func gxx(args []string, said io.Writer) int {
	cmd := exec.Command("g++", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if said != nil {
		cmd.Stderr = io.MultiWriter(os.Stderr, said)
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// treePath finds the folder in which a test has written the sources, which has another name in each run.
var treePath = regexp.MustCompile(`(?m)^(# \d+ ")[^"]*/((runtime|kernels|transport|executor)/)`)

// keptObject returns the file in the user's cache for the object of a unit: of all flags but the names of files and
// those of warnings, of the compiler, and of the unit's text after the preprocessor, with its lines.
func keptObject(args []string, unit, object int) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "mscclc", "test-objects")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	compiler, err := exec.Command("g++", "--version").Output()
	if err != nil {
		return "", err
	}
	flags := slices.Clone(args)
	flags[object], flags[unit-1] = "-", "-E"
	text, err := exec.Command("g++", flags...).Output()
	if err != nil {
		return "", err
	}
	flags[unit] = filepath.Base(args[unit])
	flags = slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "-W") })
	h := sha256.New()
	fmt.Fprintf(h, "%s%s\n%s", compiler, strings.Join(flags, "\x00"), treePath.ReplaceAll(text, []byte("$1$2")))
	return filepath.Join(dir, fmt.Sprintf("%x.o", h.Sum(nil)[:16])), nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// forgetObjects removes objects that nobody used for long. What cannot be removed stays.
func forgetObjects() {
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	list, _ := filepath.Glob(filepath.Join(cache, "mscclc", "test-objects", "*"))
	for _, file := range list {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > unused {
			os.Remove(file)
		}
	}
}

// TestCachedCompiler: an object is made anew where the text of its unit, a header or a flag is another, and not where
// only the folder is. A unit that is wrong is an error each time, and a warning is seen each time.
func TestCachedCompiler(t *testing.T) {
	cache := t.TempDir()
	compile := func(header, unit string, flags ...string) (kept int, object []byte, said string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "runtime")
		os.Mkdir(dir, 0o700)
		os.WriteFile(filepath.Join(dir, "one.h"), []byte(header), 0o600)
		os.WriteFile(filepath.Join(dir, "one.cc"), []byte(unit), 0o600)
		cmd := exec.Command(filepath.Join(scratch, cachedCompiler),
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
