package runtime_test

import (
	"os"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// TestFrontRefused: where the bundle or the machine does not fit, NCCL runs all calls, and one line says why.
func TestFrontRefused(t *testing.T) {
	good := bundle.Encode(makeBundle(t, []data.DType{data.F32}, 1, 2))
	file := func(change func([]byte) []byte) string { return write(t, change(append([]byte{}, good...))) }
	same := func(b []byte) []byte { return b }
	open := file(same)
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, bundle string
		ranks        int
		env          []string
	}{
		{"none", "", 2, nil},
		{"no file", "/nosuch/x.bundle", 2, nil},
		{"short", file(func(b []byte) []byte { return b[:len(b)/2] }), 2, nil},
		{"version", file(func(b []byte) []byte { b[8]++; return b }), 2, nil},
		{"damaged", file(func(b []byte) []byte { b[64]++; return b }), 2, nil},
		{"strangers", open, 2, nil},
		{"ranks", file(same), 3, nil},
		{"device", file(same), 2, []string{"MSCCLC_STANDIN_NAME=another GPU"}},
		{"memory", file(same), 2, []string{"MSCCLC_STANDIN_MEMORY=100000"}},
		{"MPS", file(same), 2, []string{"MSCCLC_STANDIN_MPS=1"}},
		{"context", file(same), 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := site{how: "preload", ranks: c.ranks, bundle: c.bundle, env: c.env}
			commands := []string{"init 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0"}
			if c.name == "context" {
				commands = append([]string{"green"}, commands...)
			}
			r := s.do(t, commands...).well(t)
			for rank, notes := range r.notes {
				if !strings.Contains(strings.Join(notes, "\n"), "nccl AllReduce") {
					t.Errorf("rank %d: NCCL has %q", rank, notes)
				}
			}
			if !strings.Contains(r.stats, `"native":false,"calls":`) || strings.Contains(r.stats, `"reason":""`) {
				t.Errorf("the counts have no reason: %s", r.stats)
			}
			if strings.Count(r.output, "\n") != 1 || !strings.Contains(r.output, "NCCL runs all calls of this communicator") {
				t.Errorf("the output is not one line:\n%s", r.output)
			}
			t.Logf("%s", r.output)
		})
	}
}

// TestFrontSettings: ranks with other settings leave all calls to NCCL.
func TestFrontSettings(t *testing.T) {
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_CTAS=8"},
		of: func(rank int) []string { return []string{"MSCCLC_CTAS=8", "MSCCLC_CTAS=16"}[rank : rank+1] }}
	r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0").well(t)
	if !strings.Contains(strings.Join(r.notes[0], "\n"), "nccl AllReduce") || !strings.Contains(r.output, "different values of MSCCLC_CTAS, NCCL_MAX_CTAS or maxCTAs: 8 on rank 0; 16 on rank 1") {
		t.Errorf("NCCL has %q\n%s", r.notes[0], r.output)
	}
}

// TestFrontNoMemory: a rank whose GPU has no memory or no stream left meets the others all the same, and NCCL runs all
// calls of all ranks.
func TestFrontNoMemory(t *testing.T) {
	file := wholeBundle(t, 2)
	s := site{how: "preload", ranks: 2, bundle: file,
		of: func(rank int) []string { return []string{"", "MSCCLC_STANDIN_FAIL=cuMemAlloc_v2:1:2"}[rank : rank+1] }}
	r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0").well(t)
	if strings.Contains(r.stats, `"native":true`) || strings.Count(r.output, "rank 1: an arena of ") != 1 {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
	// The client makes four streams first.
	s = site{how: "preload", ranks: 1, bundle: file, env: []string{"MSCCLC_STANDIN_FAIL=cuStreamCreate:5:2"}}
	r = s.do(t, "initall 2").well(t)
	if strings.Count(r.output, "NCCL runs all calls of this communicator of 2 ranks: rank ") != 1 ||
		!strings.Contains(r.output, " gives no stream") {
		t.Errorf("the output is\n%s", r.output)
	}
}
