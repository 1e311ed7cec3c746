//go:build cgo && linux

package transport

// #cgo CXXFLAGS: -O2 -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -DTRANSPORT_OF_PROGRAM
// #cgo LDFLAGS: -ldl -lpthread
// #include "proxy.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	_ "mscclc/kernels" // whose headers proxy.h includes: what is built is built again when they change
)

// The codes are those of net_code in proxy.h: this does not compile where the first or the last is another.
const (
	_ = uint(EngineFailed-C.NET_ENGINE) + uint(C.NET_ENGINE-EngineFailed)
	_ = uint(WrongState-C.NET_STATE) + uint(C.NET_STATE-WrongState)
)

func failed(code C.int, f *C.struct_net_failure) error {
	if code == 0 {
		return nil
	}
	process := -1
	if f.process != ^C.uint32_t(0) {
		process = int(f.process)
	}
	return &Failure{Code(f.code), process, C.GoString(&f.text[0])}
}

// A Proxy is the thread of this process that uses an engine.
type Proxy struct{ c *C.struct_net_proxy }

// Open starts a proxy. The name is that of its engine: ucx, ncclnet:PLUGIN, or test:SPEC after UseTestEngine. It fails
// if the engine does not open; the error says why, and what to install. The caller closes the proxy.
func Open(name string) (*Proxy, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	p := &Proxy{}
	var f C.struct_net_failure
	if err := failed(C.mscclc_net_proxy(text, &p.c, &f), &f); err != nil {
		return nil, err
	}
	return p, nil
}

// UseTestEngine has Open know an engine of tests, a transport_table of table.h, as test:SPEC. Call it before Open.
func UseTestEngine(table unsafe.Pointer) {
	C.mscclc_net_test_engine((*C.struct_transport_table)(table))
}

// Close ends the thread and closes the engine. All jobs must be closed before.
func (p *Proxy) Close() { C.mscclc_net_proxy_end(p.c) }

// Properties returns what the engine says of its device. It fails if the engine does.
func (p *Proxy) Properties() (Properties, error) {
	var c C.struct_transport_properties
	if C.mscclc_net_properties(p.c, &c) != 0 {
		return Properties{}, &Failure{EngineFailed, -1, "the engine does not report its properties"}
	}
	return Properties{C.GoString(&c.name[0]), c.reaches_cuda != 0, float64(c.gbytes)}, nil
}

// Help returns what a thread of the host that waits calls, and with what: the addresses of mscclc_net_help and of its
// argument.
func (p *Proxy) Help() (call, with uint64) {
	return uint64(uintptr(C.mscclc_net_help)), uint64(uintptr(unsafe.Pointer(p.c)))
}

// Silence returns how long a process may say nothing before it is taken for dead: MSCCLC_SILENCE.
func (p *Proxy) Silence() time.Duration { return time.Duration(C.mscclc_net_silence(p.c)) }

// A Job is a program of several nodes that this process takes part in.
type Job struct{ c *C.struct_net_job }

// Job makes a job of the process with that number. memory is indexed by rank. It copies the tables, and fails if they
// cannot be. The caller closes the job.
func (p *Proxy) Job(process int, program *Program, memory []Memory, lanes []Lane) (*Job, error) {
	ranks := len(program.Process)
	if len(memory) != ranks || len(program.Node) != ranks {
		return nil, &Failure{WrongState, -1, fmt.Sprintf("%d ranks have %d nodes and %d memories",
			ranks, len(program.Node), len(memory))}
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	c := C.struct_net_program{
		messages:      (*C.struct_net_message)(pinned(&pins, program.Messages)),
		segments:      (*C.struct_net_segment)(pinned(&pins, program.Segments)),
		process:       (*C.uint32_t)(pinned(&pins, program.Process)),
		node:          (*C.uint32_t)(pinned(&pins, program.Node)),
		rank_of:       (*C.uint32_t)(pinned(&pins, program.RankOf)),
		message_count: C.uint32_t(len(program.Messages)), segment_count: C.uint32_t(len(program.Segments)),
		ranks: C.uint32_t(ranks), blocks: C.uint32_t(len(program.RankOf)),
		replicas: C.uint32_t(program.Replicas), depth: C.uint32_t(program.Depth), chunks: C.uint32_t(program.Chunks),
		flags:          C.uint32_t(program.Flags),
		scratch_stride: C.uint64_t(program.ScratchStride), scratch_copy: C.uint64_t(program.ScratchCopy),
	}
	for i, b := range program.Hash {
		c.hash[i] = C.uchar(b)
	}
	j := &Job{}
	var f C.struct_net_failure
	err := failed(C.mscclc_net_job(p.c, C.uint32_t(process), &c, (*C.struct_net_memory)(pinned(&pins, memory)),
		(*C.struct_net_lane)(pinned(&pins, lanes)), C.uint32_t(len(lanes)), &j.c, &f), &f)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// pinned returns the address of a slice's first element, which stays until pins are undone.
func pinned[T any](pins *runtime.Pinner, s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	pins.Pin(&s[0])
	return unsafe.Pointer(&s[0])
}
