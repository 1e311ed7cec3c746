package kernels

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
}{
	{"", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.release.gpu.global.u64", "ld.volatile.global.v2.u64"}, 9, nil, nil, "", 0},
	{"onesided_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "ld.volatile.global.v2.u64"}, 24, nil, nil, "", 0},
	{"port_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.relaxed.sys.global.u64"}, 6, nil, nil, "", 0},
	{"net_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "st.relaxed.sys.global.u64"}, 6, nil, nil, "", 0},
	{"together_", []string{"ld.acquire.sys.global.u64", "st.release.sys.global.u64", "bar.red.or.pred"}, 6, nil,
		[]string{"sm_70", "sm_80"}, "", 0},
	{"trace_", []string{"ld.acquire.sys.global.u64", "%globaltimer"}, 0, []string{"f16", "bf16", "f32", "i32"}, []string{"sm_80"}, "", 0},
	{"trace_two_", []string{"ld.acquire.sys.global.u64", "%globaltimer", "ld.volatile.global.v2.u64"}, 0, []string{"f16", "bf16", "f32", "i32"}, []string{"sm_80"}, "", 0},
	{"switch_", []string{"ld.acquire.sys.global.u64", "multimem.ld_reduce.relaxed.sys.global.add.",
		"multimem.st.relaxed.sys.global.v4.f32"}, 0, []string{"f16", "bf16", "f32"}, []string{"sm_90"}, "8.2", 2},
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
	files, err := fs.Glob(images, "images/*")
	if err != nil || len(files) != n {
		t.Errorf("%d images, %v; there must be %d", len(files), err, n)
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
			} else {
				t.Errorf("%s has %s", name, m[1])
			}
		}
		for _, want := range kinds[kind].ptx {
			if !bytes.Contains(ptx, []byte(want)) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if bytes.Contains(ptx, []byte(".local ")) || claims == 0 || fences != kinds[kind].fences {
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

// TestImagesAreOfTheSources builds images anew, and compares their bytes: those of bf16, which are of all kinds, for a
// GPU of each vendor. All together take minutes; CI builds them before, in the folder that MSCCLC_IMAGES names.
func TestImagesAreOfTheSources(t *testing.T) {
	dir, only, of, least := os.Getenv("MSCCLC_IMAGES"), "", targets, 150
	if dir == "" {
		tool(t, "clang++-19")
		tool(t, "ld.lld-19")
		dir, only, of, least = t.TempDir(), "bf16", []string{"sm_80", "sm_90", "gfx942"}, 9
		build := exec.Command("bash", "build.sh", dir)
		build.Env = append(os.Environ(), "ONLY="+only, "TARGETS=sm_80 gfx942")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	compared := 0
	each(t, of, func(_ int, name, _ string, committed []byte) {
		if only != "" && !strings.Contains("_"+name+"_", "_"+only+"_") {
			return
		}
		compared++
		f, err := os.Open(filepath.Join(dir, name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		built, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(built, committed) {
			t.Errorf("%s is not what build.sh makes", name)
		}
	})
	if compared < least {
		t.Errorf("%d images were compared, want at least %d", compared, least)
	}
}

// TestCodeObjects looks into AMD's images: no vector register is spilled, nothing is
// in scratch memory, and before the barrier that publishes every wavefront waits
// for its own stores.
func TestCodeObjects(t *testing.T) {
	readelf, objdump := tool(t, "llvm-readelf-19"), tool(t, "llvm-objdump-19")
	note := regexp.MustCompile(`\.(private_segment_fixed_size|vgpr_spill_count|max_flat_workgroup_size): +(\d+)`)
	publish := regexp.MustCompile(`s_waitcnt vmcnt\(0\)[^\n]*\n(?:[^\n]*s_waitcnt[^\n]*\n)*[^\n]*s_barrier`)
	each(t, targets[3:], func(kind int, name, _ string, object []byte) {
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
			if string(m[2]) != want {
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
			bytes.Contains(text, []byte("scratch_")) {
			t.Errorf("%s: %d barriers that publish, %d notes, or scratch memory", name, n, len(found))
		}
	})
}
