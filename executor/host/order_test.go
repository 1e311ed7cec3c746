package host

import (
	"testing"
	"time"

	"mscclc/executor/cpu"
)

// TestReleased: while a launches is released, launches that have not begun do nothing, however many are in a queue. The
// launches is busy until the launch that had begun has ended. Launches run again when the launches is renewed.
func TestReleased(t *testing.T) {
	gpus, err := New(Options{}).GPUs()
	if err != nil {
		t.Skip(err)
	}
	g := gpus[0].(*gpu)
	f := &order{sequences: map[*gpu]*sequence{}}
	var streams [2]*stream
	for i := range streams {
		s, err := g.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		streams[i] = s.(*stream)
	}
	begun, end, runs := make(chan bool), make(chan bool), 0
	long := &prepared{g: g, sequence: f.sequence(g), run: func(*cpu.Runner) error { begun <- true; <-end; return nil }}
	short := &prepared{g: g, sequence: f.sequence(g), run: func(*cpu.Runner) error { runs++; return nil }}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(long.Launch(streams[0]))
	<-begun
	must(streams[1].Capture())
	const most = 1000
	for range most {
		must(short.Launch(streams[1]))
	}
	graph, err := streams[1].EndCapture()
	must(err)
	for range most {
		must(graph.Launch(streams[1])) // they wait for the long launch
	}
	f.Release()
	must(f.Mark())
	if busy, err := f.Busy(); err != nil || !busy {
		t.Errorf("the long launch has not ended: %v, %v", busy, err)
	}
	end <- true
	for busy := true; busy; time.Sleep(time.Millisecond) {
		busy, err = f.Busy()
		must(err)
	}
	must(streams[1].Sync(t.Context()))
	if runs != 0 {
		t.Errorf("%d launches of a launches that is released have run", runs)
	}
	f.Renew()
	must(short.Launch(streams[1]))
	must(streams[1].Sync(t.Context()))
	if runs != 1 {
		t.Errorf("%d launches have run after Renew, want 1", runs)
	}
}

// TestAwait: whoever waits for some launches goes on when they have ended, whoever else waits for more or for fewer.
func TestAwait(t *testing.T) {
	l := &sequence{changed: make(chan struct{})}
	const launches = 50
	over := make(chan uint64)
	for n := uint64(1); n <= launches; n++ {
		for range 2 {
			go func() { l.await(n, nil); over <- n }()
		}
	}
	for n := uint64(1); n <= launches; n++ {
		l.end()
		for range 2 {
			select {
			case got := <-over:
				if got != n {
					t.Fatalf("%d launches have ended, and who waits for %d goes on", n, got)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%d launches have ended, and who waits for them does not go on", n)
			}
		}
	}
	if l.await(launches+1, time.After(time.Millisecond)) {
		t.Error("a launch that never began has ended")
	}
}
