package gputest

import (
	"errors"
	"math/bits"
	"strings"
	"sync"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
)

// An allocator makes the buffers of calls.
type allocator interface {
	alloc(g executor.GPU, bytes int64) (uint64, error)
	free(g executor.GPU, address uint64) error
}

// plain is a GPU's own.
type plain struct{}

func (plain) alloc(g executor.GPU, bytes int64) (uint64, error) { return g.Alloc(bytes) }
func (plain) free(g executor.GPU, address uint64) error         { return g.Free(address) }

// A pool keeps a GPU's own memory for the next who wants as much: where each reaches all, a GPU takes milliseconds
// to make and to free some. The mock driver does not, and there a buffer has no byte more than it is to have.
type pool struct {
	mu     sync.Mutex
	unused map[place][]uint64
	of     map[place]place // by GPU and address
}

// A place is a GPU and a size or an address.
type place struct {
	gpu executor.GPU
	at  uint64
}

func (p *pool) alloc(g executor.GPU, bytes int64) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	class := place{g, max(uint64(1)<<bits.Len64(uint64(bytes-1)), 1<<16)}
	if list := p.unused[class]; len(list) > 0 {
		p.unused[class] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	a, err := g.Alloc(int64(class.at))
	if err == nil {
		p.of[place{g, a}] = class
	}
	return a, err
}

func (p *pool) free(g executor.GPU, address uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	class := p.of[place{g, address}]
	p.unused[class] = append(p.unused[class], address)
	return nil
}

// testMapped has buffers in segments that were mapped side by side, to which only their own GPU
// has access at first.
func testMapped(t *testing.T, d Device) {
	for _, s := range both(ranked("allgather/allpairs", 4, ir.Simple, false),
		ranked("allreduce/allpairs", 4, ir.Simple, true), ranked("allreduce/allpairs", 3, ir.LL, false)) {
		r := mustRig(t, d, mustProgram(t, s), plan.Options{GPUs: d.Open(numbers()...)})
		r.memory = newMapper(d, false)
		for _, elems := range []int64{1, 40000, 300000} {
			if err := r.once(soon(t), data.I32, data.Sum, elems*int64(r.plan.Program().Coll.Chunks), nil); err != nil {
				t.Errorf("%v: %v", s, err)
			}
		}
	}
	m := newMapper(d, true)
	gpus, err := d.Open(numbers()...).GPUs()
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.alloc(gpus[0], 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(gpus[0].Owns(a, 1<<20), gpus[0].Owns(a+100, 1<<20)); err != nil {
		t.Error(err)
	}
	if err := gpus[0].Owns(a, 1<<40); err == nil || !strings.Contains(err.Error(), "its memory has") {
		t.Error(err)
	}
	if err := m.free(gpus[0], a); err != nil {
		t.Error(err)
	}
}

// testProcessesMapped has a process for each rank, whose buffers are in hundreds of segments. What cannot be
// exported, or imported, is reported by all.
func testProcessesMapped(t *testing.T, d Device) {
	for _, mapped := range []string{"shareable", "private"} {
		for i, c := range startJob(t, "rank", ir.Simple, func(r *role) { r.Mapped = mapped }) {
			code, said := c.end(t)
			if mapped == "shareable" && code != 0 || mapped == "private" &&
				(code != 1 || !strings.Contains(said, "asked for no POSIX file descriptor")) {
				t.Errorf("%s, process %d: %d %s", mapped, i, code, said)
			}
		}
	}
	if d.Name != "cuda" || !d.StandIn() {
		return
	}
	for _, name := range []string{"cuMemGetAllocationPropertiesFromHandle:1", "cuMemExportToShareableHandle:100",
		"cuMemImportFromShareableHandle:1", "cuMemImportFromShareableHandle:100"} {
		for i, c := range startJob(t, "rank", ir.Simple, func(r *role) {
			r.Mapped = "shareable"
			if r.Index == 1 {
				r.Env = append(r.Env, "MSCCLC_STANDIN_FAIL="+name)
			}
		}) {
			if code, said := c.end(t); code != 1 || !strings.Contains(said, "driver error 999") {
				t.Errorf("%s, process %d: %d %s", name, i, code, said)
			}
		}
	}
}
