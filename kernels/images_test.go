package kernels

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/internal/covering"
)

// targets and types are what images there must be.
var (
	targets = []string{"sm_70", "sm_80", "sm_90", "gfx90a", "gfx942"}
	types   = []string{"f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64", "e4m3", "e5m2"}
)

// kinds are the kernels of a type and a target: four of all, and others of some.
var kinds = []struct {
	prefix         string
	ptx            []string // what its PTX must hold
	notes          int      // what a code object says of its entries: three numbers each
	types, targets []string // or all
	version        string   // of PTX, or 7.4
	fences         int
	rows           bool // rows that are not whole units go by local memory, and their scales by reductions of a block
}{
	{"", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.release.gpu.global.u64", "ld.volatile.global.v2.u64"}, 9, nil, nil, "", 0, false},
	{"onesided_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "ld.volatile.global.v2.u64"}, 24, nil, nil, "", 0, false},
	{"port_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.relaxed.sys.global.u64"}, 6, nil, nil, "", 0, false},
	{"net_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.relaxed.sys.global.u64"}, 6, nil, nil, "", 0, false},
	{"together_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "bar.red.or.pred"}, 6, nil,
		[]string{"sm_70", "sm_80"}, "", 0, false},
	{"trace_", []string{"ld.acquire.sys.global.u64", "%globaltimer"}, 0, []string{"f16", "bf16", "f32", "i32"}, []string{"sm_80"}, "", 0, false},
	{"trace_two_", []string{"ld.acquire.sys.global.u64", "%globaltimer", "ld.volatile.global.v2.u64"}, 0, []string{"f16", "bf16", "f32", "i32"}, []string{"sm_80"}, "", 0, false},
	{"switch_", []string{"ld.acquire.sys.global.u64", "multimem.ld_reduce.relaxed.sys.global.add.",
		"multimem.st.relaxed.sys.global.v4.f32"}, 0, []string{"f16", "bf16", "f32"}, []string{"sm_90"}, "8.2", 2, false},
	{"rows_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "shfl.sync.bfly.b32",
		"red.relaxed.cta.global.max.u32"}, 12, []string{"f16", "bf16", "f32"}, []string{"sm_70", "sm_80", "gfx90a", "gfx942"}, "", 0, true},
}

// averaged are images with an entry for averages.
var averaged = []string{"onesided_f16", "onesided_bf16", "onesided_f32"}

// each gives all images for targets.
func each(t *testing.T, targets []string, do func(kind int, name, target string, image []byte)) {
	t.Helper()
	for i, k := range kinds {
		for _, target := range targets {
			if k.targets != nil && !slices.Contains(k.targets, target) || k.targets == nil && target == "sm_90" {
				continue
			}
			of := types
			if k.types != nil {
				of = k.types
			}
			for _, dtype := range of {
				b, err := Image(k.prefix+dtype, target)
				if err != nil {
					t.Fatal(err)
				}
				do(i, k.prefix+dtype+"_"+target, target, b)
			}
		}
	}
}

func TestImagesAreThere(t *testing.T) {
	n := 0
	each(t, targets, func(int, string, string, []byte) { n++ })
	if len(places()) != n {
		t.Errorf("%d images; there must be %d", len(places()), n)
	}
	if _, err := Image("f31", "sm_80"); err == nil {
		t.Error("there is an image of no type")
	}
}

// TestPTX holds what the driver gets to the ordered accesses that platform/nv.h
// writes out: what the compiler makes of atomics by itself is too weak, a fence is
// too much, and a call or an array in local memory is slow.
func TestPTX(t *testing.T) {
	ordered := regexp.MustCompile(`(?m)^\s*(?:@%p\d+ )?((?:atom|red|membar|fence|call)\b\S*)`)
	each(t, targets[:3], func(kind int, name, target string, ptx []byte) {
		version := cmp.Or(kinds[kind].version, "7.4")
		if !bytes.Contains(ptx, []byte(".version "+version+"\n.target "+target+"\n")) {
			t.Errorf("%s is of another version or target", name)
		}
		claims, fences := 0, 0
		for _, m := range ordered.FindAllSubmatch(ptx, -1) {
			if string(m[1]) == "atom.acq_rel.sys.global.cas.b32" {
				claims++
			} else if string(m[1]) == "fence.proxy.alias;" {
				fences++
			} else if !kinds[kind].rows || string(m[1]) != "red.relaxed.cta.global.max.u32" {
				t.Errorf("%s has %s", name, m[1])
			}
		}
		for _, want := range kinds[kind].ptx {
			if !bytes.Contains(ptx, []byte(want)) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if bytes.Contains(ptx, []byte(".local ")) != kinds[kind].rows || claims == 0 || fences != kinds[kind].fences {
			t.Errorf("%s uses local memory, or claims no status (%d), or has %d fences", name, claims, fences)
		}
	})
}

// tool finds a program of LLVM 19, without which a test cannot be.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if strings.Contains(os.Getenv("MSCCLC_REQUIRE"), "clang") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// TestImagesSum compares the sources and the images with what build.sh noted when it built all images: so a change of
// either without the other is seen without building.
func TestImagesSum(t *testing.T) {
	sources := []string{"build.sh"}
	for _, dir := range []string{"abi", "few", "gpu", "loop", "moves", "platform", "protocol", "rows", "values"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(path); err == nil && (ext == ".h" || ext == ".cc") {
				sources = append(sources, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	built := []string{"images/amd.zst", "images/cuda.zst", "images/index"}
	noted, err := os.ReadFile("images.sum")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sumOf(t, sources) + " sources\n" + sumOf(t, built) + " images\n"; sum != string(noted) {
		t.Errorf("the sums are\n%s, and images.sum has\n%s: kernels/build.sh builds the images anew", sum, noted)
	}
}

// sumOf returns the sum of files as build.sh makes it.
func sumOf(t *testing.T, files []string) string {
	t.Helper()
	slices.Sort(files)
	list := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(text), filepath.ToSlash(file))
	}
	return fmt.Sprintf("%x", list.Sum(nil))
}

// someImages are types by target, for a GPU of each vendor, and for CI for all targets. Those of bf16 are of all kinds,
// and take three times the time of others. TestImagesSum compares what all images are built of, and TestPTX and
// TestCodeObjects look into images of all kinds.
func someImages() map[string]string {
	if covering.CI() {
		return map[string]string{"sm_70": "u8", "sm_80": "bf16", "gfx90a": "e5m2", "gfx942": "i64 bf16"}
	}
	return map[string]string{"sm_80": "i64", "gfx942": "u64"}
}

// TestImagesAreOfTheSources builds some images anew, and compares their bytes. To build all takes many minutes. What
// build.sh has built elsewhere is compared instead where MSCCLC_IMAGES names the folder.
func TestImagesAreOfTheSources(t *testing.T) {
	dir := os.Getenv("MSCCLC_IMAGES")
	if dir == "" {
		tool(t, "clang++-19")
		tool(t, "ld.lld-19")
		dir = t.TempDir()
		for target, types := range someImages() {
			build := exec.Command("bash", "build.sh", dir)
			build.Env = append(os.Environ(), "ONLY="+types, "TARGETS="+target)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	built, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range built {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		cut := max(strings.LastIndex(name, "_sm_"), strings.LastIndex(name, "_gfx"), 0)
		if image, err := Image(name[:cut], name[cut+1:]); err != nil || !bytes.Equal(image, text) {
			t.Errorf("%s is not what build.sh makes: %v", name, err)
		}
	}
	t.Logf("%d images were compared", len(built))
	if least := map[bool]int{false: 9, true: 20}[covering.CI()]; len(built) < least {
		t.Errorf("%d images were compared, want at least %d", len(built), least)
	}
}

// BenchmarkImage reads an image from the middle of the largest frame.
func BenchmarkImage(b *testing.B) {
	for b.Loop() {
		if _, err := Image("port_bf16", "sm_80"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCodeObjects looks into AMD's images, by default into a third of those of each kind and target. No vector register
// is spilled and nothing is in scratch memory, but of those with an epilogue. Before the barrier that publishes, every
// wavefront waits for its own stores.
func TestCodeObjects(t *testing.T) {
	readelf, objdump := tool(t, "llvm-readelf-19"), tool(t, "llvm-objdump-19")
	note := regexp.MustCompile(`\.(private_segment_fixed_size|vgpr_spill_count|max_flat_workgroup_size): +(\d+)`)
	publish := regexp.MustCompile(`s_waitcnt vmcnt\(0\)[^\n]*\n(?:[^\n]*s_waitcnt[^\n]*\n)*[^\n]*s_barrier`)
	images, seen := 0, map[string]int{}
	each(t, targets[3:], func(kind int, name, target string, object []byte) {
		if images++; !covering.OneIn(images-1, 3) {
			return
		}
		seen[kinds[kind].prefix+target]++
		file := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(file, object, 0o666); err != nil {
			t.Fatal(err)
		}
		notes, err := exec.Command(readelf, "--notes", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		found := note.FindAllSubmatch(notes, -1)
		for _, m := range found {
			want := map[string]string{"max_flat_workgroup_size": "512"}[string(m[1])]
			if want == "" {
				want = "0"
			}
			if string(m[2]) != want && (want != "0" || !kinds[kind].rows) {
				t.Errorf("%s: %s", name, m[0])
			}
		}
		text, err := exec.Command(objdump, "-d", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		entries := kinds[kind].notes
		if slices.Contains(averaged, name[:strings.LastIndex(name, "_")]) {
			entries += 3
		}
		if n := len(publish.FindAll(text, -1)); n < len(found)/3 || len(found) != entries ||
			bytes.Contains(text, []byte("scratch_")) && !kinds[kind].rows {
			t.Errorf("%s: %d barriers that publish, %d notes, or scratch memory", name, n, len(found))
		}
	})
	if len(seen) != 10 { // kinds of both targets
		t.Errorf("images of these kinds and targets are seen, want 10: %v", seen)
	}
}
