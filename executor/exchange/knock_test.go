package exchange

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestKnockIsOverBeforeTheAnswer has a listener ask at about the moment at which a guest gives up. A guest whose answer
// came has a seat, so that it must not have gone; and who has gone must not have answered.
func TestKnockIsOverBeforeTheAnswer(t *testing.T) {
	const waits, rounds = 3 * time.Millisecond, 400
	e, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	answered := map[nonce]bool{}
	all.Go(func() {
		for n := 0; ; n++ {
			conn, err := e.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				h, has := asksAfter(conn, time.Duration(n%100+50)*waits/100)
				mu.Lock()
				defer mu.Unlock()
				answered[h.nonce] = has
			})
		}
	})
	p, x := At(e.Addr().String()), newMember(1, 2)
	in := map[nonce]bool{}
	for range rounds {
		v, err := x.knock(t.Context(), &p, p.Ports[0], waits)
		if v != nil {
			in[v.hello.nonce] = err == nil
		}
		if err == nil {
			v.conn.Close()
		}
	}
	e.Close()
	all.Wait()
	got := map[bool]int{}
	for who, is := range in {
		got[is]++
		if answered[who] != is {
			t.Errorf("the answer came: %v, and the guest is in: %v", answered[who], is)
		}
	}
	t.Logf("%d guests are in, and %d had gone", got[true], got[false])
}

// asksAfter hears a hello, asks a while after it, and reports whether an answer came.
func asksAfter(conn net.Conn, d time.Duration) (hello, bool) {
	defer conn.Close()
	h, err := readHello(conn)
	if err != nil {
		return h, false
	}
	time.Sleep(d)
	q := question{nonce: newNonce()}
	if newLink(conn, 0).send(frameHello, q.bytes()) != nil {
		return h, false
	}
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	kind, _, err := readFrame(conn, mostWords)
	return h, err == nil && kind == frameProof
}

// joinFails joins at e as process 1 of 2, and holds that the error contains a text.
func joinFails(ctx context.Context, t *testing.T, e net.Listener, text string) {
	t.Helper()
	x, err := Join(ctx, At(e.Addr().String()), 1, 2)
	if err == nil {
		x.Close()
	}
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Error(err)
	}
}

// A lateContext ends later than its deadline says, as contexts do on a busy machine: the end of a dial comes first.
type lateContext struct {
	context.Context
	end time.Time
}

func (l lateContext) Deadline() (time.Time, bool) { return l.end, true }

// TestCutShortInDial is TestCutShort where time ends while a guest dials, and the context does not say so yet.
func TestCutShortInDial(t *testing.T) {
	e, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	late := lateContext{ctx, time.Now().Add(300 * time.Millisecond)}
	go func() {
		first, err := e.Accept()
		if err != nil {
			return
		}
		readHello(first)
		time.Sleep(time.Until(late.end))
		refuse(first, ofOtherJob, "it is of another job")
		time.Sleep(100 * time.Millisecond) // dials that are over at once
		cancel()
	}()
	joinFails(late, t, e, "it is of another job")
}

// TestCutShort has time end while a guest knocks again at the hub of another job: it says what it had found before.
func TestCutShort(t *testing.T) {
	e, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		first, err := e.Accept()
		if err != nil {
			return
		}
		readHello(first)
		refuse(first, ofOtherJob, "it is of another job")
		if second, err := e.Accept(); err == nil {
			defer second.Close()
			cancel()
			<-t.Context().Done()
		}
	}()
	joinFails(ctx, t, e, "it is of another job")
}
