package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
)

// mutated opens copies of a bundle under sanitizers. All but the first have bytes that were changed at random.
func mutated(t *testing.T, b *bundle.Bundle, copies int, ranks ...string) string {
	file := program(t, "mutate", sanitizedReader, sanitize, "-lstdc++", "-lm")
	args := append([]string{write(t, bundle.Encode(b)), device, strconv.Itoa(copies), "1"}, ranks...)
	cmd := exec.Command(file, args...)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=allocator_may_return_null=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return string(out)
}

// TestMutated opens bundles with bytes that were changed at random.
func TestMutated(t *testing.T) {
	t.Parallel()
	b := makeBundle(t, []data.DType{data.F32}, 8, 2)
	for i := range b.Images {
		b.Images[i].Code = []byte(".version 7.0\n\x00") // real code would take the most time
	}
	mutated(t, b, covering.Share(10000), "2")
	b = makeDirect(t, []data.DType{data.F32}, 8, 2)
	for i := range b.Images {
		b.Images[i].Code = []byte(".version 7.0\n\x00")
	}
	mutated(t, b, covering.Share(2000), "2")
	b = nodesBundle(t, []data.DType{data.F32}, 4, "2")
	for i := range b.Images {
		b.Images[i].Code = []byte(".version 7.0\n\x00")
	}
	mutated(t, b, covering.Share(2000), "4/2")
	b = makeNamed(t, 2, interfacePrograms, 3)
	for i := range b.Images {
		b.Images[i].Code = []byte(".version 7.0\n\x00")
	}
	mutated(t, b, covering.Share(2000), "3")
}

// TestWhole uses all sets, programs and images of a bundle for 2, 4 and 8 ranks and all types.
func TestWhole(t *testing.T) {
	b := makeBundle(t, allTypes(), bundle.DefaultCTAs, 2, 4, 8)
	if _, _, err := bundle.Verify("whole.bundle", bundle.Encode(b)); err != nil {
		t.Error(err)
	}
	out := mutated(t, b, 1, "2", "4", "8")
	want := fmt.Sprintf("%d programs, %d images; 1 copies, 1 opened, 3 used", len(b.Programs), len(b.Images))
	if !strings.HasPrefix(out, want) {
		t.Errorf("%s; want %s", out, want)
	}
}

// TestRefused opens files that are no bundles, and such as others may write to.
func TestRefused(t *testing.T) {
	file := program(t, "layout", engineObjects)
	good := bundle.Encode(makeBundle(t, []data.DType{data.F32}, 8, 2))
	changed := func(at int, to byte) []byte {
		b := append([]byte{}, good...)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		mode  os.FileMode
		want  string
	}{
		{"empty", nil, 0o600, "it is no bundle"},
		{"short", good[:len(good)-64], 0o600, "bytes, and should have"},
		{"text", []byte(strings.Repeat("text ", 100)), 0o600, "it is no bundle"},
		{"version", changed(8, 9), 0o600, fmt.Sprint("it has version 9, and this library reads version ", bundle.Version)},
		{"kernels", changed(24, good[24]^1), 0o600, "it is for other kernels"},
		{"table", changed(130, good[130]^1), 0o600, "its table is damaged"},
		{"group", good, 0o620, "other users may write to it"},
		{"others", good, 0o602, "other users may write to it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.bytes)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(file, path, "2", device).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, %s; want %q", err, out, c.want)
			}
		})
	}
}

// TestDirectRefused opens bundles whose programs may not reach the buffers that they reach.
func TestDirectRefused(t *testing.T) {
	file := program(t, "layout", engineObjects)
	good := makeDirect(t, []data.DType{data.F32}, 8, 2)
	for _, c := range []struct {
		name, want string
		spoil      func(b *bundle.Bundle)
	}{
		{"nothing", "", func(*bundle.Bundle) {}},
		{"not for windows", "names no program that runs all its calls", func(b *bundle.Bundle) {
			b.Sets[0].Rules[1].When &^= bundle.WhenWindows
		}},
		{"windows and a root", "names no program that runs all its calls", func(b *bundle.Bundle) {
			r := &b.Sets[0].Rules[1]
			*r = bundle.RuleRow{Kind: uint8(ir.ReduceTo), When: r.When, Program: bundle.NCCLRow, UpTo: r.UpTo}
		}},
		{"staged", "tables of a rank do not fit together", func(b *bundle.Bundle) { clearDirect(b) }},
		{"a buffer that is too short", "tables of a rank do not fit together", func(b *bundle.Bundle) {
			for _, p := range b.Programs {
				for _, part := range p.Parts {
					for i, o := range part.Operands {
						if ir.Buf(o.Buf) == ir.Output {
							part.Operands[i].A, part.Operands[i].Index = 2, 2*p.Chunks+uint32(o.B)
						}
					}
				}
			}
		}},
	} {
		b, err := bundle.Decode("good", bundle.Encode(good))
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(b)
		out, err := exec.Command(file, write(t, bundle.Encode(b)), "2", device).CombinedOutput()
		if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s; want %q", c.name, err, out, c.want)
		}
	}
}

// clearDirect makes staged programs of direct ones, and their rules for any buffers.
func clearDirect(b *bundle.Bundle) {
	for _, p := range b.Programs {
		p.Direct = 0
	}
	for i := range b.Sets[0].Rules {
		b.Sets[0].Rules[i].When &^= bundle.WhenWindows
	}
}
