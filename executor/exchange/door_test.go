package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// A caller is somebody who comes to a door in a test, with what it knows.
type caller struct {
	name         string
	index, size  uint32
	job, secret  string
	answers      string // the secret by which it answers the question
	right, fatal bool   // with a secret at the door
	open         bool   // right at a door without one, with its own secret taken away
}

var callers = []caller{
	{name: "process 1", index: 1, size: 3, job: "a", secret: "s", answers: "s", right: true, open: true},
	{name: "process 2", index: 2, size: 3, job: "a", secret: "s", answers: "s", right: true, open: true},
	{name: "process 1 of another job", index: 1, size: 3, job: "b", secret: "s", answers: "s"},
	{name: "process 2 with another secret", index: 2, size: 3, job: "a", secret: "t", answers: "t", open: true},
	{name: "process 1 without an answer", index: 1, size: 3, job: "a", secret: "s", answers: "", open: true},
	{name: "another number", index: 1, size: 4, job: "a", secret: "s", answers: "s", fatal: true},
	{name: "the hub's seat", index: 0, size: 3, job: "a", secret: "s", answers: "s", fatal: true},
	{name: "no seat", index: 1 << 31, size: 3, job: "a", secret: "s", answers: "s", fatal: true},
}

// comes has a caller say hello to a door, and answer.
func (c caller) comes(d *door) verdict {
	p := Place{Job: c.job, Secret: []byte(c.secret)}
	h := hello{c.index, c.size, d.secret != nil, p.identity(), newNonce()}
	q := question{d.secret != nil, newNonce()}
	v := d.hears(&h)
	if v == comesIn {
		key := []byte(c.answers)
		if d.secret == nil {
			key = nil
		}
		v = d.proved(&h, &q, proof(key, ofGuest, &h, &q))
	}
	v, _ = d.seat(&h, "somewhere", v)
	return v
}

// TestDoor has all sequences of four callers come to a door, with a secret and without. Seats are for who is right,
// each once; who is wrong and knows the secret ends the job; nobody else changes anything.
func TestDoor(t *testing.T) {
	n, states := len(callers), 0
	for code := range n * n * n * n {
		for _, secret := range []string{"s", ""} {
			p := Place{Job: "a"}
			if secret != "" {
				p.Secret = []byte(secret)
			}
			d, seated, ended, away := newDoor(&p, 3), map[uint32]bool{0: true}, false, 0
			for k, rest := 0, code; k < 4 && !ended; k, rest = k+1, rest/n {
				c := callers[rest%n]
				right, fatal := c.right, c.fatal
				if secret == "" {
					right, fatal = c.open, false
				}
				if right && seated[c.index] {
					right, fatal = false, secret != ""
				}
				v := c.comes(d)
				if right != (v == comesIn) || fatal != (v == jobEnds) {
					t.Fatalf("%q: %s after %v: %d", secret, c.name, seated, v)
				}
				if right {
					seated[c.index] = true
				} else if !fatal {
					away++
				}
				ended = fatal
				states++
			}
			sum := 0
			for _, turned := range d.turned {
				sum += turned
			}
			for i, here := range d.seated {
				if here != seated[uint32(i)] {
					t.Fatalf("process %d: %v, %v", i, d.seated, seated)
				}
			}
			if sum != away || (d.away() == "") != (away == 0) {
				t.Fatalf("%d were turned away, and %d counted: %s", away, sum, d.away())
			}
		}
	}
	t.Logf("%d callers came", states)
}

// meet has process 0 of two at a place, and another caller, and gives their errors.
func meet(t *testing.T, hub, guest Place, index, size int, limit time.Duration) (atHub, atGuest error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	errs := make(chan error, 1)
	go func() {
		x, err := Join(ctx, guest, index, size)
		if err == nil {
			defer x.Close()
		}
		errs <- err
	}()
	x, err := Join(ctx, hub, 0, 2)
	if err == nil {
		defer x.Close()
	}
	return err, <-errs
}

// TestMeeting has a guest that is wrong in one way come to a hub: both say what it is.
func TestMeeting(t *testing.T) {
	// Where the hub turns the guest away it waits for others to the end of a short limit, in which both must have met.
	short, long := covering.Patience(time.Second)/4, covering.Patience(2*time.Second)
	for _, c := range []struct {
		name                string
		hubJob, hubSecret   string
		job, secret         string
		index, size         int
		limit               time.Duration
		hubWants, guestWant string // "" for no error
	}{
		{"well", "", "", "", "", 1, 2, long, "", ""},
		{"well, with names", "x", "", "x", "", 1, 2, long, "", ""},
		{"well, with secrets", "x", "s", "x", "s", 1, 2, long, "", ""},
		{"another job", "x", "", "y", "", 1, 2, short, "turned away", "it is of another job"},
		{"no secret", "", "s", "", "", 1, 2, short, "1 without a secret", "it has a secret, and this process has none"},
		{"a secret too much", "", "", "", "s", 1, 2, short, "1 with a secret", "it has no secret, and this process has one"},
		{"another secret", "", "s", "", "t", 1, 2, short, "1 with another secret", "it has another secret"},
		{"another number", "", "", "", "", 1, 3, short, "1 with another number of processes",
			"process 1 counts 3 processes, and process 0 counts 2"},
		{"another number, with the secret", "", "s", "", "s", 1, 3, long, "process 1 counts 3 processes",
			"process 1 counts 3 processes"},
		{"no such seat, with the secret", "", "s", "", "s", 3, 2 << 10, long, "process 3 counts 2048 processes", "process 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it waits
			at := At(address(t))
			hub, guest := at, at
			hub.Job, guest.Job = c.hubJob, c.job
			if c.hubSecret != "" {
				hub.Secret = []byte(c.hubSecret)
			}
			if c.secret != "" {
				guest.Secret = []byte(c.secret)
			}
			atHub, atGuest := meet(t, hub, guest, c.index, c.size, c.limit)
			for who, pair := range map[string]struct {
				err  error
				want string
			}{"hub": {atHub, c.hubWants}, "guest": {atGuest, c.guestWant}} {
				if (pair.err == nil) != (pair.want == "") || pair.err != nil && !strings.Contains(pair.err.Error(), pair.want) {
					t.Errorf("the %s: %v, not %q", who, pair.err, pair.want)
				}
			}
		})
	}
}

// TestTwiceTheSame has a process come twice to a hub without a secret: the second is turned away, and the job goes on.
func TestTwiceTheSame(t *testing.T) {
	at := At(address(t))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	errs := make(chan error, 4)
	join := func(index int) {
		x, err := Join(ctx, at, index, 3)
		if err == nil {
			defer x.Close()
			err = gathers(ctx, x)
		}
		errs <- err
	}
	go join(0)
	go join(1)
	go join(1)
	err := <-errs // of the one that has no seat
	if err == nil || !strings.Contains(err.Error(), "there are two processes 1") {
		t.Error(err)
	}
	go join(2)
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestCandidates has others at the first ports of a job's list: a web server, which does not answer, and the hub of
// another job. The processes meet at a later port, and two jobs with the same list do not mix.
func TestCandidates(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	place := Place{Host: "127.0.0.1", Local: true, Ports: []int{silent.Addr().(*net.TCPAddr).Port}}
	for range 3 {
		place.Ports = append(place.Ports, At(address(t)).Ports[0])
	}
	errs := make(chan error)
	for _, name := range []string{"one", "two"} {
		for i := range 3 {
			go func() {
				p := place
				p.Job = name
				x, err := Join(ctx, p, i, 3)
				if err == nil {
					defer x.Close()
					var all [][]byte
					all, err = x.AllGather(ctx, []byte(name))
					for _, other := range all {
						if string(other) != name {
							err = errors.Join(err, fmt.Errorf("a process of job %s is in job %s", other, name))
						}
					}
				}
				errs <- err
			}()
		}
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestPorts: the ports of a name are the same everywhere, are not those of others, and are ports that anyone may have.
func TestPorts(t *testing.T) {
	a, b := Ports("12345.0"), Ports("12345.1")
	if fmt.Sprint(a) != fmt.Sprint(Ports("12345.0")) || fmt.Sprint(a) == fmt.Sprint(b) || len(a) != candidates {
		t.Error(a, b)
	}
	for _, port := range append(a, b...) {
		if port < firstPort || port >= firstPort+portCount {
			t.Error(port)
		}
	}
}

// TestHubStrangers has strangers say what they like to a hub with a secret: they get no seat, and the job comes
// together.
func TestHubStrangers(t *testing.T) {
	at := At(address(t))
	at.Secret = []byte("s")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	errs := make(chan error, 2)
	join := func(i int) {
		x, err := Join(ctx, at, i, 2)
		if err == nil {
			defer x.Close()
			err = gathers(ctx, x)
		}
		errs <- err
	}
	go join(0)
	stolen := hello{1, 2, true, at.identity(), newNonce()}
	before := frame(frameHello, []byte("mscclc exchange 2\n\x01\x00\x00\x00\x0f\x27\x00\x00"))
	for _, words := range [][]byte{[]byte("GET / HTTP/1.0\r\n\r\n"), {0xff, 0xff, 0xff, 0xff, 0}, before,
		frame(frameHello, nil), frame(frameProof, make([]byte, 32)), frame(frameHello, stolen.bytes()),
		append(frame(frameHello, stolen.bytes()), frame(frameProof, make([]byte, 32))...)} {
		conn := dialTo(t, at.address(at.Ports[0]))
		defer conn.Close()
		conn.Write(words)
	}
	go join(1)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func dialTo(t *testing.T, at string) net.Conn {
	t.Helper()
	for range 1000 {
		if conn, err := net.Dial("tcp", at); err == nil {
			return conn
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody listens")
	return nil
}

// A poorListener has no descriptors left, for a while.
type poorListener struct {
	net.Listener
	left int
}

func (p *poorListener) Accept() (net.Conn, error) {
	if p.left > 0 {
		p.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return p.Listener.Accept()
}

// TestHubDescriptors has a hub run out of descriptors: it goes on, makes room by who has said nothing, and says so if
// not all come.
func TestHubDescriptors(t *testing.T) {
	e, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p := At(e.Addr().String())
	x := newMember(0, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = x.fill(ctx, &poorListener{e, 3}, newDoor(&p, 2), make([]guest, 2))
	if err == nil || !strings.Contains(err.Error(), "process 1 has not come") ||
		!strings.Contains(err.Error(), "too many open files") {
		t.Error(err)
	}
}

// TestSeatedStays: the end of the hub's wait closes no connection of who has a seat.
func TestSeatedStays(t *testing.T) {
	p := Place{Job: "a"}
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		come := make(chan guest)
		c := &arrivals{ctx: ctx, door: newDoor(&p, 2), come: come}
		here, there := net.Pipe()
		v := &visit{link: newLink(there, 0), hello: hello{1, 2, false, p.identity(), newNonce()}}
		done := make(chan struct{})
		go func() { c.receiveHello(here); close(done) }()
		go func() {
			v.greet()
			v.answer(&p)
		}()
		g := <-come
		cancel() // all have come
		<-done
		go io.Copy(io.Discard, there)
		if _, err := g.conn.Write([]byte("welcome")); err != nil {
			t.Fatal(err)
		}
		here.Close()
		there.Close()
	}
}
