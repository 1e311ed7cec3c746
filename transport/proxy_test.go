//go:build cgo && linux

package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"mscclc/transport"
	"mscclc/transport/enginetest"
)

// A side is one of two processes that send each other one chunk of scratch and a count, over memory that is not Go's.
type side struct {
	proxy   *transport.Proxy
	job     *transport.Job
	scratch [2][]byte // its own and the other's mirror, by rank
	flag    *atomic.Uint64
	lane    []byte
	rows    int
}

const (
	stride   = 1 << 15
	laneSize = 64 + 32*64 // of an abi_net_lane
)

func mapped(t *testing.T, size int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return b
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

func twoSided() *transport.Program {
	return &transport.Program{
		Messages: []transport.Message{
			{Block: 0, Operand: 0, Rank: 1, First: 0, Segments: 1},
			{Block: 1, Operand: 0, Rank: 0, First: 0, Segments: 1},
		},
		Segments: []transport.Segment{{Index: 0, Count: 1}},
		Process:  []uint32{0, 1}, Node: []uint32{0, 1}, RankOf: []uint32{0, 1},
		Replicas: 1, Depth: 1, Chunks: 1, Flags: 1, ScratchStride: stride, ScratchCopy: stride,
	}
}

// newSide makes a side whose program a test may change first.
func newSide(t *testing.T, world string, me int, program *transport.Program) *side {
	t.Helper()
	enginetest.Use()
	p, err := transport.Open(fmt.Sprintf("test:%s,seed=%d", world, me+1))
	if err != nil {
		t.Fatal(err)
	}
	s := &side{proxy: p, lane: mapped(t, laneSize)}
	memory := make([]transport.Memory, 2)
	for r := range s.scratch {
		s.scratch[r] = mapped(t, stride)
		memory[r] = transport.Memory{Scratch: address(s.scratch[r]), ScratchBytes: stride}
	}
	flags := mapped(t, 8)
	s.flag = (*atomic.Uint64)(unsafe.Pointer(&flags[0]))
	memory[me].Flags, memory[me].FlagBytes = address(flags), 8
	lanes := []transport.Lane{{At: address(s.lane), Block: uint32(me)}}
	if s.job, err = p.Job(me, program, memory, lanes); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect connects both, and returns their errors.
func connect(t *testing.T, sides [2]*side, limit time.Duration) (errs [2]error) {
	t.Helper()
	var handles [2][]byte
	for i, s := range sides {
		if peers := s.job.Peers(); len(peers) != 1 || peers[0] != 1-i {
			t.Fatalf("peers of %d: %v", i, peers)
		}
		var err error
		if handles[1-i], err = s.job.Handle(1 - i); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i, s := range sides {
		wg.Go(func() { errs[i] = s.job.Connect([][]byte{handles[i]}, limit) })
	}
	wg.Wait()
	return errs
}

func (s *side) close() {
	s.job.Close(5 * time.Second)
	s.proxy.Close()
}

func closeBoth(sides [2]*side) {
	var wg sync.WaitGroup
	for _, s := range sides {
		wg.Go(s.close)
	}
	wg.Wait()
}

// post writes a row as a kernel does: n bytes of the chunk for the other rank, and a count.
func (s *side) post(to, n int, count uint64) {
	at := unsafe.Pointer(&s.lane[64+s.rows%32*64])
	row := (*[6]uint64)(at) // seq, count, first, end, elems, chunk
	row[1], row[2], row[3], row[4], row[5] = count, 0, uint64(n), uint64(n), uint64(n)
	rest := (*[4]uint32)(unsafe.Add(at, 48)) // operand, copy and replicas, rank, flag
	*rest = [4]uint32{0, 1 << 16, uint32(to), 0}
	s.rows++
	(*atomic.Uint64)(at).Store(uint64(s.rows))
}

func (s *side) await(t *testing.T, want uint64) {
	t.Helper()
	for begin := time.Now(); s.flag.Load() < want; time.Sleep(50 * time.Microsecond) {
		if err := s.job.Err(); err != nil || time.Since(begin) > time.Minute {
			t.Fatalf("a count of %d instead of %d: %v", s.flag.Load(), want, err)
		}
	}
}

// Data of all sizes arrive, before and after a reset, and counts say how much it was.
func TestTwoSides(t *testing.T) {
	sides := [2]*side{newSide(t, "two", 0, twoSided()), newSide(t, "two", 1, twoSided())}
	defer closeBoth(sides)
	for _, err := range connect(t, sides, time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
	}
	total, sent := 0, 0
	for round := range 2 {
		for i, n := range []int{1, 8191, 8192, 8193, stride, 3} {
			from, to := sides[i%2], sides[1-i%2]
			want := bytes.Repeat([]byte{byte(17*round + i + 1)}, n)
			copy(from.scratch[1-i%2], want)
			from.post(1-i%2, n, uint64(i/2+1))
			to.await(t, uint64(i/2+1))
			if !bytes.Equal(to.scratch[1-i%2][:n], want) {
				t.Fatalf("round %d: %d bytes are not what was sent", round, n)
			}
			total, sent = total+n, sent+1
		}
		for _, s := range sides {
			if err := s.job.Reset(); err != nil {
				t.Fatal(err)
			}
			clear(s.lane)
			s.flag.Store(0)
			s.rows = 0
		}
		var errs [2]error
		var wg sync.WaitGroup
		for i, s := range sides {
			wg.Go(func() { errs[i] = s.job.Again() })
		}
		wg.Wait()
		if errs != [2]error{} {
			t.Fatal(errs)
		}
	}
	c, d := sides[0].job.Counts(), sides[1].job.Counts()
	if c.Sent+d.Sent != uint64(sent) || c.SentBytes+d.SentBytes != uint64(total) || c.Sent != d.Received ||
		c.SentBytes != d.ReceivedBytes {
		t.Errorf("%+v and %+v of %d messages with %d bytes", c, d, sent, total)
	}
	if p, err := sides[0].proxy.Properties(); err != nil || p.Name == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// What was written before Close still arrives.
func TestCloseSendsRows(t *testing.T) {
	sides := [2]*side{newSide(t, "last", 0, twoSided()), newSide(t, "last", 1, twoSided())}
	if errs := connect(t, sides, time.Minute); errs != [2]error{} {
		t.Fatal(errs)
	}
	sides[0].post(1, stride, 1)
	done := make(chan struct{})
	go func() {
		sides[0].close()
		close(done)
	}()
	sides[1].await(t, 1)
	sides[1].close()
	<-done
}

func failureOf(t *testing.T, err error, code transport.Code, process int) {
	t.Helper()
	var f *transport.Failure
	if !errors.As(err, &f) || f.Code != code || f.Process != process || f.Text == "" {
		t.Errorf("%v; want code %d of process %d", err, code, process)
	}
}

// A peer with another program is refused at both ends; one that does not connect is waited for up to the limit.
func TestConnectFails(t *testing.T) {
	other := twoSided()
	other.Hash[3] = 1
	sides := [2]*side{newSide(t, "foreign", 0, twoSided()), newSide(t, "foreign", 1, other)}
	for i, err := range connect(t, sides, time.Minute) {
		var f *transport.Failure
		if !errors.As(err, &f) || f.Code != transport.PeerForeign || f.Process < 0 {
			t.Errorf("%d: %v", i, err)
		}
	}
	closeBoth(sides)

	alone, mute := newSide(t, "alone", 0, twoSided()), newSide(t, "alone", 1, twoSided())
	handle, err := mute.job.Handle(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = alone.job.Handle(1); err != nil {
		t.Fatal(err)
	}
	err = alone.job.Connect([][]byte{handle}, 200*time.Millisecond)
	failureOf(t, err, transport.PeerSilent, 1)
	failureOf(t, alone.job.Err(), transport.PeerSilent, 1)
	failureOf(t, alone.job.Reset(), transport.PeerSilent, 1)
	alone.close()
	mute.close()
}

// A handle may have many more bytes than those of plugins, as UCX's have with many cards.
func TestLongHandles(t *testing.T) {
	sides := [2]*side{newSide(t, "long,handle=60000", 0, twoSided()), newSide(t, "long,handle=60000", 1, twoSided())}
	defer closeBoth(sides)
	if errs := connect(t, sides, time.Minute); errs != [2]error{} {
		t.Fatal(errs)
	}
	sides[0].post(1, 8, 1)
	sides[1].await(t, 1)
}

// What is no handle is refused, and the job can be connected by one that is.
func TestHandlesThatAreNone(t *testing.T) {
	sides := [2]*side{newSide(t, "harmed", 0, twoSided()), newSide(t, "harmed", 1, twoSided())}
	defer closeBoth(sides)
	good, err := sides[1].job.Handle(0)
	if err != nil {
		t.Fatal(err)
	}
	huge, most := bytes.Clone(good), []byte{255, 255, 255, 255}
	copy(huge, most)
	both := bytes.Clone(huge)
	copy(both[4:], most)
	long, few := append(bytes.Clone(good), 0), make([]byte, 9)
	for _, h := range [][]byte{nil, good[:7], good[:len(good)-1], long, huge, both, few} {
		failureOf(t, sides[0].job.Connect([][]byte{h}, time.Second), transport.PeerForeign, 1)
	}
	failureOf(t, sides[0].job.Connect([][]byte{make([]byte, 1<<20)}, time.Second), transport.WrongState, -1)
}

// Calls that cannot be are errors.
func TestWrongCalls(t *testing.T) {
	s := newSide(t, "wrong", 0, twoSided())
	defer s.close()
	_, err := s.job.Handle(7)
	failureOf(t, err, transport.WrongState, 7)
	failureOf(t, s.job.Reset(), transport.WrongState, -1)
	failureOf(t, s.job.Again(), transport.WrongState, -1)
	failureOf(t, s.job.Connect(nil, time.Second), transport.WrongState, -1)
	for name, harm := range map[string]func(*transport.Program, []transport.Memory){
		"block":   func(p *transport.Program, _ []transport.Memory) { p.Messages[1].Block = 9 },
		"order":   func(p *transport.Program, _ []transport.Memory) { p.Messages[1].Block = 0 },
		"segment": func(p *transport.Program, _ []transport.Memory) { p.Messages[1].First = 1 },
		"chunk":   func(p *transport.Program, _ []transport.Memory) { p.Segments[0].Count = 2 },
		"node":    func(p *transport.Program, _ []transport.Memory) { p.Node[1] = 0 },
		"depth":   func(p *transport.Program, _ []transport.Memory) { p.Depth = 0 },
		"flags":   func(_ *transport.Program, m []transport.Memory) { m[0].FlagBytes = 0 },
		"scratch": func(_ *transport.Program, m []transport.Memory) { m[1].ScratchBytes-- },
	} {
		p := twoSided()
		memory := []transport.Memory{{Scratch: 64, ScratchBytes: stride, Flags: 64, FlagBytes: 8},
			{Scratch: 64, ScratchBytes: stride}}
		harm(p, memory)
		if _, err := s.proxy.Job(0, p, memory, nil); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			failureOf(t, err, transport.WrongState, -1)
		}
	}
}
