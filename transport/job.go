//go:build cgo && linux

package transport

// #include "proxy.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// These do not compile where types.go differs from proxy.h.
const (
	_ = uint(Together-C.NET_REPLICAS) + uint(C.NET_REPLICAS-Together)
	_ = uint(Inside-C.NET_INSIDE) + uint(C.NET_INSIDE-Inside)
)

// Peers returns the processes that this one talks to, in increasing order.
func (j *Job) Peers() []int {
	number := make([]C.uint32_t, C.mscclc_net_peers(j.c, nil, 0))
	if len(number) > 0 {
		C.mscclc_net_peers(j.c, &number[0], C.uint32_t(len(number)))
	}
	peers := make([]int, len(number))
	for i, n := range number {
		peers[i] = int(n)
	}
	return peers
}

// Handle returns the bytes that a peer needs to connect to this process. It fails if the process is no peer, or the
// engine cannot listen.
func (j *Job) Handle(process int) ([]byte, error) {
	var handle C.struct_net_handle
	var f C.struct_net_failure
	code := C.mscclc_net_handle(j.c, C.uint32_t(process), &handle, &f)
	return C.GoBytes(unsafe.Pointer(handle.at), C.int(handle.bytes)), failed(code, &f)
}

// Connect connects to all peers and returns when all have connected to this process, too. handles are what the peers
// made for this process, in the order of Peers. It fails after limit, if a peer has another program, and if a handle
// cannot be one. From then on rows of lanes are carried.
func (j *Job) Connect(handles [][]byte, limit time.Duration) error {
	if n := len(j.Peers()); n != len(handles) {
		return &Failure{WrongState, -1, fmt.Sprintf("%d handles of %d peers", len(handles), n)}
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	all := make([]C.struct_net_handle, len(handles))
	for i, h := range handles {
		if len(h) > C.NET_HANDLE_MOST {
			return &Failure{WrongState, -1, fmt.Sprintf("handle %d has %d bytes, and at most %d are allowed", i, len(h),
				C.NET_HANDLE_MOST)}
		}
		all[i] = C.struct_net_handle{at: (*C.uchar)(pinned(&pins, h)), bytes: C.uint32_t(len(h))}
	}
	var f C.struct_net_failure
	list := (*C.struct_net_handle)(pinned(&pins, all))
	return failed(C.mscclc_net_connect(j.c, list, C.uint64_t(limit), nil, nil, &f), &f)
}

// Reach is Connect that ends with ctx, too. The failure's text is then the cause of that.
func (j *Job) Reach(ctx context.Context, handles [][]byte, limit time.Duration) error {
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
			j.Stop(context.Cause(ctx).Error())
		case <-over:
		}
	})
	err := j.Connect(handles, limit)
	close(over)
	watch.Wait()
	return err
}

// Stop fails a job that has not failed, with a cause. A Connect that waits then returns. It may be called beside other
// methods, but for Close.
func (j *Job) Stop(cause string) {
	text := C.CString(cause)
	defer C.free(unsafe.Pointer(text))
	C.mscclc_net_stop(j.c, text)
}

// Err returns the first failure of the job, a *Failure, or nil. After a failure the job carries nothing more.
func (j *Job) Err() error {
	var f C.struct_net_failure
	return failed(C.mscclc_net_state(j.c, &f), &f)
}

// Counts returns what the job has done so far.
func (j *Job) Counts() Counts {
	var c C.struct_net_counts
	C.mscclc_net_counted(j.c, &c)
	return Counts{uint64(c.sent), uint64(c.received), uint64(c.sent_bytes), uint64(c.received_bytes), uint64(c.beats),
		uint64(c.pieces)}
}

// Note has the job note its next messages, up to most, and forgets those that it has noted; 0 has it note nothing.
func (j *Job) Note(most int) error {
	if C.mscclc_net_note(j.c, C.uint32_t(most)) != 0 {
		return &Failure{WrongState, -1, fmt.Sprintf("no memory to note %d messages", most)}
	}
	return nil
}

// Noted returns what the job has noted, in the order of the beginnings.
func (j *Job) Noted() []Note {
	n := C.mscclc_net_noted(j.c, nil, 0)
	if n == 0 {
		return nil
	}
	rows := make([]C.struct_net_note, n)
	list := make([]Note, min(n, C.mscclc_net_noted(j.c, &rows[0], n)))
	for i := range list {
		r := &rows[i]
		list[i] = Note{uint64(r.begin), uint64(r.end), uint64(r.bytes), uint64(r.count), uint32(r.process),
			uint32(r.rank), uint32(r.block), uint32(r.operand), uint32(r.flag), uint32(r.replica), uint32(r.replicas),
			r.received != 0}
	}
	return list
}

// Reset forgets all rows and messages. No kernel may run in any process, and all must know that. Then the
// caller zeroes flags and lanes, all processes meet, and each calls Again. It fails if the job has failed.
func (j *Job) Reset() error {
	var f C.struct_net_failure
	return failed(C.mscclc_net_reset(j.c, &f), &f)
}

// Again has rows be carried again after Reset. It waits for the peers, which call Reset too, for a few seconds at most.
func (j *Job) Again() error {
	var f C.struct_net_failure
	return failed(C.mscclc_net_again(j.c, &f), &f)
}

// Close sends what rows are left, says goodbye, waits for the peers' goodbyes for at most limit, and frees the job.
func (j *Job) Close(limit time.Duration) { C.mscclc_net_close(j.c, C.uint64_t(limit)) }
