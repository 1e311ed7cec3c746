package exchange

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// The frames of an exchange: a length of 32 bits, little-endian, a kind, and as
// many bytes as the length says. A note begins with its topic, 64 bits, and the
// process that it comes from, 32.
const (
	frameHello byte = iota // a hello, or a question
	frameProof
	frameWelcome // the hub's proof
	frameRefused // a verdict, and why
	frameGather
	frameNote
	frameLost // a process, and why
	frameBye
	frameAlive // nothing else; see beat
	frameKinds
)

const (
	maxFrame   = 64 << 20
	linkWrites = 30 * time.Second // that a peer may leave a frame unread
)

// A link is the connection to one process.
type link struct {
	conn  net.Conn
	to    int
	write sync.Mutex
	blobs chan []byte   // one is on its way at most, for its sender waits for the answer
	left  chan struct{} // closed when the process has said that it leaves
	pulse pulse
}

func newLink(conn net.Conn, to int) *link {
	return &link{conn: conn, to: to, blobs: make(chan []byte, 1), left: make(chan struct{}),
		pulse: pulse{from: conn}}
}

// fits returns an error if a frame cannot have such a body.
func fits(body []byte) error {
	if len(body) > maxFrame {
		return fmt.Errorf("an exchange of %d bytes is over the limit of %d", len(body), maxFrame)
	}
	return nil
}

func (l *link) send(kind byte, body []byte) error {
	if err := fits(body); err != nil {
		return err
	}
	l.write.Lock()
	defer l.write.Unlock()
	l.conn.SetWriteDeadline(time.Now().Add(linkWrites))
	_, err := l.conn.Write(frame(kind, body))
	return err
}

func frame(kind byte, body []byte) []byte {
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), kind), body...)
}

func readFrame(r io.Reader, most uint32) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > most || head[4] >= frameKinds {
		return 0, nil, errors.New("it speaks something else")
	}
	body = make([]byte, n)
	_, err = io.ReadFull(r, body)
	return head[4], body, err
}

// read takes what comes by a link, to its end.
func (x *Member) read(l *link) {
	r := bufio.NewReader(&l.pulse)
	go x.beat(l)
	for {
		kind, body, err := readFrame(r, maxFrame)
		switch {
		case err != nil:
			x.lost(l.to, err)
			return
		case kind == frameBye:
			close(l.left)
			return
		case kind == frameAlive:
		case kind == frameGather && len(l.blobs) == 0:
			l.blobs <- body
		case kind == frameNote && len(body) >= 12:
			x.note(body)
		case kind == frameLost && len(body) >= 4:
			x.gone(int(binary.LittleEndian.Uint32(body)), string(body[4:]))
			return
		default:
			x.lost(l.to, errors.New("it speaks out of turn"))
			return
		}
	}
}

// lost is the end of an exchange of which a link broke. The hub tells all others.
func (x *Member) lost(to int, err error) {
	select {
	case <-x.done:
		return // it is over anyhow
	default:
	}
	why := err.Error()
	ends := func(e error) bool { return errors.Is(err, e) }
	over := []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE}
	if slices.ContainsFunc(over, ends) {
		why = "its connection has ended"
	}
	x.gone(to, fmt.Sprintf("%s (process %d noticed it)", why, x.index))
}

func (x *Member) gone(to int, why string) {
	x.handing.Lock()
	defer x.handing.Unlock()
	cause := &lossError{process: to, why: "is gone: " + why, after: x.about.after()}
	if x.index == 0 {
		body := append(binary.LittleEndian.AppendUint32(nil, uint32(to)), why...)
		for _, l := range x.links[1:] {
			if l.to != to {
				l.send(frameLost, body) // a link that is broken too has its own end
			}
		}
	}
	x.end(cause, false)
	x.notify(cause)
}

// A listener is a function that receives notes, and the view that it belongs to.
type listener struct {
	in *Member
	f  func(from int, note string)
}

// notify calls all listeners, each in the words of its view.
func (x *Member) notify(loss *lossError) {
	x.mu.Lock()
	listeners := slices.Collect(maps.Values(x.listeners))
	x.mu.Unlock()
	for _, h := range listeners {
		h.f(loss.process, h.in.said(loss).(*lossError).what())
	}
}

// Listen has f called with every note of a topic, and with what is known when a process is gone, from any goroutine.
// The function that it returns ends that.
func (x *Member) Listen(topic uint64, f func(from int, note string)) (stop func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listeners[topic] = listener{x, f}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.listeners, topic)
	}
}

// Post sends a note of a topic to all other processes, except those that are gone.
func (x *Member) Post(topic uint64, text string) {
	body := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, topic), uint32(x.index))
	x.pass(append(body, text...), x.index)
}

// pass sends a note on: the hub to all but who sent it, others to the hub. A link
// that takes no note ends, which its reader sees.
func (x *Member) pass(body []byte, from int) {
	for _, l := range x.links {
		if l != nil && l.to != from {
			l.send(frameNote, body)
		}
	}
}

// note is a note that came.
func (x *Member) note(body []byte) {
	from := int(binary.LittleEndian.Uint32(body[8:]))
	if x.index == 0 {
		x.pass(body, from)
	}
	topic := binary.LittleEndian.Uint64(body)
	if topic&duringTopic != 0 {
		x.failedElsewhere(topic&^duringTopic, from, string(body[12:]))
		return
	}
	x.mu.Lock()
	h, listens := x.listeners[topic]
	x.mu.Unlock()
	if listens {
		h.f(from, string(body[12:]))
	}
}
