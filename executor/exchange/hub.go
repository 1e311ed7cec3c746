package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// This file is how process 0 waits for all others, who say hello (words.go). Who is none of them is turned away.

// linkHello is how long a process may take to say who it is.
const linkHello = 5 * time.Second

// A guest is who has connected to the hub, what it has said, and what the hub thinks of it.
type guest struct {
	conn     net.Conn
	hello    hello
	question question
	verdict  verdict
}

// mostStrangers bounds those that have connected and not yet said who they are. The oldest make room for others.
const mostStrangers = 2 * MaxProcesses

// ear listens at the first port of the place that is free.
func ear(ctx context.Context, p *Place) (net.Listener, error) {
	var config net.ListenConfig
	var taken error
	for _, port := range p.Ports {
		e, err := config.Listen(ctx, "tcp", p.listens(port))
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
		taken = err
	}
	return nil, fmt.Errorf("another program, or another job, listens at %s, where process 0 is to meet the others: name a "+
		"free port to all processes, by MSCCLC_HUB=HOST:PORT or by MASTER_PORT, above which it is: %w", p, taken)
}

// listen waits for all others.
func (x *Member) listen(ctx context.Context, p *Place) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e, err := ear(ctx, p)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { e.Close() })()
	defer e.Close()
	d := newDoor(p, x.size)
	guests := make([]guest, x.size)
	if err := x.fill(ctx, e, d, guests); err != nil {
		if p.Local {
			err = fmt.Errorf("%w (process 0 listens at %s alone, which no other host reaches)", err, p.Host)
		}
		for _, g := range guests {
			refuse(g.conn, jobEnds, err.Error())
		}
		return err
	}
	conns := []net.Conn{}
	for _, g := range guests[1:] {
		conns = append(conns, g.conn)
	}
	x.cards = hubCards(conns)
	for i, l := range x.links {
		if l == nil {
			continue
		}
		welcome := proof(p.Secret, ofHub, &guests[i].hello, &guests[i].question)
		if err := l.send(frameWelcome, append(welcome, joinCards(x.cards)...)); err != nil {
			return fmt.Errorf("process %d is gone: %w", l.to, err)
		}
		go x.read(l)
	}
	return nil
}

// fill gives all others their seats.
func (x *Member) fill(ctx context.Context, e net.Listener, d *door, seats []guest) error {
	come := make(chan guest)
	c := &arrivals{ctx: ctx, door: d, come: come}
	go c.receive(e)
	for here := 1; here < x.size; {
		var g guest
		select {
		case g = <-come:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w%s%s", d.missing(), context.Cause(ctx), d.away(), c.full())
		}
		if g.conn == nil {
			return fmt.Errorf("%s: process 0 listens no more%s", d.missing(), c.full())
		}
		v, why := d.seat(&g.hello, g.conn.RemoteAddr().String(), g.verdict)
		switch v {
		case comesIn:
			g.conn.SetDeadline(time.Time{})
			seats[g.hello.index] = g
			x.links[g.hello.index] = newLink(g.conn, int(g.hello.index))
			here++
		case isStranger:
			g.conn.Close() // who speaks something else hears nothing
		default:
			refuse(g.conn, v, why)
		}
		if v == jobEnds {
			return errors.New(why)
		}
	}
	return nil
}

// refuse tells a guest why it cannot come in, or why the job ends. conn may be nil.
func refuse(conn net.Conn, v verdict, why string) {
	if conn != nil {
		conn.SetDeadline(time.Now().Add(linkHello))
		newLink(conn, 0).send(frameRefused, append([]byte{byte(v)}, why[:min(len(why), mostWords-1)]...))
		conn.Close()
	}
}

// Arrivals are the connections to the hub whose processes have not yet said who they are. None waits for another.
type arrivals struct {
	ctx  context.Context
	door *door // only what does not change
	come chan<- guest

	mu      sync.Mutex
	waiting []net.Conn // the oldest first
	lacks   error      // what the last could not connect for, of this process
}

// receive hands on who connects to the hub, when they have said who they are. A guest without a connection is the end.
func (c *arrivals) receive(e net.Listener) {
	for {
		conn, err := e.Accept()
		switch {
		case err == nil:
			c.enter(conn)
			go c.receiveHello(conn)
		case c.ctx.Err() == nil && passes(err):
			c.shed(err)
			time.Sleep(20 * time.Millisecond)
		default:
			c.hand(guest{})
			return
		}
	}
}

// passes reports whether accept may succeed again after such an error.
func passes(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EPROTO, syscall.EPERM}, func(e error) bool { return errors.Is(err, e) })
}

func (c *arrivals) hand(g guest) {
	select {
	case c.come <- g:
	case <-c.ctx.Done():
		if g.conn != nil {
			g.conn.Close()
		}
	}
}

func (c *arrivals) enter(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == mostStrangers {
		c.waiting[0].Close()
		c.waiting = c.waiting[1:]
	}
	c.waiting = append(c.waiting, conn)
}

func (c *arrivals) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
}

// shed makes room where this process can have no more connections: who has said nothing for longest goes.
func (c *arrivals) shed(lacks error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lacks = lacks
	if len(c.waiting) > 0 {
		c.waiting[0].Close()
		c.waiting = c.waiting[1:]
	}
}

// full says why others could not connect, or nothing.
func (c *arrivals) full() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lacks == nil {
		return ""
	}
	return fmt.Sprintf("; process 0 could not take a connection: %v", c.lacks)
}

// receiveHello has a guest say who it is, and prove it.
func (c *arrivals) receiveHello(conn net.Conn) {
	stop := context.AfterFunc(c.ctx, func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(linkHello))
	g := guest{conn: conn, question: question{c.door.secret != nil, newNonce()}}
	g.verdict = c.judge(&g)
	c.leave(conn)
	if stop() { // before it has a seat: the end of the hub's wait must not close who is in
		c.hand(g)
	}
}

func (c *arrivals) judge(g *guest) verdict {
	var err error
	if g.hello, err = readHello(g.conn); err != nil {
		return isStranger
	}
	if v := c.door.hears(&g.hello); v != comesIn {
		return v
	}
	g.conn.SetDeadline(time.Now().Add(linkWrites)) // it speaks our words, so its line may be slow
	if newLink(g.conn, 0).send(frameHello, g.question.bytes()) != nil {
		return isStranger
	}
	kind, said, err := readFrame(g.conn, mostWords)
	if err != nil || kind != frameProof {
		return isStranger
	}
	return c.door.proved(&g.hello, &g.question, said)
}
