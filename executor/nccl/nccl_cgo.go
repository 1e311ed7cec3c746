//go:build cgo && linux

package nccl

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -ldl
// #include "nccl.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"mscclc/executor"
	"mscclc/ir"
)

// name is what the library is called on the library path.
const name = "libnccl.so.2"

// A Library is NCCL, opened.
type Library struct {
	c       *C.struct_nccl_library
	Version int // as NCCL counts: 22809 is 2.28.9
}

// Open opens the library: the one of the library path where path is empty, else
// the file, or the one in the folder, that path names.
func Open(path string) (*Library, error) {
	if path == "" {
		path = name
	} else if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("NCCL: %v: %w", err, executor.ErrNoDevice)
	} else if info.IsDir() {
		path = filepath.Join(path, name)
	} else if filepath.Base(path) == path {
		path = "./" + path // dlopen would look for it on the library path
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var why *C.char
	c := C.mscclc_nccl_open(text, &why)
	if c == nil {
		defer C.free(unsafe.Pointer(why))
		return nil, fmt.Errorf("NCCL cannot be opened: %s: %w", C.GoString(why), executor.ErrNoDevice)
	}
	l := &Library{c: c}
	var version C.int
	if err := l.failed(C.mscclc_nccl_version(c, &version), nil, "its version"); err != nil {
		return nil, err
	}
	l.Version = int(version)
	return l, nil
}

// failed returns the error of a call that gave code.
func (l *Library) failed(code C.int, comm *Comm, what string) error {
	if code == 0 {
		return nil
	}
	err := fmt.Errorf("NCCL: %s: %s (%d)", what, C.GoString(C.mscclc_nccl_error(l.c, code)), int(code))
	if comm != nil {
		if last := C.mscclc_nccl_last_error(l.c, comm.c); last != nil && *last != 0 {
			err = fmt.Errorf("%w: %s", err, C.GoString(last))
		}
	}
	return err
}

// A Comm is one rank's communicator.
type Comm struct {
	lib         *Library
	c           unsafe.Pointer
	Rank, Ranks int
}

// InitAll makes the communicators of all ranks, one a GPU by its number among
// those that the process sees.
func (l *Library) InitAll(gpus []int) ([]*Comm, error) {
	handles := make([]unsafe.Pointer, len(gpus))
	devices := make([]C.int, len(gpus))
	for i, g := range gpus {
		devices[i] = C.int(g)
	}
	if err := l.failed(C.mscclc_nccl_init_all(l.c, unsafe.SliceData(handles), C.int(len(gpus)), unsafe.SliceData(devices)),
		nil, "communicators of one process"); err != nil {
		return nil, err
	}
	comms := make([]*Comm, len(gpus))
	for i, h := range handles {
		comms[i] = &Comm{lib: l, c: h, Rank: i, Ranks: len(gpus)}
	}
	return comms, nil
}

// UniqueID makes the identity of a communicator, which one rank hands to all.
func (l *Library) UniqueID() ([]byte, error) {
	var id C.nccl_id
	if err := l.failed(C.mscclc_nccl_unique_id(l.c, &id), nil, "a communicator's identity"); err != nil {
		return nil, err
	}
	return C.GoBytes(unsafe.Pointer(&id), C.int(unsafe.Sizeof(id))), nil
}

// InitRank makes one rank's communicator, on the GPU that is current. It waits
// for all others'.
func (l *Library) InitRank(ranks int, id []byte, rank int) (*Comm, error) {
	var cid C.nccl_id
	if len(id) != int(unsafe.Sizeof(cid)) {
		return nil, fmt.Errorf("NCCL: an identity of %d bytes, of %d", len(id), unsafe.Sizeof(cid))
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&cid)), len(id)), id)
	comm := &Comm{lib: l, Rank: rank, Ranks: ranks}
	var handle unsafe.Pointer
	if err := l.failed(C.mscclc_nccl_init_rank(l.c, &handle, C.int(ranks), &cid, C.int(rank)), nil,
		fmt.Sprintf("the communicator of rank %d", rank)); err != nil {
		return nil, err
	}
	comm.c = handle
	return comm, nil
}

// What a library, or its GPUs, may lack.
var (
	errNoMemory  = fmt.Errorf("NCCL has no memory of its own here: %w", executor.ErrNotSupported)
	errNoWindows = fmt.Errorf("NCCL has no windows here: %w", executor.ErrNoDevice)
)

// Alloc makes memory on the GPU that is current. It can be a window. An NCCL before 2.19 has none, which is
// executor.ErrNotSupported.
func (l *Library) Alloc(bytes int64) (uint64, error) {
	var address C.uint64_t
	code := C.mscclc_nccl_alloc(l.c, C.size_t(bytes), &address)
	if code == -1 {
		return 0, errNoMemory
	}
	return uint64(address), l.failed(code, nil, "memory of NCCL")
}

// Free gives memory of Alloc back.
func (l *Library) Free(address uint64) error {
	return l.failed(C.mscclc_nccl_free(l.c, C.uint64_t(address)), nil, "freeing memory")
}

// Window makes memory a symmetric window, until the communicator is closed. It waits for all other ranks.
func (c *Comm) Window(address uint64, bytes int64) error {
	code := C.mscclc_nccl_window(c.lib.c, c.c, C.uint64_t(address), C.size_t(bytes))
	if code == -1 {
		return errNoWindows
	}
	return c.lib.failed(code, c, "a window")
}

var kinds = map[ir.Kind]C.int{
	ir.AllReduce: C.NCCL_ALLREDUCE, ir.AllGather: C.NCCL_ALLGATHER, ir.ReduceScatter: C.NCCL_REDUCESCATTER,
	ir.AllToAll:  C.NCCL_ALLTOALL,
	ir.Broadcast: C.NCCL_BROADCAST, ir.ReduceTo: C.NCCL_REDUCE, ir.Gather: C.NCCL_GATHER,
	ir.Scatter: C.NCCL_SCATTER, ir.SendRecv: C.NCCL_SENDRECV,
}

// Start starts a call a number of times, on its stream.
func (c *Comm) Start(call *Call, times int) error {
	if err := Supports(call.Kind); err != nil {
		return err
	}
	k := C.struct_nccl_call{
		send: C.uint64_t(call.Send), recv: C.uint64_t(call.Recv), stream: C.uint64_t(call.Stream),
		count: C.size_t(call.Count), element: C.size_t(call.DType.Size()), kind: kinds[call.Kind],
		_type: C.int(types[call.DType]), op: C.int(redops[call.RedOp]),
		root: C.int(call.Root), to: C.int(call.To), from: C.int(call.From), rank: C.int(c.Rank), ranks: C.int(c.Ranks),
	}
	return c.lib.failed(C.mscclc_nccl_call(c.lib.c, c.c, &k, C.int(times)), c, call.Kind.String())
}

// Err returns what went wrong after a call had started, or nil.
func (c *Comm) Err() error {
	var code C.int
	if err := c.lib.failed(C.mscclc_nccl_async_error(c.lib.c, c.c, &code), c, "the communicator's state"); err != nil {
		return err
	}
	return c.lib.failed(code, c, "a collective")
}

// Close frees the communicator. Abort does not wait for its calls to end.
func (c *Comm) Close(abort bool) error {
	if c.c == nil {
		return nil
	}
	n := C.int(0)
	if abort {
		n = 1
	}
	err := c.lib.failed(C.mscclc_nccl_destroy(c.lib.c, c.c, n), nil, "freeing a communicator")
	c.c = nil
	return err
}
