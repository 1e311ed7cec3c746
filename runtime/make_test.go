package runtime_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mscclc/algorithms"
	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/testing/objects"
	"mscclc/ir"
	library "mscclc/runtime"
	"mscclc/selection"
)

// device is the name of the GPU that bundles of tests are for.
var device = "NVIDIA H200"

// warnings are those that our sources must not have.
var warnings = []string{"-Wall", "-Wextra", "-Wshadow", "-Werror"}

// scratch is a folder of all tests of the package.
var scratch string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == objects.Compiler {
		objects.Main()
	}
	dir, err := os.MkdirTemp("", "runtime")
	if err != nil {
		panic(err)
	}
	scratch = dir
	if err := flag.Set("test.parallel", "4"); err != nil { // parallel tests mostly wait
		panic(err)
	}
	if err := objects.Use(dir); err != nil {
		panic(err)
	}
	if onGPU() {
		if device, err = deviceName(); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// sources writes all sources to a folder, once.
var sources = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "sources")
	return dir, library.Write(dir)
})

// engineObjects compiles the engine, once.
var engineObjects = sync.OnceValues(func() ([]string, error) { return compiled("objects", library.IsEngine) })

// sanitizedObjects are the engine's with the address sanitizer, sanitizedReader those of them that testdata/mutate.cc
// uses, and racingObjects the engine's with the thread sanitizer.
const sanitize, racing = "-fsanitize=address,undefined", "-fsanitize=thread"

var (
	sanitizedObjects = sync.OnceValues(func() ([]string, error) {
		return compiled("sanitized", library.IsEngine, sanitize, "-fno-sanitize-recover=all", "-g")
	})
	sanitizedReader = sync.OnceValues(func() ([]string, error) {
		return compiled("reader", isReader, sanitize, "-fno-sanitize-recover=all", "-g")
	})
	racingObjects = sync.OnceValues(func() ([]string, error) {
		return compiled("races", library.IsEngine, racing, "-g")
	})
)

// isReader reports whether a unit opens bundles, lays out launches of their programs, or puts failures in words.
func isReader(name string) bool {
	return slices.Contains([]string{".", "bundle", "launch"}, path.Dir(name)) || name == "team/tell.cc" || name == systemCalls
}

// compiled compiles the units that has returns true for to a folder.
func compiled(name string, has func(name string) bool, flags ...string) ([]string, error) {
	dir, err := sources()
	if err != nil {
		return nil, err
	}
	return library.Compile(dir, filepath.Join(scratch, name), has, append(flags, warnings...)...)
}

// programs are files, by name and flags.
var programs = struct {
	sync.Mutex
	of map[string]string
}{of: map[string]string{}}

// program builds a program of testdata with the engine, unless a test has built it with these flags before.
func program(t testing.TB, name string, objects func() ([]string, error), flags ...string) string {
	t.Helper()
	if err := os.CopyFS(filepath.Join(t.TempDir(), "seen"), os.DirFS("testdata")); err != nil {
		t.Fatal(err) // go test runs the tests again where a file has changed that they read
	}
	programs.Lock()
	defer programs.Unlock()
	key := name + " " + strings.Join(flags, " ")
	if file := programs.of[key]; file != "" {
		return file
	}
	list, err := objects()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch, fmt.Sprint("program", len(programs.of)))
	flags = append([]string{"-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		filepath.Join("testdata", name+".cc")}, flags...)
	if err := library.Link(file, list, flags...); err != nil {
		t.Fatal(err)
	}
	programs.of[key] = file
	return file
}

// makeBundle makes a bundle of rules that nobody measured, for communicators of a number of CTAs.
func makeBundle(t testing.TB, types []data.DType, ctas int, ranks ...int) *bundle.Bundle {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: ranks, DTypes: types}
	for _, n := range ranks {
		spec.Rules = append(spec.Rules, bundle.Ladder(n, ctas)...)
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// makeDirect makes a bundle of direct programs, for calls between windows.
func makeDirect(t testing.TB, types []data.DType, ctas int, ranks ...int) *bundle.Bundle {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: ranks, DTypes: types}
	for _, n := range ranks {
		for _, r := range bundle.Ladder(n, ctas) {
			if !r.Kind.Rooted() {
				r.Placement, r.When = selection.Direct, r.When|bundle.WhenWindows
				spec.Rules = append(spec.Rules, r)
			}
		}
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// makeLaned makes a bundle of programs in several lanes, of scratch and of packets, with some copies of these: launches
// have up to a number of CTAs.
func makeLaned(t testing.TB, types []data.DType, ctas, ranks int, direct bool) *bundle.Bundle {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: types, CTAs: ctas}
	for i, r := range bundle.Ladder(ranks, ctas) {
		if direct && r.Kind.Rooted() {
			continue
		}
		r.Tile, r.Replicas = 4<<10, 0
		r.InLanes = []selection.InLanes{{Lanes: 4}, {Lanes: 3, Copies: 5}, {Lanes: ctas, Copies: 2}}[i%3]
		if direct {
			r.Placement = selection.Direct
			r.When |= bundle.WhenWindows
		}
		spec.Rules = append(spec.Rules, r)
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	laned := 0
	for _, p := range b.Programs {
		if !ir.Kind(p.Kind).Rooted() && p.BlocksOf() > 1 {
			laned++
		}
	}
	if laned < 2 {
		t.Errorf("%d programs of %d ranks have several lanes", laned, ranks)
	}
	return b
}

// write writes a bundle to a file.
func write(t testing.TB, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.bundle")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// manyCTAs is more CTAs than any program of a test has.
const manyCTAs = 1 << 12

// catalogs are what makeCatalog made, by ranks.
var catalogs = struct {
	sync.Mutex
	of map[int]*bundle.Bundle
}{of: map[int]*bundle.Bundle{}}

// makeCatalog makes a bundle of all programs of the catalog that bundles take, with each protocol. Tests of one process
// share it, and do not change it.
func makeCatalog(t testing.TB, ranks int) *bundle.Bundle {
	t.Helper()
	catalogs.Lock()
	defer catalogs.Unlock()
	if b := catalogs.of[ranks]; b != nil {
		return b
	}
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: engineTypes, CTAs: manyCTAs}
	var rules []bundle.Rule
	tried := spec
	tried.DTypes = engineTypes[:1] // its image is unpacked for each program
	for _, name := range algorithms.Names() {
		collective, _, _ := strings.Cut(name, "/")
		i := slices.IndexFunc(bundle.Kinds, func(k ir.Kind) bool { return k.String() == collective })
		if i < 0 {
			continue
		}
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL, ir.LL128} {
			rule := bundle.Forward(bundle.Kinds[i], ranks)
			rule.Program, rule.Protocol, rule.UpTo, rule.Replicas, rule.Tile = name, protocol, 1<<20, 2, 8<<10
			rule.Threads = 64
			if rule.Kind.Rooted() {
				rule.Root = uint8(ranks - 1)
			}
			tried.Rules = []bundle.Rule{rule}
			if _, err := bundle.Build(tried); err == nil {
				rules = append(rules, rule)
			}
		}
	}
	spec.Rules = rules
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d programs of the catalog for %d ranks", len(b.Programs), ranks)
	catalogs.of[ranks] = b
	return b
}
