package runtime_test

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// siteTable knows the sites of a library, by their addresses.
type siteTable struct {
	sites map[string]callSite // by String
	of    map[uint64]string
	lines lineTable
}

// readSites reads the sites of a library.
func readSites(t *testing.T, file string) *siteTable {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := linesOf(f)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := libcSites(f, lines)
	if err != nil {
		t.Fatal(err)
	}
	driver, err := driverSites()
	if err != nil {
		t.Fatal(err)
	}
	table := &siteTable{map[string]callSite{}, map[uint64]string{}, lines}
	for _, s := range append(calls, driver...) {
		others := []string{"executor/gpu/driver.c", "transport/system.cc"}
		if !strings.HasPrefix(s.file, "runtime/src/") && !slices.Contains(others, s.file) {
			continue
		}
		for _, at := range s.at {
			table.of[at] = s.String()
		}
		table.sites[s.String()] = s
	}
	return table
}

// site returns the site of a call that was recorded, or "" for one of other parts of the library.
func (s *siteTable) site(at uint64, name string) (string, error) {
	if key := s.of[at]; key != "" {
		return key, nil
	}
	file, line := s.lines.find(at - 1)
	if !strings.HasPrefix(name, "cu_") || !strings.HasPrefix(file, "runtime/src/") {
		return "", nil
	}
	for _, of := range []int{0, 1, 2, -1} { // a call may have several lines
		key := callSite{file, line + of, name, nil}.String()
		if _, is := s.sites[key]; is {
			s.of[at] = key
			return key, nil
		}
	}
	return "", fmt.Errorf("%s:%d calls %s, which the sources do not show", file, line, name)
}

// stays are the lines of calls that make what the library keeps until the process ends.
var stays = []struct{ file, line string }{
	{"runtime/src/record/words.cc", "texts[i] = strdup(text)"}, // texts that others may hold
	{"runtime/src/device/device.cc", "fresh = (char *)malloc"},
	{"runtime/src/front/table.cc", "(Member *)calloc"}, // live_members counts those in use
	{"runtime/src/record/record.cc", "(Record *)calloc"},
	{"runtime/src/front/gpu.cc", "f->event(event, 0)"}, // two for each slot of record/clock.cc
	{"executor/gpu/driver.c", "strdup(why)"},
	{"runtime/src/bundle/open.cc", "posix_memalign"},            // sections, which are read when they are used
	{"runtime/src/meeting/hub.cc", "calloc(1, sizeof(Hosted))"}, // identities that ranks may still come for
	{"runtime/src/meeting/greet.cc", "(Conn **)calloc"},
	{"runtime/src/consensus/hub.cc", "m->is = (u8 *)calloc"},
}

// remains reports whether what a site makes stays.
func remains(t *testing.T, key string) bool {
	file, rest, _ := strings.Cut(key, ":")
	number, _ := strconv.Atoi(strings.Fields(rest)[0])
	return slices.ContainsFunc(stays, func(s struct{ file, line string }) bool {
		return s.file == file && lineOf(t, file, number, s.line)
	})
}

// lineOf reports whether a line of the sources has some text.
func lineOf(t *testing.T, file string, number int, text string) bool {
	tree, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(filepath.Join(tree, file))
	lines := strings.Split(string(all), "\n")
	return err == nil && number > 0 && number <= len(lines) && strings.Contains(lines[number-1], text)
}

// unreached are sites that no scene comes to.
var unreached = map[string]string{
	"runtime/src/front/gpu.cc cu_current":  "of several: after as many failures of a call as it is tried",
	"runtime/src/net/exits.cc malloc":      "a rank of another node that exits: the network of tests is within one process",
	"runtime/src/team/end.cc cu_put":       "a driver that does not pin memory: TestFrontAbort runs with one",
	"runtime/src/team/end.cc cu_sync":      "as above",
	"runtime/src/team/exit.cc malloc":      "a call that waits for 5 s",
	"runtime/src/meeting/line.cc sys_poll": "a socket that takes no more bytes: its buffer holds what ranks say",
	"runtime/src/comms/made.cc malloc":     "a group of several communicators of NCCL: scenes make one at a time",
	"runtime/src/front/loaded.cc strdup":   "an NCCL that no other object sees: the program is linked to it",
	"runtime/src/device/device.cc malloc":  "of the CPU device, which the interface of C has and the front does not",
	"runtime/src/team/team.cc calloc":      "of a team without the front, as the interface of C makes them",
}

// shortOf is a site's file and what is called, without its line.
func shortOf(key string) string {
	file, _, _ := strings.Cut(key, ":")
	return file + key[strings.LastIndex(key, " "):]
}

// A lineTable says which line an address of the library is of.
type lineTable []lineRow

type lineRow struct {
	at   uint64
	file string // as it lies in the repository
	line int
}

func (t lineTable) find(at uint64) (file string, line int) {
	i, found := slices.BinarySearchFunc(t, at, func(r lineRow, at uint64) int { return cmp.Compare(r.at, at) })
	if !found {
		i--
	}
	if i < 0 {
		return "", 0
	}
	return t[i].file, t[i].line
}

func linesOf(f *elf.File) (lineTable, error) {
	d, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	var all lineTable
	for r := d.Reader(); ; {
		unit, err := r.Next()
		if err != nil || unit == nil {
			slices.SortStableFunc(all, func(a, b lineRow) int { return cmp.Compare(a.at, b.at) })
			return all, err
		}
		r.SkipChildren()
		lines, err := d.LineReader(unit)
		if err != nil || lines == nil {
			return nil, err
		}
		for {
			var e dwarf.LineEntry
			if err := lines.Next(&e); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			name := ""
			if e.File != nil {
				_, name, _ = strings.Cut(path.Clean(e.File.Name), "/sources/")
			}
			if e.EndSequence {
				name = ""
			}
			all = append(all, lineRow{e.Address, name, e.Line})
		}
	}
}
