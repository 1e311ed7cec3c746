// Package objects caches the object files that g++ makes in tests. The tests of package runtime compile the same
// sources about seven times: plain, for each of the two libraries, and under sanitizers. The tests of the command
// mscclc compile them once more.
//
// [Use] sets the environment variable CXX to the name of a link to the test binary. A test binary that is started by
// this name calls [Main], which acts as a compiler. Main takes the object from the cache, if the cache has one for the
// same preprocessed text and the same flags. Otherwise it calls g++.
package objects

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Compiler is the name of the compiler.
const Compiler = "mscclc-test-g++"

// unused is how long an object is kept that nobody uses.
const unused = 7 * 24 * time.Hour

// Main is the compiler: it ends the process.
func Main() { os.Exit(compileCached(os.Args[1:])) }

// Use has package runtime compile by the compiler, whose link it puts into a folder, unless the environment names
// another one. It also removes objects that nobody used for long.
func Use(dir string) error {
	forgetObjects()
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(own, filepath.Join(dir, Compiler)); err != nil || os.Getenv("CXX") != "" {
		return err
	}
	os.Setenv("CXX", Compiler)
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return nil
}

// Environ returns the environment without CXX if that names Compiler: for the Go tool, which else compiles packages
// with C++ again.
func Environ() []string {
	env := os.Environ()
	if os.Getenv("CXX") == Compiler {
		env = append(env, "CXX=")
	}
	return env
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
