package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/executor/exchange"
	"mscclc/executor/shared"
	"mscclc/transport"
)

// Kinds of messages: with data, and without.
const (
	data = iota
	credit
	kinds
)

// depth is how many chunks may be under way from one process to another.
const depth = 4

// An end is this process in a job of transport whose ranks are the processes. A process of the first node exchanges
// messages with the one of each other node that has the same place there.
type end struct {
	x      *exchange.Member
	me     int
	node   []int
	peers  []int // of this process, in increasing order
	engine string
	limit  time.Duration // to connect, and of each message

	job         *transport.Job
	lane        *abi.NetLane
	flags       []uint64 // of this process, kind after kind, by process
	memory      []transport.Memory
	made        []uint64 // addresses
	wrote       uint64
	posted, got [kinds][]uint64 // messages to and from each process
	checked     int
}

// of returns the processes of a node.
func (e *end) of(node int) (list []int) {
	for p, n := range e.node {
		if n == node {
			list = append(list, p)
		}
	}
	return list
}

// peersOf returns the processes with which one exchanges messages.
func (e *end) peersOf(process int) (list []int) {
	own := e.of(e.node[process])
	place := slices.Index(own, process)
	for n := range slices.Max(e.node) + 1 {
		if (n == 0) == (e.node[process] == 0) {
			continue
		}
		if there := e.of(n); place < len(there) {
			list = append(list, there[place])
		}
	}
	slices.Sort(list)
	return list
}

// newEnd makes a process's memory and its job. It returns an end in any case, so that connect can say what failed.
func newEnd(x *exchange.Member, node []int) (*end, error) {
	e := &end{x: x, me: x.Index(), node: node}
	for kind := range kinds {
		e.posted[kind], e.got[kind] = make([]uint64, len(node)), make([]uint64, len(node))
	}
	e.peers = e.peersOf(e.me)
	proxy, name, err := e.carrier()
	if err != nil {
		return e, err
	}
	if e.engine = name; len(e.peers) == 0 {
		return e, nil
	}
	if err := e.allocate(); err != nil {
		return e, err
	}
	lanes := []transport.Lane{{At: uint64(uintptr(unsafe.Pointer(e.lane))), Block: uint32(e.me)}}
	e.job, err = proxy.Job(e.me, e.program(), e.memory, lanes)
	return e, err
}

// program has a block for each process, with a Signal with data and one without for each of its peers.
func (e *end) program() *transport.Program {
	p := &transport.Program{Segments: []transport.Segment{{Count: 1}}, Replicas: 1, Depth: depth, Chunks: 1,
		Flags: uint32(kinds * len(e.node)), ScratchStride: chunk, ScratchCopy: chunk}
	for r, n := range e.node {
		p.Process, p.Node, p.RankOf = append(p.Process, uint32(r)), append(p.Node, uint32(n)), append(p.RankOf, uint32(r))
		for i, peer := range e.peersOf(r) {
			for kind := range uint32(kinds) {
				p.Messages = append(p.Messages, transport.Message{Block: uint32(r), Operand: uint32(i)*kinds + kind,
					Rank: uint32(peer), Segments: 1 - kind})
			}
		}
	}
	return p
}

// allocate makes the inbox, mirrors of those of the peers, and the lane.
func (e *end) allocate() error {
	alloc := func(bytes int) (uint64, error) {
		a, err := shared.Alloc(int64(bytes))
		if err == nil {
			e.made = append(e.made, a)
		}
		return a, err
	}
	const room = depth * chunk
	flags := kinds * len(e.node) * 8
	inbox, err1 := alloc(room + flags)
	lane, err2 := alloc(int(unsafe.Sizeof(abi.NetLane{})))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	e.memory = make([]transport.Memory, len(e.node))
	e.memory[e.me] = transport.Memory{Scratch: inbox, ScratchBytes: room, Flags: inbox + room, FlagBytes: uint64(flags)}
	for _, p := range e.peers {
		a, err := alloc(room)
		if err != nil {
			return err
		}
		e.memory[p] = transport.Memory{Scratch: a, ScratchBytes: room}
	}
	e.flags = unsafe.Slice((*uint64)(pointer(inbox+room)), kinds*len(e.node))
	e.lane = (*abi.NetLane)(pointer(lane))
	return nil
}

// pointer returns an address of memory that is not Go's.
func pointer(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// connect connects all processes, unless one has failed so far.
func (e *end) connect(ctx context.Context, err error) error {
	handles := map[int][]byte{}
	for _, p := range e.peers {
		if err == nil {
			handles[p], err = e.job.Handle(p)
		}
	}
	all, err := exchange.Agree(ctx, e.x, handles, err)
	if err != nil {
		return err
	}
	var own [][]byte
	for _, p := range e.peers {
		own = append(own, all[p][e.me])
	}
	err = exchange.During(ctx, e.x, func(ctx context.Context) error {
		if len(e.peers) == 0 {
			return nil
		}
		return e.job.Reach(ctx, own, e.limit)
	})
	_, err = exchange.Agree(ctx, e.x, json.RawMessage("0"), err)
	return err
}

// send sends a number of bytes to a peer, and credit sends it a count.
func (e *end) send(peer, bytes int) { e.post(peer, data, uint64(bytes)) }
func (e *end) credit(peer int)      { e.post(peer, credit, 0) }

func (e *end) post(peer, kind int, bytes uint64) {
	for e.wrote-atomic.LoadUint64(&e.lane.Taken) >= abi.NetDepth && e.alive() == nil {
		yield()
	}
	row := &e.lane.Row[e.wrote%abi.NetDepth]
	e.wrote++
	e.posted[kind][peer]++
	n := e.posted[kind][peer]
	row.Count, row.First, row.End, row.Elems, row.Chunk = n, 0, bytes, bytes, bytes
	row.Operand, row.Copy = uint32(slices.Index(e.peers, peer)*kinds+kind), uint16(n%depth)
	row.Replicas, row.Rank, row.Flag = 1, uint32(peer), uint32(kind*len(e.node)+e.me)
	atomic.StoreUint64(&row.Seq, e.wrote)
}

// await waits for the next message of a kind from a peer.
func (e *end) await(peer, kind int) error {
	e.got[kind][peer]++
	begun := time.Now()
	for n := 1; atomic.LoadUint64(&e.flags[kind*len(e.node)+peer]) < e.got[kind][peer]; n++ {
		if n%16 != 0 {
			continue
		}
		if err := e.alive(); err != nil {
			return err
		}
		if n%4096 == 0 && time.Since(begun) > e.limit {
			return fmt.Errorf("nothing has come from process %d for %v", peer, e.limit)
		}
		yield()
	}
	return nil
}

// alive returns why no message comes any more, or nil. It looks now and then.
func (e *end) alive() error {
	if e.checked++; e.checked%16 != 0 {
		return nil
	}
	return errors.Join(e.x.Lost(), e.job.Err())
}

// close leaves the job.
func (e *end) close() {
	if e.job != nil {
		if lost := e.x.Lost(); lost != nil {
			e.job.Stop(lost.Error())
		}
		e.job.Close(2 * time.Second)
	}
	for _, a := range e.made {
		shared.Free(a)
	}
}
