package runtime_test

import (
	"strings"
	"testing"

	"mscclc/executor/data"
)

// signalCalls are all that sockets carry: communicators, splits, windows and the end, while each process gets a signal
// every 200 us whose handler has no SA_RESTART. One rank is late everywhere.
var signalCalls = []string{"init 0", "signals 200", "@1 sleep 300", "split 0 1 1", "@1 sleep 300", "init 2",
	"@0 sleep 300", "allreduce 0 1000 7 0 0 0 v", "allreduce 1 1000 7 0 0 1 v", "allreduce 2 100000 7 0 0 2 v",
	"memory 0 plain 1000000", "@1 sleep 300", "window 0 0 0 0 100000", "sync", "unwindow 0 0", "@0 sleep 300", "destroy 1",
	"destroy 0", "destroy 2"}

// TestFrontSignals: signals end no agreement, and no call.
func TestFrontSignals(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"alone", "preload", "forward"} {
		t.Run(how, func(t *testing.T) {
			s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2)}
			r := s.do(t, signalCalls...).well(t)
			if strings.Contains(r.stats, `"native":false`) || strings.Contains(r.output, "WARN") {
				t.Errorf("calls were: %s\n%s", r.stats, r.output)
			}
		})
	}
}

// TestFrontNodesSignals is the same over two nodes.
func TestFrontNodesSignals(t *testing.T) {
	needUCX(t)
	s := site{how: "alone", ranks: 2, bundle: nodesFile(t, []data.DType{data.F32}, 2, "2")}
	s.env, s.of = onNodes("a", "b")
	r := s.do(t, "init 0", "signals 200", "@1 sleep 300", "init 1", "allreduce 0 1000 7 0 0 0 v", "@0 sleep 300",
		"allreduce 1 100000 7 0 0 1 v", "sync", "destroy 1", "destroy 0").well(t)
	if strings.Contains(r.stats, `"native":false`) || strings.Contains(r.output, "WARN") {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
}
