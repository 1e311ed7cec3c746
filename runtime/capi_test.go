package runtime_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/lang/syntax"
	library "mscclc/runtime"
	"mscclc/selection"
)

// This file tests the library of mscclc.h by scenes (testdata/capi): its ranks are threads or processes, on the CPU or
// on the mock driver.

// interfaceObjects compiles the library of mscclc.h, once, sanitizedInterface with the address sanitizer, and
// racingInterface with the thread sanitizer.
var (
	interfaceObjects   = sync.OnceValues(func() ([]string, error) { return compiledC("cobjects") })
	racingInterface    = sync.OnceValues(func() ([]string, error) { return compiledC("craces", racing, "-g") })
	sanitizedInterface = sync.OnceValues(func() ([]string, error) {
		return compiledC("csanitized", sanitize, "-fno-sanitize-recover=all", "-g")
	})
)

func compiledC(name string, flags ...string) ([]string, error) {
	dir, err := sources()
	if err != nil {
		return nil, err
	}
	return library.Compile(dir, filepath.Join(scratch, name), library.IsC, append(flags, warnings...)...)
}

// interfaceLibrary returns a folder with libmscclc.so and include/mscclc.h.
var interfaceLibrary = sync.OnceValues(func() (string, error) {
	objects, err := interfaceObjects()
	if err != nil {
		return "", err
	}
	return filepath.Join(scratch, "c"), library.LinkC(filepath.Join(scratch, "c"), objects)
})

// scenesProgram builds testdata/capi with libmscclc.so, once.
var scenesProgram = sync.OnceValues(func() (string, error) {
	dir, err := interfaceLibrary()
	if err != nil {
		return "", err
	}
	units, err := filepath.Glob("testdata/capi/*.c")
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "scenes")
	return file, gcc(append(units, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-strict-prototypes",
		"-I"+filepath.Join(dir, "include"), "-L"+dir, "-lmscclc", "-lpthread", "-ldl", "-lm", "-Wl,-rpath,"+dir, "-o", file)...)
})

// gcc compiles C, for which there is no g++.
func gcc(args ...string) error {
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return nil
}

// outsider is an AllToAllV: rank r sends (r + 2q) % 4 chunks to rank q.
const outsider = `algorithm outsider(ranks = 4)
collective custom(ranks, input = 10, output = 10) {
    for r in 0..ranks, q in 0..ranks if count(r, q) > 0 {
        require chunk(q, output, to(q, r), count(r, q)) == chunk(r, input, from(r, q), count(r, q))
    }
}

def count(r, q) = (r + 2 * q) % 4
def from(r, q) {
    let n = 0
    for k in 0..q { n = n + count(r, k) }
    return n
}
def to(q, r) {
    let n = 0
    for k in 0..r { n = n + count(k, q) }
    return n
}
for r in 0..ranks, q in 0..ranks if count(r, q) > 0 {
    chunk(r, input, from(r, q), count(r, q)).copy(q, output, to(q, r))
}
`

// bothWays is the AllGather of README.md.
const bothWays = `algorithm both_ways(ranks = 6)
collective allgather(ranks)

for r in 0..ranks {
    let right = chunk(r, input, 0).copy(r, output, r)
    let left = right
    for s in 1..ranks / 2 + 1 { right = right.copy((r + s) % ranks, output, r) }
    for s in 1..(ranks + 1) / 2 { left = left.copy((r - s) % ranks, output, r) }
}
`

var interfacePrograms = []bundle.NamedSpec{{Name: "both_ways", Program: "both_ways.mscl"},
	{Name: "halo", Program: "halo/direct"}, {Name: "a2av", Program: "outsider.mscl"}}

// namedBundle writes what makeNamed makes to a file.
func namedBundle(t testing.TB, ctas int, named []bundle.NamedSpec, ranks ...int) string {
	t.Helper()
	return write(t, bundle.Encode(makeNamed(t, ctas, named, ranks...)))
}

// treeOf returns the syntax tree of a text.
func treeOf(t testing.TB, name, text string) *syntax.File {
	t.Helper()
	tree, err := syntax.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// makeNamed makes a bundle of named programs, with candidates for some collectives.
func makeNamed(t testing.TB, ctas int, named []bundle.NamedSpec, ranks ...int) *bundle.Bundle {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: ranks, CTAs: ctas, Named: named,
		DTypes: []data.DType{data.BF16, data.F32, data.F64, data.U8},
		Own: choose.UserPrograms{{Name: "both_ways.mscl", File: "both_ways.mscl", Tree: treeOf(t, "both_ways.mscl", bothWays)},
			{Name: "outsider.mscl", File: "outsider.mscl", Tree: treeOf(t, "outsider.mscl", outsider)}}}
	for _, n := range ranks {
		for _, r := range bundle.Ladder(n, ctas) {
			if r.Tile = min(r.Tile, 16<<10); r.Kind.Reduces() || r.Kind.Rooted() {
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

// scene runs a scene, and returns its output.
func scene(t *testing.T, name, how, device string, ranks int, file, other string, env ...string) string {
	t.Helper()
	program, err := scenesProgram()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sceneCommand(t, program, name, how, device, ranks, file, other, env...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s of %d %s on %s: %v\n%s", name, ranks, how, device, err, out)
	}
	return string(out)
}

func sceneCommand(t *testing.T, program, name, how, on string, ranks int, file, other string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute) // who hangs ends
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, name, how, on, strconv.Itoa(ranks), file, other)
	cmd.Env = os.Environ()
	if on == "gpu" {
		cmd.Env = append(append(cmd.Env, mockDriver(t)...), "MSCCLC_STANDIN_GPUS="+strconv.Itoa(ranks),
			"MSCCLC_STANDIN_NAME="+device, "MSCCLC_STANDIN_WARPS=1")
	} else {
		cmd.Env = append(cmd.Env, "MSCCLC_LIBCUDA=/nowhere/libcuda.so")
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// TestInterface runs programs by names and by rules, eager and captured, on the CPU and on the mock driver.
func TestInterface(t *testing.T) {
	skipOnGPU(t)
	for _, c := range []struct {
		how, on string
		ranks   int
		scenes  string
	}{
		{"processes", "cpu", 4, "runs rules lives"},
		{"threads", "cpu", 3, "runs rules lives exchange"},
		{"threads", "cpu", 2, "runs"},
		{"threads", "gpu", 3, "runs captures exchange"},
		{"processes", "gpu", 2, "rules captures lives"},
	} {
		t.Run(fmt.Sprintf("%s%d%s", c.how, c.ranks, c.on), func(t *testing.T) {
			t.Parallel()
			file := namedBundle(t, 8, interfacePrograms, c.ranks)
			other := namedBundle(t, 2, interfacePrograms[1:2], c.ranks)
			for name := range strings.FieldsSeq(c.scenes) {
				scene(t, name, c.how, c.on, c.ranks, file, other)
			}
		})
	}
}

// TestInterfaceWindows runs a direct program between registered buffers.
func TestInterfaceWindows(t *testing.T) {
	skipOnGPU(t)
	for _, c := range []struct {
		how, on string
		ranks   int
	}{{"threads", "cpu", 3}, {"processes", "cpu", 2}, {"threads", "gpu", 2}, {"processes", "gpu", 3}} {
		t.Run(fmt.Sprintf("%s%d%s", c.how, c.ranks, c.on), func(t *testing.T) {
			t.Parallel()
			b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{c.ranks}, CTAs: 4, DTypes: []data.DType{data.F32},
				Rules: []bundle.Rule{{Kind: ir.AllGather, Ranks: c.ranks, DType: bundle.Any, RedOp: bundle.Any, Root: bundle.Any,
					When: bundle.WhenEager | bundle.WhenCaptured | bundle.WhenWindows,
					Choice: selection.Choice{Program: "allgather/allpairs", Protocol: ir.Simple,
						Placement: selection.Direct, Width: launch.Width{Tile: 4096}}}}})
			if err != nil {
				t.Fatal(err)
			}
			file := write(t, bundle.Encode(b))
			out := scene(t, "windows", c.how, c.on, c.ranks, file, file)
			for _, want := range []string{"foreign memory: mscclc_register: rank", "windows of different sizes"} {
				if strings.Count(out, want) != c.ranks {
					t.Errorf("not all ranks say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestInterfaceNCCL makes communicators of those of the mock NCCL.
func TestInterfaceNCCL(t *testing.T) {
	skipOnGPU(t)
	mock := filepath.Join(t.TempDir(), "libnccl.so.2")
	if err := gcc("-shared", "-fPIC", "-O1", "-Wl,-soname,libnccl.so.2", "-o", mock,
		filepath.Join("..", "executor", "nccl", "testdata", "standin.c"), "-lpthread", "-ldl"); err != nil {
		t.Fatal(err)
	}
	file := namedBundle(t, 2, interfacePrograms[:1], 2)
	scene(t, "nccl", "processes", "gpu", 2, file, file, "MSCCLC_TEST_NCCL="+mock, "NCCL_STANDIN_DIR="+t.TempDir())
}

// TestInterfaceList: what the library says of a bundle's programs. It neither crashes nor hangs on changed bundles.
func TestInterfaceList(t *testing.T) {
	file := namedBundle(t, 2, interfacePrograms, 2, 3)
	program, err := scenesProgram()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "list", file).CombinedOutput()
	want := "both_ways ranks=2 collective=1 reduces=0 inplace=1 outofplace=1 dtypes=0xfff input:1,1,1 output:2,2,2\n" +
		"halo ranks=2 collective=9 reduces=0 inplace=1 outofplace=1 dtypes=0xfff input:1,2,2 output:2,2,2\n"
	if err != nil || !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 6 {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rnd, dir, list := rand.New(rand.NewSource(int64(irtest.First(t)))), t.TempDir(), []string{"list"}
	for i := range 40 {
		changed := append([]byte(nil), text[:len(text)-rnd.Intn(2)]...)
		for range 3 {
			changed[rnd.Intn(len(changed))] ^= 1 << rnd.Intn(8)
		}
		name := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(name, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	out, err = exec.Command(program, list...).CombinedOutput()
	if refused := strings.Count(string(out), "no "); err != nil || refused == 0 {
		t.Errorf("%d of 40 changed bundles are refused: %v\n%s", refused, err, out)
	}
}
