package exchange

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The frames of an exchange: a length of 32 bits, little-endian, a kind, and as
// many bytes as the length says. A note begins with its topic, 64 bits, and the
// process that it comes from, 32.
const (
	frameHello byte = iota // index and size, behind helloMagic
	frameGather
	frameNote
	frameLost // a process, and why
	frameBye
	frameKinds
)

// helloMagic begins a hello; its end is the version of the frames.
const helloMagic = "mscclc exchange 1\n"

const (
	maxFrame   = 64 << 20
	linkWrites = 30 * time.Second // that a peer may leave a frame unread
	linkHello  = 5 * time.Second  // that one may take to say who it is
)

// A link is the connection to one process.
type link struct {
	conn  net.Conn
	to    int
	write sync.Mutex
	blobs chan []byte   // one is on its way at most, for its sender waits for the answer
	left  chan struct{} // closed when the process has said that it leaves
}

func newLink(conn net.Conn, to int) *link {
	return &link{conn: conn, to: to, blobs: make(chan []byte, 1), left: make(chan struct{})}
}

func (l *link) send(kind byte, body []byte) error {
	if len(body) > maxFrame {
		return fmt.Errorf("an exchange of %d bytes is over the limit of %d", len(body), maxFrame)
	}
	l.write.Lock()
	defer l.write.Unlock()
	l.conn.SetWriteDeadline(time.Now().Add(linkWrites))
	frame := append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), kind), body...)
	if _, err := l.conn.Write(frame); err != nil {
		return fmt.Errorf("process %d is gone: %w", l.to, err)
	}
	return nil
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
	r := bufio.NewReader(l.conn)
	for {
		kind, body, err := readFrame(r, maxFrame)
		switch {
		case err != nil:
			x.lost(l.to, err)
			return
		case kind == frameBye:
			close(l.left)
			return
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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		why = "its connection has ended"
	}
	x.gone(to, why)
}

func (x *Member) gone(to int, why string) {
	x.handing.Lock()
	defer x.handing.Unlock()
	cause := fmt.Errorf("process %d is gone: %s", to, why)
	if x.index == 0 {
		body := append(binary.LittleEndian.AppendUint32(nil, uint32(to)), why...)
		for _, l := range x.links[1:] {
			if l.to != to {
				l.send(frameLost, body) // a link that is broken too has its own end
			}
		}
	}
	x.end(cause, false)
	x.tell(to, cause.Error())
}

// tell calls all who listen.
func (x *Member) tell(from int, text string) {
	x.mu.Lock()
	heard := make([]func(int, string), 0, len(x.heard))
	for _, f := range x.heard {
		heard = append(heard, f)
	}
	x.mu.Unlock()
	for _, f := range heard {
		f(from, text)
	}
}

// Hear has f called with every note of a topic, and when a process is gone, from any goroutine. The function that it
// returns ends that.
func (x *Member) Hear(topic uint64, f func(from int, note string)) (stop func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard[topic] = f
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.heard, topic)
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
	x.mu.Lock()
	f := x.heard[binary.LittleEndian.Uint64(body)]
	x.mu.Unlock()
	if f != nil {
		f(from, string(body[12:]))
	}
}

// hello is how a process introduces itself to the hub, and the hub answers.
func (x *Member) hello() []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32([]byte(helloMagic), uint32(x.index)),
		uint32(x.size))
}

// greeted takes a hello, and gives the other's number.
func (x *Member) greeted(conn net.Conn) (index int, err error) {
	kind, body, err := readFrame(conn, 256)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errStranger, err)
	}
	if kind != frameHello || len(body) != len(helloMagic)+8 || string(body[:len(helloMagic)]) != helloMagic {
		return 0, errStranger
	}
	at := body[len(helloMagic):]
	index = int(binary.LittleEndian.Uint32(at))
	if size := binary.LittleEndian.Uint32(at[4:]); size != uint32(x.size) {
		return 0, fmt.Errorf("process %d counts %d processes, and process %d counts %d", index, size, x.index, x.size)
	}
	return index, nil
}

// errStranger is who does not speak as a process of a job does.
var errStranger = errors.New("it is no mscclc of this version")

// dial connects to the hub, which may not be there yet.
func (x *Member) dial(ctx context.Context, address string) error {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			x.links[0] = newLink(conn, 0)
			return x.introduce(ctx, x.links[0])
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process 0 has not come: %w (%v)", context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (x *Member) introduce(ctx context.Context, l *link) error {
	defer context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })()
	if err := l.send(frameHello, x.hello()); err != nil {
		return err
	}
	if _, err := x.greeted(l.conn); err != nil {
		return fmt.Errorf("process 0: %w", err)
	}
	go x.read(l)
	return nil
}

// missing says who has not come to the hub.
func (x *Member) missing() string {
	var list []string
	for i, l := range x.links {
		if i > 0 && l == nil {
			list = append(list, fmt.Sprint(i))
		}
	}
	const few = 8
	switch {
	case len(list) == 1:
		return "process " + list[0] + " has not come"
	case len(list) > few:
		list = append(list[:few], fmt.Sprintf("%d more", len(list)-few))
	}
	return "processes " + strings.Join(list, ", ") + " have not come"
}

// listen waits for all others. Who is none of them is turned away.
func (x *Member) listen(ctx context.Context, address string) error {
	var config net.ListenConfig
	ear, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer ear.Close()
	defer context.AfterFunc(ctx, func() { ear.Close() })()
	for here := 1; here < x.size; {
		conn, err := ear.Accept()
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%s: %w", x.missing(), context.Cause(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", x.missing(), err)
		}
		conn.SetDeadline(time.Now().Add(linkHello))
		index, err := x.greeted(conn)
		if errors.Is(err, errStranger) {
			conn.Close() // whoever it is
			continue
		}
		l := newLink(conn, index)
		if err == nil && (index < 1 || index >= x.size || x.links[index] != nil) {
			err = fmt.Errorf("there are two processes %d", index)
		}
		if err != nil {
			l.send(frameHello, x.hello()) // so that it sees why
			conn.Close()
			return err
		}
		conn.SetDeadline(time.Time{})
		x.links[index] = l
		here++
	}
	for _, l := range x.links[1:] {
		if err := l.send(frameHello, x.hello()); err != nil {
			return err
		}
		go x.read(l)
	}
	return nil
}
