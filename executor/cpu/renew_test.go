//go:build cgo

package cpu

import (
	"testing"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// twoHolder is the CPU, and remembers the instance that it made.
type twoHolder struct{ *instance }

func (twoHolder) Name() string { return "cpu" }

func (h *twoHolder) Open(img *abi.Image) (executor.Instance, error) {
	in, err := device{}.Open(img)
	h.instance, _ = in.(*instance)
	return in, err
}

// begin makes the instance as if every connection had carried a number of messages.
func (in *instance) begin(messages uint64) {
	for i := range in.states {
		in.states[i].Sent, in.states[i].Received = messages, messages
	}
	for i := range in.counters {
		in.counters[i].Head, in.counters[i].Tail = messages, messages
	}
}

// oldest returns the least number of a message that some packet of the slots carries.
func (in *instance) oldest() uint32 {
	slots := *(*unsafe.Pointer)(unsafe.Pointer(&in.fifo.address))
	words := unsafe.Slice((*uint64)(slots), uint64(len(in.counters))*uint64(in.wire.slots)*in.wire.stride/8)
	least := ^uint32(0)
	for _, w := range words {
		least = min(least, uint32(w>>32))
	}
	return least
}

// TestSlotsRenew comes to where the 32 bits of packets' numbers begin anew: no packet of long ago, nor one
// that was never written, is left in any slot by then, and long messages after short ones are right.
func TestSlotsRenew(t *testing.T) {
	const renew = 1 << 29 // where slots are first written all over
	for _, proto := range []ir.Protocol{ir.LL, ir.LL16, ir.LL128} {
		for _, perBlock := range []int{0, 3} {
			p := ringAllReduce(3, false)
			h := &twoHolder{}
			l, err := executor.Load(p, executor.Options{Device: h})
			if err != nil {
				t.Fatal(err)
			}
			run := func(elems int64) {
				t.Helper()
				check(t, l, p.Coll, data.I32, data.Sum, elems, func(a *executor.Args) {
					a.Protocol, a.SlotBytes, a.TileBytes, a.PerBlock = &proto, 2048, 2048, perBlock
				})
			}
			run(20000)
			h.begin(renew - 2)
			for range 8 {
				run(5)
			}
			if least := h.oldest(); proto != ir.LL128 && least < renew {
				t.Errorf("%v: a slot has packets of message %d", proto, least)
			}
			for _, at := range []uint64{1<<32 - 9, 1<<32 - 5, 1 << 32, 3<<32 - 20} {
				h.begin(at)
				run(20000)
				run(7)
				run(20001)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
