package exchange

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// This file is how processes find each other: all connect to the hub, process 0, and say hello.

// helloMagic begins a hello; its end is the version of the frames.
const helloMagic = "mscclc exchange 2\n"

// linkHello is how long a process may take to say who it is.
const linkHello = 5 * time.Second

// errStranger is who does not speak as a process of a job does.
var errStranger = errors.New("it is no mscclc of this version")

// hello returns how a process introduces itself to the hub, and the hub answers.
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
		return fmt.Errorf("process 0 is gone: %w", err)
	}
	var timeout net.Error
	switch _, err := x.greeted(l.conn); {
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return errors.New("process 0 has ended: not all processes have come, or another one has failed")
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("process 0 does not answer: %w", cmp.Or(context.Cause(ctx), err))
	case err != nil:
		return fmt.Errorf("process 0: %w", err)
	}
	go x.read(l)
	return nil
}

// A guest is who has connected to the hub, and what it has said: its number, or why it is none of the job.
type guest struct {
	conn  net.Conn
	index int
	err   error
}

// mostStrangers bounds those that have connected and not yet said who they are. What comes beside them waits.
const mostStrangers = 2 * maxProcesses

// listen waits for all others. Who is none of them is turned away.
func (x *Member) listen(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var config net.ListenConfig
	ear, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program, or another job, listens at %s, where process 0 is to meet the others: name a "+
			"free port to all processes, by MSCCLC_HUB=HOST:PORT or by MASTER_PORT, above which it is: %w", address, err)
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { ear.Close() })()
	defer ear.Close()
	guests := make(chan guest)
	go x.receive(ctx, ear, guests)
	for here := 1; here < x.size; {
		var g guest
		select {
		case g = <-guests:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", x.missing(), context.Cause(ctx))
		}
		if g.conn == nil {
			return fmt.Errorf("%s: %w", x.missing(), g.err)
		}
		if errors.Is(g.err, errStranger) {
			g.conn.Close() // whoever it is
			continue
		}
		if err := x.seat(g); err != nil {
			return err
		}
		here++
	}
	for _, l := range x.links[1:] {
		if err := l.send(frameHello, x.hello()); err != nil {
			return fmt.Errorf("process %d is gone: %w", l.to, err)
		}
		go x.read(l)
	}
	return nil
}

// receive hands on who connects to the hub, when they have said who they are: none waits for another. A guest without a
// connection is the end.
func (x *Member) receive(ctx context.Context, ear net.Listener, guests chan<- guest) {
	hand := func(g guest) {
		select {
		case guests <- g:
		case <-ctx.Done():
			if g.conn != nil {
				g.conn.Close()
			}
		}
	}
	room := make(chan struct{}, mostStrangers)
	for {
		conn, err := ear.Accept()
		if err != nil {
			hand(guest{err: err})
			return
		}
		room <- struct{}{}
		go func() {
			defer func() { <-room }()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			conn.SetDeadline(time.Now().Add(linkHello))
			index, err := x.greeted(conn)
			stop()
			hand(guest{conn, index, err})
		}()
	}
}

// seat gives a guest its link, or tells it why it has none.
func (x *Member) seat(g guest) error {
	l, err := newLink(g.conn, g.index), g.err
	if err == nil && (g.index < 1 || g.index >= x.size || x.links[g.index] != nil) {
		err = fmt.Errorf("there are two processes %d", g.index)
	}
	if err != nil {
		l.send(frameHello, x.hello()) // so that it sees why
		g.conn.Close()
		return err
	}
	g.conn.SetDeadline(time.Time{})
	x.links[g.index] = l
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
