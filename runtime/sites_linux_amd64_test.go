package runtime_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	library "mscclc/runtime"
)

// unfailing are the imports of the library that are not in testdata/faults/list.h: they do not fail, or their failure
// changes nothing.
var unfailing = strings.Fields(`
	free freeifaddrs munmap close closedir fclose memchr memcmp memcpy memmove memset strcasecmp strcat strchr
	strcmp strcpy strcspn strerror strlen strncmp strncpy strrchr strspn strstr strtod strtol strtoul qsort snprintf
	vsnprintf __isoc99_sscanf sscanf htonl inet_pton getenv geteuid getpid dlerror clock_gettime nanosleep
	sched_yield __errno_location __cmsg_nxthdr __sched_cpucount __cxa_finalize pthread_attr_destroy
	pthread_attr_init pthread_attr_setdetachstate pthread_cond_destroy pthread_cond_init pthread_cond_signal
	pthread_cond_broadcast pthread_cond_timedwait pthread_cond_wait pthread_condattr_destroy pthread_condattr_init
	pthread_condattr_setclock pthread_join pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock
	pthread_mutex_trylock pthread_mutex_unlock pthread_once __register_atfork __cxa_atexit shutdown inet_ntop
	htons ntohs pthread_sigmask sys_nap sys_wait sys_later sem_destroy sem_init sem_post sem_wait sigfillset
	dl_iterate_phdr dladdr dlclose fnmatch if_nametoindex pthread_self strnlen strtok_r strtoull unlink`)

// otherUser owns a bundle that the configuration names, a file in the folder where programs run. Only root can make
// such a bundle.
const (
	otherUser = 993
	conf      = "mscclc.conf"
)

// TestImports: each import of the libraries, and each function of transport/system.h, is in the list of calls that
// fail, or in that of those that do not.
func TestImports(t *testing.T) {
	names, err := failing()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := library.Cached()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{library.PreloadLibrary, library.NCCLLibrary} {
		f, err := elf.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		for _, s := range symbols {
			needed := s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_WEAK
			if needed && !slices.Contains(names, s.Name) && !slices.Contains(unfailing, s.Name) {
				t.Errorf("%s calls %s: it belongs in testdata/faults/list.h, or in unfailing", name, s.Name)
			}
		}
	}
	text, err := os.ReadFile("../transport/system.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`(?m)^[a-z_0-9]+ \*?(sys_\w+)\(`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(names, name[1]) && !slices.Contains(unfailing, name[1]) {
			t.Errorf("transport/system.h has %s: it belongs in testdata/faults/list.h, or in unfailing", name[1])
		}
	}
}

// A callSite is a call in runtime/src, or in what opens the driver, by its line. at has its return addresses, as
// distances from the library's beginning.
type callSite struct {
	file string
	line int
	name string // of what is called: of the C library, or cu_ and the field of the driver's table
	at   []uint64
}

func (s callSite) String() string { return fmt.Sprintf("%s:%d %s", s.file, s.line, s.name) }

var faultName = regexp.MustCompile(`FAULT\((\w+),`)

// failing returns the calls of the C library that tests have fail.
func failing() (names []string, err error) {
	text, err := os.ReadFile("testdata/faults/list.h")
	if err != nil {
		return nil, err
	}
	for _, m := range faultName.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "name" {
			names = append(names, m[1])
		}
	}
	return names, nil
}

// faulty is a folder with the libraries whose calls can fail, and the program that has them fail. The libraries are
// compiled without inlining, so that a call in the sources is one in the library.
var faulty = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "faulty")
	tree, err := sources()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, "nccl"), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, conf), fmt.Appendf(nil, "bundle-owner %d\n", otherUser), 0o644); err != nil {
		return "", err
	}
	objects, err := library.Compile(tree, filepath.Join(dir, "objects"), library.IsFront, "-g", "-O0",
		fmt.Sprintf("-DMSCCLC_CONF=%q", conf), "-DMSCCLC_EXIT_MARKS=4")
	if err != nil {
		return "", err
	}
	if err := library.Link(filepath.Join(dir, "libnvToolsExt.so.1"), []string{"testdata/nvtx.cc"}, "-std=c++17", "-O1", "-fPIC",
		"-shared", "-Wl,-soname,libnvToolsExt.so.1"); err != nil {
		return "", err
	}
	names, err := failing()
	if err != nil {
		return "", err
	}
	system, err := systemSymbols(dir)
	if err != nil {
		return "", err
	}
	compiles := []string{"-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
		"-fno-exceptions", "-fno-rtti"}
	flags := []string{"-shared", "-nodefaultlibs", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--emit-relocs"}
	var defined []string
	for _, name := range append(names, "free", "munmap", "getenv") {
		flags = append(flags, "-Wl,--wrap="+cmp.Or(system[name], name))
	}
	for name, symbol := range system {
		defined = append(defined, "-DSYMBOL_"+name+"="+symbol)
	}
	slices.Sort(defined)                     // so that objects are found again
	engine := filepath.Join(dir, "engine.o") // of tests, whose own calls do not fail
	if err := library.Link(engine, []string{"../transport/enginetest/engine.cc"}, "-c", "-std=c++17", "-O1", "-fPIC",
		"-fno-exceptions", "-fno-rtti", "-include", "testdata/faults/real.h"); err != nil {
		return "", err
	}
	faults, err := unitObjects(dir, []string{"testdata/faults/faults.cc", "testdata/faults/live.cc",
		"testdata/faults/inbox.cc", "testdata/faults/members.cc"}, append(compiles, defined...)...)
	if err != nil {
		return "", err
	}
	flags = append(flags, compiles...)
	for _, name := range []string{library.PreloadLibrary, library.NCCLLibrary} {
		if name == library.NCCLLibrary {
			if objects, err = library.Forwards(tree, filepath.Join(dir, "forwards"), objects, nil, "-g", "-O0"); err != nil {
				return "", err
			}
		}
		units := append(append(slices.Clone(objects), faults...), engine)
		named := append(flags, "-Wl,-soname,"+filepath.Base(name))
		if err := library.Link(filepath.Join(dir, name), units, named...); err != nil {
			return "", err
		}
	}
	made, err := parts()
	if err != nil {
		return "", err
	}
	units, err := unitObjects(dir, []string{"testdata/faulty.cc", "testdata/faulty_play.cc", "testdata/faulty_rank.cc",
		"testdata/faulty_scenes.cc", "testdata/faulty_watched.cc", "testdata/faulty_learns.cc"}, "-std=c++17", "-O1", "-g",
		"-Wall", "-Wextra", "-Werror")
	if err != nil {
		return "", err
	}
	units = append(units, filepath.Join(made, "real", "libnccl.so.2"), "-lstdc++", "-lm", "-lpthread")
	return dir, library.Link(filepath.Join(dir, "faulty"), units, "-Wl,--export-dynamic-symbol=client_gone")
})

// systemSymbols returns the functions of transport/system.cc, and what they are called in the object.
func systemSymbols(dir string) (map[string]string, error) {
	f, err := elf.Open(filepath.Join(dir, "objects", "system.cc.o"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, s := range symbols {
		ours := elf.ST_BIND(s.Info) == elf.STB_GLOBAL && s.Section != elf.SHN_UNDEF
		if m := mangled.FindStringSubmatch(s.Name); m != nil && ours {
			if n, _ := strconv.Atoi(m[1]); n <= len(m[2]) {
				all[m[2][:n]] = s.Name
			}
		}
	}
	return all, nil
}

var mangled = regexp.MustCompile(`^_Z(\d+)(sys_\w+)$`)

// libcSites returns the calls of the C library that can fail: what the linker was to fill in. It fails where something
// is neither a call nor known.
func libcSites(f *elf.File, lines lineTable) (sites []callSite, err error) {
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		return nil, err
	}
	for _, section := range f.Sections {
		if section.Type != elf.SHT_RELA || section.Info == 0 || int(section.Info) >= len(f.Sections) {
			continue
		}
		rows, err := section.Data()
		if err != nil {
			return nil, err
		}
		for r := bytes.NewReader(rows); ; {
			var row elf.Rela64
			if binary.Read(r, binary.LittleEndian, &row) != nil {
				break
			}
			n := elf.R_SYM64(row.Info)
			if n == 0 || int(n) > len(symbols) {
				continue
			}
			name, wrapped := strings.CutPrefix(symbols[n-1].Name, "__wrap_")
			if m := mangled.FindStringSubmatch(name); m != nil {
				n, _ := strconv.Atoi(m[1])
				name = m[2][:min(n, len(m[2]))]
			}
			if !wrapped || slices.Contains([]string{"free", "munmap", "getenv"}, name) {
				continue
			}
			file, line := lines.find(row.Off)
			if at := row.Off - text.Addr; f.Sections[section.Info] != text || at == 0 || code[at-1] != 0xe8 {
				return nil, fmt.Errorf("%s:%d uses %s, and does not call it", file, line, name)
			}
			sites = append(sites, callSite{file, line, name, []uint64{row.Off + 4}})
		}
	}
	return sites, nil
}

// A field of the driver's table is called by its name, after f, or as the argument of the macro CALL.
var (
	fieldRow  = regexp.MustCompile(`(?m)^ *X\([^,]+, (\w+), `)
	fieldCall = regexp.MustCompile(`\bf(?:->|\.)(\w+)\(|\bCALL\(\w+, (\w+)\(`)
)

// driverSites returns the calls of the driver in the sources. They have no addresses yet.
func driverSites() (sites []callSite, err error) {
	tree, err := sources()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(tree, "executor/gpu/symbols.h"))
	if err != nil {
		return nil, err
	}
	fields := map[string]bool{}
	for _, m := range fieldRow.FindAllStringSubmatch(string(text), -1) {
		fields[m[1]] = true
	}
	delete(fields, "cu_text") // gives a text
	src := filepath.Join(tree, "runtime", "src")
	return sites, filepath.WalkDir(src, func(file string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(src, file)
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || !library.IsFront(name) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, m := range fieldCall.FindAllStringSubmatch(code, -1) {
				if called := cmp.Or(m[1], m[2]); fields[called] {
					sites = append(sites, callSite{path.Join("runtime/src", name), i + 1, "cu_" + called, nil})
				}
			}
		}
		return nil
	})
}
