//go:build cgo

package cpu

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/either"
)

// A recorder is a device that runs nothing: it keeps what it was given.
type recorder struct {
	img    *abi.Image
	launch *executor.Launch
}

func (*recorder) Name() string { return "recorder" }

func (r *recorder) Open(img *abi.Image) (executor.Instance, error) {
	r.img = img
	return r, nil
}

func (r *recorder) Launch(_ context.Context, l *executor.Launch) (executor.Stop, error) {
	r.launch = l
	return executor.Stop{}, nil
}

func (*recorder) Close() error { return nil }

func raw[T any](s ...T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// dump writes one launch as testdata/driver.cc reads it.
func dump(t *testing.T, file string, p *either.Program, opt executor.Options, args executor.Args) {
	t.Helper()
	rec := &recorder{}
	opt.Device = rec
	l, err := executor.Load(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if rec.img.One != nil {
		rec.onesided(t, &out)
	} else {
		out.Write(raw(0, uint64(rec.launch.Wait), uint64(len(rec.img.Steps)), uint64(len(rec.img.Blocks)),
			uint64(len(rec.img.Conns)), uint64(p.Coll.Ranks)))
		out.Write(raw(rec.launch.Params))
		out.Write(raw(rec.img.Steps...))
		out.Write(raw(rec.img.Blocks...))
		out.Write(raw(rec.launch.Scratch...))
	}
	for _, m := range rec.launch.Memory {
		out.Write(raw(uint64(len(m.Input)), uint64(len(m.Output)), uint64(m.InAt), uint64(m.OutAt)))
		out.Write(m.Input)
		out.Write(m.Output)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// onesided dumps what only a one-sided launch has.
func (r *recorder) onesided(t *testing.T, out *bytes.Buffer) {
	one, params := r.img.One, *r.launch.One
	layout, err := one.Layout()
	if err != nil {
		t.Fatal(err)
	}
	part := one.Part(func(int) bool { return true })
	part.Into(&params)
	params.Inlined = 0
	out.Write(raw(1, uint64(r.launch.Wait), layout.Scratch, layout.Packets, layout.FlagMem,
		uint64(len(one.Blocks)*one.Replicas)))
	out.Write(raw(params))
	out.Write(raw(part.Blocks...))
	out.Write(raw(part.Steps...))
	out.Write(raw(part.Operands...))
}

// build compiles the driver.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	return compile(t, "testdata/driver.cc", flags...)
}

// compiled are the programs that tests share, by source and flags.
var compiled struct {
	sync.Mutex
	dir  string
	bins map[string]func() (string, error)
}

// TestMain removes what tests have compiled.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(compiled.dir)
	os.Exit(code)
}

// compile compiles a source with flags, once for all tests.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	bin, err := compiler(t, source, flags)()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// compiler returns what compiles a source with flags.
func compiler(t *testing.T, source string, flags []string) func() (string, error) {
	t.Helper()
	key := fmt.Sprint(source, flags)
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.bins == nil {
		dir, err := os.MkdirTemp("", "mscclc-drivers")
		if err != nil {
			t.Fatal(err)
		}
		compiled.dir, compiled.bins = dir, map[string]func() (string, error){}
	}
	if compiled.bins[key] == nil {
		bin := filepath.Join(compiled.dir, fmt.Sprint(len(compiled.bins)))
		compiled.bins[key] = sync.OnceValues(func() (string, error) {
			args := append(flags, "-O1", "-g1", "-std=c++17", "-fno-exceptions", "-fno-rtti", source, "-o", bin, "-lpthread")
			if out, err := exec.Command(cmp.Or(os.Getenv("CXX"), "g++"), args...).CombinedOutput(); err != nil {
				return "", fmt.Errorf("%w\n%s", err, out)
			}
			return bin, nil
		})
	}
	return compiled.bins[key]
}

// sanitized runs a program under the driver with four threads a block, with
// small slots, so that each is used over and over, and several strips for every
// thread.
func sanitized(t *testing.T, bin string, p *either.Program, proto ir.Protocol,
	wait time.Duration) (said string, err error) {
	t.Helper()
	d := data.New(data.NewGeometry(p.Coll, 6011, 4), data.I32, data.Sum, 3)
	args := executor.DataArgs(d)
	args.Protocol, args.SlotBytes, args.Wait, args.Slots = &proto, 1<<12, wait, 2*count(p)
	if said, err = sanitize(t, bin, p, executor.Options{}, d, args, 4); d.Check().Checked == 0 {
		t.Fatal("nothing was compared")
	}
	return said, err
}

// sanitize runs one call under the driver with a number of threads per block, and
// returns what it said and whether the buffers were right at the end.
func sanitize(t *testing.T, bin string, p *either.Program, opt executor.Options, d *data.Buffers, args executor.Args,
	threads int) (said string, err error) {
	t.Helper()
	dir := t.TempDir()
	dump(t, filepath.Join(dir, "dump"), p, opt, args)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, filepath.Join(dir, "dump"), filepath.Join(dir, "result"),
		strconv.Itoa(threads), "2")
	// The driver frees nothing, and one report is enough of a kernel that may hang.
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0", "TSAN_OPTIONS=halt_on_error=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("driver: %w", err)
	}
	result, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	for r := range args.Input {
		result = result[copy(args.Input[r], result):]
		if !p.Coll.Inplace {
			result = result[copy(args.Output[r], result):]
		}
	}
	rep := d.Check()
	if p.ModifiesInput() {
		rep.Changed = nil
	}
	return string(out), rep.Err()
}

// sanitizers returns the flags under which programs run: of the thread sanitizer, and for CI of those of addresses and
// undefined behaviour, for which the driver is compiled again.
func sanitizers() []string {
	if covering.CI() {
		return []string{"-fsanitize=thread", "-fsanitize=address,undefined"}
	}
	return []string{"-fsanitize=thread"}
}

// mutations returns how many of the kernel's broken orders are tried, each of which is a driver of its own: for CI all,
// and by default the first.
func mutations(all int) int {
	if covering.CI() {
		return all
	}
	return 1
}

// TestSanitizers runs programs of every shape with every protocol under the
// thread sanitizer, and under those of addresses and undefined behaviour.
func TestSanitizers(t *testing.T) {
	for _, flag := range sanitizers() {
		t.Run(flag[11:], func(t *testing.T) {
			bin := build(t, flag)
			for _, p := range []*either.Program{ringAllReduce(3, true), allPairs(3, 2, false), ringAllGather(3, 2, true)} {
				for proto := range ir.NumProtocols {
					if said, err := sanitized(t, bin, p, proto, time.Minute); err != nil || said != "" {
						t.Errorf("%s %s: %v\n%s", p.Name, proto, err, said)
					}
				}
			}
		})
	}
}

// TestThreadSanitizerSees breaks the kernel's order in one place at a time, and
// expects the thread sanitizer to notice each.
func TestThreadSanitizerSees(t *testing.T) {
	broken := []struct {
		name  string
		proto ir.Protocol
	}{
		1: {"no barrier after the wait", ir.Simple},
		2: {"no barrier before publishing", ir.Simple},
		3: {"relaxed stores for release", ir.LL128},
		4: {"relaxed loads for acquire", ir.LL128},
	}
	for n := 1; n <= mutations(len(broken)-1); n++ {
		m := broken[n]
		t.Run(m.name, func(t *testing.T) {
			bin := build(t, "-fsanitize=thread", fmt.Sprintf("-DKERNEL_MUTATION=%d", n))
			said, _ := sanitized(t, bin, allPairs(3, 1, true), m.proto, 2*time.Second)
			if !strings.Contains(said, "WARNING: ThreadSanitizer: data race") {
				t.Errorf("nothing was reported\n%s", said)
			}
		})
	}
}
