package withcmd

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
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
)

// soname is what NCCL is called.
const soname = "libnccl.so.2"

// findNCCL returns the file of NCCL, or none. Where --replace does not need it, there may be no file.
func (f *withFlags) findNCCL(a *cli.App) (string, error) {
	if f.nccl == none {
		return none, nil
	}
	if f.nccl != "" {
		path, err := filepath.Abs(f.nccl)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, soname)
		}
		names, err := exports(path)
		if err == nil && (!slices.Contains(names, "ncclCommInitRank") || slices.Contains(names, ours)) {
			err = fmt.Errorf("%s is not NCCL", path)
		}
		if err != nil {
			return "", unavailable("%v", err)
		}
		return path, nil
	}
	for _, path := range candidates() {
		if names, err := exports(path); err == nil && slices.Contains(names, "ncclCommInitRank") &&
			!slices.Contains(names, ours) {
			return path, nil
		}
	}
	if f.replace {
		return "", unavailable("%s is not found on LD_LIBRARY_PATH, by ldconfig, or in the packages of python3; give --nccl FILE",
			soname)
	}
	a.Note("", "%s is not found here; the program must bring its own", soname)
	return "", nil
}

// ours is a symbol of the library that stands in NCCL's place.
const ours = "mscclc_forwards"

// candidates returns the places where NCCL may be, in the order in which programs find it.
func candidates() (paths []string) {
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if dir != "" {
			paths = append(paths, filepath.Join(dir, soname))
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
			paths = append(paths, filepath.Join(dir, "nvidia", "nccl", "lib", soname))
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
			if ok && strings.HasPrefix(strings.TrimSpace(name), soname+" ") {
				paths = append(paths, path)
			}
		}
		return paths
	}
	return nil
}

// exports returns the names that a library defines.
func exports(path string) ([]string, error) {
	return defined(path, func(elf.Symbol) bool { return true })
}

// functions returns the functions that a library defines.
func functions(path string) ([]string, error) {
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

// missing returns the functions of NCCL that the library does not hand on.
func missing(nccl, library string) (names []string, err error) {
	theirs, err := functions(nccl)
	if err != nil {
		return nil, err
	}
	known, err := exports(library)
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
