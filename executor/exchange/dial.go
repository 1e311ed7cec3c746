package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// This file is how the other processes find process 0, and get into its job.

// A refusedError is what a hub answers who may not come in.
type refusedError struct {
	verdict verdict
	why     string
}

func (e *refusedError) Error() string { return e.why }

// final reports whether trying again is in vain: the hub is of this job.
func (e *refusedError) final() bool { return e.verdict != ofOtherJob }

// knockWaits is how long who listens at a port may take to answer, at first: it may be another program, which never
// does.
const knockWaits = time.Second

// A visit is a guest's end of a connection to the hub, and what both have said.
type visit struct {
	*link
	hello    hello
	question question
}

// dial connects to the hub, which may not be there yet, and waits until all have come.
func (x *Member) dial(ctx context.Context, p *Place) error {
	var found error // by the last round that had its time: one that was cut short says only that
	for waits := knockWaits; ; waits = min(2*waits, linkHello) {
		v, err := x.tryPorts(ctx, p, waits)
		if err == nil {
			return x.enter(ctx, p, v)
		}
		var refused *refusedError
		if errors.As(err, &refused) && refused.final() {
			return fmt.Errorf("process 0: %w", refused)
		}
		if !over(ctx) || found == nil {
			found = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process 0 has not come: %w (%v)", context.Cause(ctx), found)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// over reports whether a context has ended, or is about to: the deadlines of connections pass before it says so.
func over(ctx context.Context) bool {
	end, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(end)
}

// tryPorts knocks at each port in turn, until the hub lets this process in, or turns it away for good. Else its error
// is the most telling one.
func (x *Member) tryPorts(ctx context.Context, p *Place, waits time.Duration) (*visit, error) {
	var best error
	for _, port := range p.Ports {
		v, err := x.knock(ctx, p, port, waits)
		if err == nil {
			return v, nil
		}
		var refused *refusedError
		at := errors.As(err, &refused)
		if at && refused.final() {
			return nil, err
		}
		if at || best == nil || errors.Is(err, errStranger) && !errors.As(best, &refused) {
			best = fmt.Errorf("port %d: %w", port, err)
		}
	}
	return nil, best
}

// knock says hello at a port, and answers the question of who is there. Then that is the hub, or else why it is not.
// Once a guest has answered it has a seat, so that it may not turn away any more: time is over before, or not at all.
func (x *Member) knock(ctx context.Context, p *Place, port int, waits time.Duration) (*visit, error) {
	within, cancel := context.WithTimeout(ctx, waits)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(within, "tcp", p.address(port))
	if err != nil {
		return nil, err
	}
	v := &visit{link: newLink(conn, 0)}
	v.hello = hello{uint32(x.index), uint32(x.size), p.Secret != nil, p.identity(), newNonce()}
	stop := context.AfterFunc(within, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = v.greet()
	if !stop() && err == nil {
		err = errSilent
	}
	if err == nil {
		err = v.answer(p)
	}
	if err != nil {
		conn.Close()
	}
	return v, err
}

var errSilent = errors.New("who listens there does not answer")

// greet says hello, and hears the question.
func (v *visit) greet() error {
	if err := v.send(frameHello, v.hello.bytes()); err != nil {
		return err
	}
	kind, body, err := readFrame(v.conn, mostWords)
	switch {
	case isTimeout(err):
		return errSilent
	case err == nil && kind == frameRefused:
		return refusal(body)
	case err != nil || kind != frameHello:
		return errStranger
	}
	return v.question.read(body)
}

// answer proves to the hub that this guest knows the job's secret.
func (v *visit) answer(p *Place) error {
	return v.send(frameProof, proof(p.Secret, ofGuest, &v.hello, &v.question))
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// refusal reads a refusal. Its text comes from elsewhere, so that it is printed as it is only where it is plain.
func refusal(body []byte) error {
	if len(body) < 1 || verdict(body[0]) >= verdicts {
		return errStranger
	}
	text := []byte{}
	for _, b := range body[1:] {
		if b < ' ' || b > '~' {
			b = '?'
		}
		text = append(text, b)
	}
	return &refusedError{verdict(body[0]), string(text)}
}

// enter waits until all have come.
func (x *Member) enter(ctx context.Context, p *Place, v *visit) error {
	x.links[0] = v.link
	stop := context.AfterFunc(ctx, func() { v.conn.SetDeadline(time.Unix(1, 0)) })
	kind, body, err := readFrame(v.conn, mostWords)
	switch {
	case !stop() || isTimeout(err):
		return fmt.Errorf("process 0 does not answer, as when not all processes have come: %w",
			cmp.Or(context.Cause(ctx), err))
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return errors.New("process 0 has ended: not all processes have come, or another one has failed")
	case err != nil:
		return fmt.Errorf("process 0: %w", err)
	case kind == frameRefused:
		return fmt.Errorf("process 0: %w", refusal(body))
	case kind != frameWelcome || len(body) < proofBytes ||
		!proves(body[:proofBytes], p.Secret, ofHub, &v.hello, &v.question):
		return errors.New("process 0 does not know the secret of this job")
	}
	x.cards = guestCards(v.conn, splitCards(string(body[proofBytes:])))
	go x.read(v.link)
	return nil
}
