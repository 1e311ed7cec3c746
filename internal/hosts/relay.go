//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Line says how frames travel through a relay, in each direction.
type Line struct {
	Delay time.Duration // of each frame
	Rate  int           // bytes a second; 0 means no limit
	Loss  float64       // the share of frames that are lost, from 0 to 1
	// In each period of Every, no frame leaves during the first Stall. Every may be 0: the line never stalls.
	Every, Stall time.Duration
}

// A Relay carries the frames between a host and the bridge, as netem of Linux does where a kernel has it. Its counts
// are of both directions.
type Relay struct {
	Bytes, Lost, Stalled atomic.Int64 // bytes that went on; frames that were lost, and those that a stall held back

	line  Line
	begin time.Time
	ends  [2]*os.File // packet sockets: at the host's card and at the bridge
	work  sync.WaitGroup
}

// A frame has a header that says what the sender's card left to do, such as a checksum (PACKET_VNET_HDR of packet(7)).
const (
	frameHeader = 10
	frameMost   = frameHeader + 1<<16 + 64
	queueMost   = 1024 // frames that wait for their time; a full queue loses frames, as routers do
)

type frame struct {
	data   []byte
	leaves time.Duration // since the relay's begin
}

// Relay puts a relay between the host and the bridge, until the test ends.
func (h *Host) Relay(t testing.TB, line Line) *Relay {
	t.Helper()
	far, inner := h.port+"-far", h.port+"-in"
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "add", far, "type", "veth", "peer", "name", inner)
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "set", far, "up")
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "set", h.port, "nomaster")
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "set", inner, "master", "bridge", "up")
	r := &Relay{line: line, begin: time.Now()}
	for i, card := range []string{h.port, far} {
		var err error
		if r.ends[i], err = packets(h.of.bridge, card); err != nil {
			r.Kill()
			t.Fatalf("relay at %s: %v", card, err)
		}
	}
	for i := range r.ends {
		queue := make(chan frame, queueMost)
		r.work.Go(func() { r.read(t, i, queue) })
		r.work.Go(func() { r.write(t, 1-i, queue) })
	}
	t.Cleanup(func() {
		r.Kill()
		r.work.Wait()
	})
	return r
}

// Kill ends the relay. From then on the host reaches nobody. A second call does nothing.
func (r *Relay) Kill() {
	for _, end := range r.ends {
		end.Close()
	}
}

// packets opens a packet socket at a card of a namespace.
func packets(space, card string) (file *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, as it is in another namespace
		file, err = packetsHere("/run/netns/"+space, card)
	}()
	<-done
	return file, err
}

func packetsHere(space, card string) (*os.File, error) {
	f, err := os.Open(space)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("%s: %w", space, err)
	}
	at, err := net.InterfaceByName(card)
	if err != nil {
		return nil, err
	}
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order of bytes
	if err := errors.Join(unix.SetsockoptInt(s, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(s, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
		unix.Bind(s, &unix.SockaddrLinklayer{Protocol: all, Ifindex: at.Index})); err != nil {
		unix.Close(s)
		return nil, err
	}
	return os.NewFile(uintptr(s), card), nil
}

// read queues the frames that come at an end, until the relay is killed.
func (r *Relay) read(t testing.TB, end int, queue chan<- frame) {
	defer close(queue)
	random := rand.New(rand.NewPCG(uint64(end), 1))
	buffer := make([]byte, frameMost)
	var free time.Duration
	for {
		n, err := r.ends[end].Read(buffer)
		if errors.Is(err, unix.ENETDOWN) {
			continue // the link was cut, and may be mended
		}
		if err != nil {
			report(t, err)
			return
		}
		if random.Float64() < r.line.Loss || len(queue) == cap(queue) {
			r.Lost.Add(1)
			continue
		}
		begins, stalled := r.line.begins(max(time.Since(r.begin), free))
		if stalled {
			r.Stalled.Add(1)
		}
		free = begins + r.line.takes(n-frameHeader)
		queue <- frame{append([]byte(nil), buffer[:n]...), free + r.line.Delay}
	}
}

// write sends queued frames at an end, each at its time.
func (r *Relay) write(t testing.TB, end int, queue <-chan frame) {
	for f := range queue {
		time.Sleep(f.leaves - time.Since(r.begin))
		switch _, err := r.ends[end].Write(f.data); {
		case err == nil:
			r.Bytes.Add(int64(len(f.data) - frameHeader))
		case errors.Is(err, unix.ENETDOWN):
			r.Lost.Add(1)
		default:
			report(t, err)
			for range queue { // so that read does not wait for room
			}
			return
		}
	}
}

// report reports to the test an error, other than that the relay was killed.
func report(t testing.TB, err error) {
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("relay: %v", err)
	}
}

// begins returns when a frame that could begin at a time does so, and whether a stall held it back. Times count from
// the relay's begin.
func (l *Line) begins(at time.Duration) (time.Duration, bool) {
	if l.Every == 0 || at%l.Every >= l.Stall {
		return at, false
	}
	return at - at%l.Every + l.Stall, true
}

// takes returns how long the line is busy with a given number of bytes.
func (l *Line) takes(bytes int) time.Duration {
	if l.Rate == 0 {
		return 0
	}
	return time.Duration(bytes) * time.Second / time.Duration(l.Rate)
}
