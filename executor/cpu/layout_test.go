//go:build cgo

package cpu

import (
	"context"
	"maps"
	"math/rand"
	"reflect"
	"syscall"
	"testing"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
)

// TestLayout compares the tables of Go and C, field by field.
func TestLayout(t *testing.T) {
	c := cLayouts()
	maps.Copy(c, oneLayouts())
	for _, v := range []any{abi.OneStep{}, abi.OneOperand{}, abi.OneBlock{}, abi.OneMemory{}, abi.OneState{},
		abi.OneRecord{}, abi.OneSwitch{}, abi.PortCopy{}, abi.PortLane{}, abi.PortEnds{}, abi.OneParams{}, abi.FewStep{},
		abi.FewParams{}, abi.FewLaunch{}, abi.NetRow{}, abi.NetLane{}, abi.Net{}, abi.Inbox{},
		abi.RowStage{}, abi.RowMemory{}, abi.Rows{}, abi.RowsLaunch{}, abi.FewRowsLaunch{},
		abi.Step{}, abi.Block{}, abi.RankMemory{}, abi.State{}, abi.Counters{},
		abi.ConnMemory{}, abi.Status{}, abi.Action{}, abi.TraceTables{}, abi.Params{}} {
		typ := reflect.TypeOf(v)
		want, ok := c[typ.Name()]
		if !ok {
			t.Fatalf("C has no %s", typ.Name())
		}
		delete(c, typ.Name())
		if typ.Size() != want.size {
			t.Errorf("%s has %d bytes, in C %d", typ.Name(), typ.Size(), want.size)
		}
		var got []uintptr
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Type.Size() > 0 {
				got = append(got, f.Offset)
			}
		}
		if !reflect.DeepEqual(got, want.offsets) {
			t.Errorf("%s has its fields at %v, in C %v", typ.Name(), got, want.offsets)
		}
	}
	if len(c) > 0 {
		t.Errorf("Go has none of %v", c)
	}
}

// TestAddresses compares where kernel and Geometry find chunks, of pieces far
// beyond 4 GiB too.
func TestAddresses(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 10000 {
		c := &ir.Collective{Kind: ir.AllToAll, Ranks: 1 + rnd.Intn(64), Chunks: 1 + rnd.Intn(40)}
		size := 1 << rnd.Intn(4)
		geo := data.NewGeometry(c, rnd.Int63n(1<<rnd.Intn(42)+1), size)
		index, at := rnd.Intn(c.Ranks*c.Chunks), int64(0)
		if n := geo.Length(c.Class(index)); n > 0 {
			at = rnd.Int63n(n)
		}
		const input, output, scratch = 1 << 60, 1 << 61, 1 << 62
		want := [3]int64{input + (geo.Offset(index)+at)*int64(size), output + (geo.Offset(index)+at)*int64(size),
			scratch + (int64(index)*geo.Chunk+at)*int64(size)}
		for buf, want := range want {
			got := cCell(uint64(geo.Elems), uint64(geo.Chunk), uint32(c.Chunks), uint32(size), input, output, scratch,
				uint8(buf), uint32(index), uint64(at))
			if int64(got) != want {
				t.Fatalf("element %d of chunk %d of %s in %v, %d elements of %d: %#x, not %#x", at, index, ir.Buf(buf), c,
					geo.Elems, size, got, want)
			}
		}
	}
}

// TestBeyond4GiB sends the last of 65,536 chunks of a 6 GiB buffer to a 6 GiB
// buffer by way of the last slot of a 6 GiB scratch, all of which take memory
// only where they are touched.
func TestBeyond4GiB(t *testing.T) {
	const chunks, total = 1 << 16, 6 << 30
	const chunk = total / chunks
	c := &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: chunks, In: chunks, Out: chunks,
		Require: map[ir.Part][]ir.Part{{Rank: 1, Index: chunks - 1}: {{Rank: 0, Index: chunks - 1}}}}
	b := newBuilder("far", c, chunks)
	b.block(0, 1, -1, 0)
	b.step(0, 0, ir.Send, input(chunks-1), none, 1, 0)
	b.block(1, -1, 0, 0)
	b.step(1, 0, ir.Recv, none, scratch(chunks-1), 1, chunks-1)
	b.step(1, 0, ir.Copy, scratch(chunks-1), output(chunks-1), 1, 0)
	l := load(t, b.program())
	args := executor.Args{DType: data.U8, Elems: total}
	for range 2 {
		args.Input, args.Output = append(args.Input, sparse(t, total)), append(args.Output, sparse(t, total))
	}
	from, to := args.Input[0][total-chunk:], args.Output[1][total-chunk:]
	for i := range from {
		from[i] = byte(i * 7)
	}
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(from, to) {
		t.Error("the last chunk did not arrive")
	}
}

func sparse(t *testing.T, bytes int) []byte {
	t.Helper()
	m, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	return m
}

// holder is the CPU, and remembers the instance that it made.
type holder struct{ *instance }

func (holder) Name() string { return "cpu" }

func (h *holder) Open(img *abi.Image) (executor.Instance, error) {
	in, err := device{}.Open(img)
	h.instance = in.(*instance)
	return in, err
}

// TestStacks bounds what the kernel uses of a fiber's stack, for every type,
// reduction and protocol.
func TestStacks(t *testing.T) {
	for _, p := range []*either.Program{ringAllReduce(3, true), allPairs(3, 1, true)} {
		h := &holder{}
		l, err := executor.Load(p, executor.Options{Device: h})
		if err != nil {
			t.Fatal(err)
		}
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				for proto := range ir.NumProtocols {
					check(t, l, p.Coll, dt, op, 3*4000, func(a *executor.Args) { a.Protocol = &proto })
				}
			}
		}
		used, of := stackUse(&h.stacks)
		if used < 1<<10 || used > of/2 {
			t.Errorf("%s: %d bytes of a stack of %d were used", p.Name, used, of)
		}
		t.Logf("%s: %d bytes of a stack of %d were used", p.Name, used, of)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
