//go:build cgo && linux

package nccl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
)

// standIn builds the library that testdata/standin.c is.
func standIn(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, "testdata/standin.c",
		"-lpthread", "-ldl"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestNoLibrary(t *testing.T) {
	empty := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"nowhere/" + name, t.TempDir(), empty} {
		if _, err := Open(path); !errors.Is(err, executor.ErrNoDevice) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A library of another kind lacks the symbols, and the first of them is named.
func TestForeignLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.so")
	source := filepath.Join(t.TempDir(), "other.c")
	if err := os.WriteFile(source, []byte("int other;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "ncclGetErrorString") {
		t.Errorf("got %v", err)
	}
}

const ranks, count = 4, 1000

// memory is what a rank's buffer holds: room for a piece of each rank.
type memory [ranks][]uint32

func (m *memory) make(fill func(rank, i int) uint32) {
	for r := range m {
		m[r] = make([]uint32, ranks*count)
		for i := range m[r] {
			m[r][i] = fill(r, i)
		}
	}
}

func at(s []uint32, i int) uint64 { return uint64(uintptr(unsafe.Pointer(&s[i]))) }

// everyRank runs f for each rank on a thread of its own.
func everyRank(f func(rank int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, ranks)
	for r := range ranks {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			errs[r] = f(r)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func input(rank, i int) uint32 { return uint32(rank*1_000_003 + i*7 + 1) }

// want is element i of a rank's output, of every collective.
func want(kind ir.Kind, rank, i int) (v uint32, any bool) {
	sum := func(i int) (s uint32) {
		for r := range ranks {
			s += input(r, i)
		}
		return s
	}
	switch kind {
	case ir.AllReduce:
		return sum(i), i >= count
	case ir.ReduceTo:
		return sum(i), i >= count || rank != 1
	case ir.ReduceScatter:
		return sum(rank*count + i), i >= count
	case ir.AllGather:
		return input(i/count, i%count), false
	case ir.AllToAll:
		return input(i/count, rank*count+i%count), false
	case ir.Broadcast:
		return input(1, i), i >= count
	case ir.Gather:
		return input(i/count, i%count), rank != 1
	case ir.Scatter:
		return input(1, rank*count+i%count), i >= count
	}
	return input((rank+ranks-1)%ranks, i), i >= count // SendRecv, round the ranks
}

func check(t *testing.T, kind ir.Kind, comms []*Comm) {
	t.Helper()
	var in, out memory
	in.make(input)
	out.make(func(int, int) uint32 { return 0xdeadbeef })
	if err := everyRank(func(r int) error {
		call := &Call{Kind: kind, Send: at(in[r], 0), Recv: at(out[r], 0), Count: count, DType: data.U32, Root: 1,
			To: (r + 1) % ranks, From: (r + ranks - 1) % ranks}
		return errors.Join(comms[r].Start(call, 3), comms[r].Err())
	}); err != nil {
		t.Fatalf("%v: %v", kind, err)
	}
	checked := 0
	for r := range out {
		for i, got := range out[r] {
			if w, any := want(kind, r, i); !any {
				if checked++; got != w {
					t.Fatalf("%v: rank %d element %d is %d, not %d", kind, r, i, got, w)
				}
			}
		}
	}
	if checked < count {
		t.Errorf("%v: %d elements were compared", kind, checked)
	}
}

var all = []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo,
	ir.Gather, ir.Scatter, ir.SendRecv}

func TestCollectives(t *testing.T) {
	for _, flags := range [][]string{nil, {"-DWITH_ALLTOALL", "-DWITH_GATHER"}} {
		path := standIn(t, flags...)
		if len(flags) > 0 {
			path = filepath.Dir(path) // a folder does too
		}
		lib, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if lib.Version != 22809 {
			t.Errorf("version %d", lib.Version)
		}
		comms, err := lib.InitAll([]int{0, 1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range all {
			check(t, kind, comms)
		}
		for _, c := range comms {
			if err := errors.Join(c.Close(false), c.Close(false)); err != nil {
				t.Error(err)
			}
		}
	}
}

// Ranks that meet by an identity.
func TestUniqueID(t *testing.T) {
	lib, err := Open(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := lib.UniqueID()
	if err != nil || len(id) != 128 {
		t.Fatal(len(id), err)
	}
	comms := make([]*Comm, ranks)
	if err := everyRank(func(r int) (err error) {
		comms[r], err = lib.InitRank(ranks, id, r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	check(t, ir.AllReduce, comms)
	if _, err := lib.InitRank(ranks, id[:8], 0); err == nil {
		t.Error("a short identity was taken")
	}
}

// Types and reductions have NCCL's numbers.
func TestNumbers(t *testing.T) {
	lib, err := Open(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	comms, err := lib.InitAll([]int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, dt := range []data.DType{data.I8, data.U8, data.I32, data.U32, data.F32, data.F64, data.BF16} {
		for op, want := range map[data.RedOp]float64{data.Sum: 14, data.Prod: 120, data.Min: 2, data.Max: 5} {
			var bufs [ranks][]byte
			for r := range bufs {
				bufs[r] = make([]byte, 8)
				if dt.Info().Float {
					dt.PutFloat(bufs[r], 0, float64(r+2))
				} else {
					binary.LittleEndian.PutUint64(bufs[r], uint64(r+2))
				}
			}
			if err := everyRank(func(r int) error {
				p := uint64(uintptr(unsafe.Pointer(&bufs[r][0])))
				return comms[r].Start(&Call{Kind: ir.AllReduce, Send: p, Recv: p, Count: 1, DType: dt, RedOp: op}, 1)
			}); err != nil {
				t.Fatal(err)
			}
			got := float64(0)
			if dt.Info().Float {
				got = dt.Float(bufs[0], 0)
			} else {
				got = float64(dt.Int(bufs[0], 0))
			}
			if got != want {
				t.Errorf("%v %v: %v, not %v", dt, op, got, want)
			}
		}
	}
}

// Each call can fail, and says so.
func TestFailures(t *testing.T) {
	path := standIn(t)
	if err := everyCall(path); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"ncclGetVersion", "ncclGetUniqueId", "ncclCommInitAll", "ncclCommDestroy",
		"ncclCommGetAsyncError", "ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast", "ncclReduce",
		"ncclSend", "ncclRecv", "ncclCommWindowRegister", "ncclGroupStart", "ncclGroupEnd"} {
		// A process of its own: the mock NCCL counts calls from its start.
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailuresChild$")
		cmd.Env = append(os.Environ(), "NCCL_STANDIN_FAIL="+call+":1", "MSCCLC_STANDIN="+path)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "internal error of the stand-in (3)") {
			t.Errorf("%s: %v\n%s", call, err, out)
		}
	}
}

// everyCall makes every call of the library once.
func everyCall(path string) error {
	lib, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := lib.UniqueID(); err != nil {
		return err
	}
	comms, err := lib.InitAll([]int{0})
	if err != nil {
		return err
	}
	for _, kind := range all {
		buf := make([]uint32, 16)
		if err := comms[0].Start(&Call{Kind: kind, Send: at(buf, 0), Recv: at(buf, 8), Count: 8, DType: data.U32},
			1); err != nil {
			return err
		}
	}
	return errors.Join(comms[0].Window(at(make([]uint32, 4), 0), 16), comms[0].Err(), comms[0].Close(false))
}

// TestFailuresChild is what TestFailures runs in processes of their own.
func TestFailuresChild(t *testing.T) {
	if path := os.Getenv("MSCCLC_STANDIN"); path != "" {
		if err := everyCall(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

func TestUnsupported(t *testing.T) {
	if err := Supports(ir.Custom); !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
}
