package synthesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/synthesis/certificate"
	"mscclc/synthesis/rounds"
)

// TestSynchronous: schedules on random machines are right by their certificates, and their programs are proven. A tree
// has no more hops than its schedule has steps.
func TestSynchronous(t *testing.T) {
	for seed := range irtest.Count(t, 20) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		m := random(t, r)
		kind := certificate.Kinds[seed%len(certificate.Kinds)]
		q := Request{Kind: kind, Chunks: 1 + r.IntN(2), Root: r.IntN(2), Direct: HasDirect(m), Steps: 1}
		found, err := Find(t.Context(), m, q)
		for ; errors.Is(err, rounds.ErrTooFew); found, err = Find(t.Context(), m, q) {
			q.Steps++
		}
		if err != nil {
			t.Fatalf("seed %d: %v: %v", seed, kind, err)
		}
		if _, err := certificate.Check(&found.Certificate, m, certificate.Part{}); err != nil {
			t.Errorf("seed %d: %v: %v", seed, kind, err)
		}
		compiledPlan(t, "rounds", found)
		y := found.Rounds
		if !y.Proven || y.Chunks != q.Chunks || height(found) > q.Steps {
			t.Errorf("seed %d: %v: %+v, %d hops", seed, kind, *y, height(found))
		}
	}
}

// TestFront compares with the schedules of a DGX-1 that SCCL publishes: 1 chunk in 2 steps and 2 rounds, and 6 chunks
// in 3 steps and 7 rounds, which reach the bandwidth.
func TestFront(t *testing.T) {
	list, err := Front(t.Context(), machine(t, "dgx1v"), Request{Kind: ir.AllGather})
	if err != nil {
		t.Fatal(err)
	}
	got := map[[3]int]bool{}
	for _, r := range list {
		got[[3]int{r.Rounds.Chunks, len(r.Rounds.Steps), r.Rounds.Steps.Rounds()}] = r.Rounds.Proven
	}
	for _, want := range [][3]int{{1, 2, 2}, {2, 2, 3}, {3, 2, 5}, {3, 3, 4}, {6, 3, 7}} {
		if !got[want] {
			t.Errorf("no schedule of %d chunks, %d steps and %d rounds is proven: %v", want[0], want[1], want[2], got)
		}
	}
}

// TestFrontFails: machines whose GPUs are joined by switches have no schedules, and where time is over there is an
// error that says so.
func TestFrontFails(t *testing.T) {
	for _, spec := range []string{"h200", "dgx1v:nodes=2"} {
		if list, err := Front(t.Context(), machine(t, spec), Request{Kind: ir.AllGather}); !errors.Is(err, ErrIndirect) {
			t.Errorf("%s: %d schedules, %v", spec, len(list), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := Front(ctx, machine(t, "dgx1v"), Request{Kind: ir.AllGather}); !errors.Is(err, rounds.ErrTime) {
		t.Errorf("%d schedules, %v", len(list), err)
	}
}

// TestFrontPart: schedules use the links between the GPUs that take part alone.
func TestFrontPart(t *testing.T) {
	q := Request{Kind: ir.AllGather, GPUs: []int32{5, 1, 0, 4}, NoRelay: true}
	list, err := Front(t.Context(), machine(t, "dgx1v"), q)
	if err != nil {
		t.Fatal(err)
	}
	// a ring of links of 1 and 2: one chunk in two steps; 3 chunks of each cross the narrow links
	at := slices.IndexFunc(list, func(r *Result) bool { return r.Rounds.Chunks == 1 })
	if y := list[at].Rounds; len(y.Steps) != 2 || !y.Proven {
		t.Errorf("%+v", *y)
	}
	for _, r := range list {
		if _, err := certificate.Check(&r.Certificate, machine(t, "dgx1v"), certificate.Part{GPUs: q.GPUs,
			NoRelay: true}); err != nil {
			t.Error(err)
		}
	}
}
