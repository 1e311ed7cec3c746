// Package nccllib finds the library of NCCL, and returns its version and the functions that it exports.
package nccllib

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Soname is what NCCL is called.
const Soname = "libnccl.so.2"

// None is the name that users give where a program has no NCCL.
const None = "none"

// Find returns the file of NCCL: the one that given names, or the one in that folder, or else the one that programs
// find first. It is "" where there is none, and None where given is. It fails where given names another library.
func Find(given string) (string, error) {
	if given == None {
		return None, nil
	}
	if given == "" {
		for _, path := range candidates() {
			if names, err := Exports(path); err == nil && isNCCL(names) {
				return path, nil
			}
		}
		return "", nil
	}
	path, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, Soname)
	}
	names, err := Exports(path)
	if err == nil && !isNCCL(names) {
		err = fmt.Errorf("%s is not NCCL", path)
	}
	return path, err
}

func isNCCL(names []string) bool {
	return slices.Contains(names, "ncclCommInitRank") && !slices.Contains(names, Ours)
}

// version is NCCL's after what its library says of it.
var version = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`)

// Version returns the version of NCCL in a file that Find found, or "unknown". Without NCCL it is "".
func Version(path string) string {
	const before, unknown = "NCCL version ", "unknown"
	if path == "" || path == None {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	section := f.Section(".rodata")
	if section == nil {
		return unknown
	}
	text, err := section.Data()
	for err == nil && len(text) > 0 {
		_, after, found := bytes.Cut(text, []byte(before))
		if is := version.Find(after); found && is != nil {
			return string(is)
		}
		text = after
	}
	return unknown
}

// Ours is a symbol of the library that stands in NCCL's place.
const Ours = "mscclc_forwards"

// candidates returns the places where NCCL may be, in the order in which programs find it.
func candidates() (paths []string) {
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if dir != "" {
			paths = append(paths, filepath.Join(dir, Soname))
		}
	}
	paths = append(paths, ofPython()...)
	return append(paths, ofSystem()...)
}

// ofPython returns the files that NCCL's wheel installs.
func ofPython() (paths []string) {
	out, err := exec.Command("python3", "-c", "import sys; print('\\n'.join(sys.path))").Output()
	if err != nil {
		return nil
	}
	for dir := range strings.Lines(string(out)) {
		if dir = strings.TrimSpace(dir); dir != "" {
			paths = append(paths, filepath.Join(dir, "nvidia", "nccl", "lib", Soname))
		}
	}
	return paths
}

// ofSystem returns the paths in the list of the dynamic linker.
func ofSystem() (paths []string) {
	for _, tool := range []string{"ldconfig", "/sbin/ldconfig"} {
		out, err := exec.Command(tool, "-p").Output()
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			name, path, ok := strings.Cut(s.Text(), " => ")
			if ok && strings.HasPrefix(strings.TrimSpace(name), Soname+" ") {
				paths = append(paths, path)
			}
		}
		return paths
	}
	return nil
}

// Exports returns the names that a library defines.
func Exports(path string) ([]string, error) {
	return defined(path, func(elf.Symbol) bool { return true })
}

// Functions returns the functions that a library defines.
func Functions(path string) ([]string, error) {
	return defined(path, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) == elf.STT_FUNC })
}

// defined returns the names that a library defines of symbols that are so.
func defined(path string, is func(elf.Symbol) bool) ([]string, error) {
	f, err := elf.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no library: %w", path, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s has no symbols: %w", path, err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && is(s) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// Missing returns the functions of NCCL that the library does not hand on.
func Missing(nccl, library string) (names []string, err error) {
	theirs, err := Functions(nccl)
	if err != nil {
		return nil, err
	}
	known, err := Exports(library)
	if err != nil {
		return nil, err
	}
	for _, name := range theirs {
		if strings.HasPrefix(name, "nccl") && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
