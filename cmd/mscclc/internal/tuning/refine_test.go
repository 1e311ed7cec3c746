package tuning

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/executor/exchange"
	"mscclc/ir"
	"mscclc/selection"
)

// cliff has ring by LL128 be the fastest up to a number of bytes, and three times as slow as the others above. allpairs
// by Simple is the second. Others are slow.
func cliff(at int64) func(c selection.Choice, bytes int64, eager bool) float64 {
	return func(c selection.Choice, bytes int64, _ bool) float64 {
		base := 5 + float64(bytes)/(1<<18)
		switch {
		case c.Program == "allreduce/ring" && c.Protocol == ir.LL128 && bytes <= at:
			return base
		case c.Program == "allreduce/ring" && c.Protocol == ir.LL128:
			return 3 * base
		case c.Program == "allreduce/allpairs" && c.Protocol == ir.Simple:
			return 1.2 * base
		}
		return 10 * base
	}
}

// TestRefine holds where one rule ends and the next begins: at the last power of two where the first one won.
func TestRefine(t *testing.T) {
	never := func(int64) float64 { return 1e6 }
	mid := func(from, to int64) func(int64) float64 { // NCCL is the fastest in a range
		return func(bytes int64) float64 {
			if from <= bytes && bytes <= to {
				return 1
			}
			return 1e6
		}
	}
	const ring, pairs = "ring LL128 up to ", "allpairs Simple up to "
	for _, c := range []struct {
		name     string
		at       int64
		nccl     func(int64) float64
		sizes    []int64
		measured []int64
		rules    string
	}{
		{"A wins to 1M", 1 << 20, never, []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			ring + "1024K; " + pairs + "4096K; "},
		{"A wins to 3M", 3 << 20, never, []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			ring + "2048K; " + pairs + "4096K; "},
		{"without NCCL", 1 << 20, nil, []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			ring + "1024K; " + pairs + "4096K; "},
		{"bisected", 1 << 20, never, []int64{256 << 10, 4 << 20}, []int64{256, 1 << 10, 2 << 10, 4 << 10},
			ring + "1024K; " + pairs + "4096K; "},
		{"one rule", 4 << 20, never, []int64{1 << 20, 4 << 20}, []int64{1 << 10, 4 << 10}, ring + "4096K; "},
		{"consecutive", 1 << 20, never, []int64{1 << 20, 2 << 20}, []int64{1 << 10, 2 << 10},
			ring + "1024K; " + pairs + "2048K; "},
		{"sizes of factor 3", 2 << 20, never, []int64{1 << 20, 3 << 20}, []int64{1 << 10, 2 << 10, 3 << 10},
			ring + "2048K; " + pairs + "3072K; "},
		{"an end that is no power of two", 1 << 20, never, []int64{1 << 20, 3200 << 10}, []int64{1 << 10, 2 << 10, 3200},
			ring + "1024K; " + pairs + "3200K; "},
		{"no power of two between", 4400 << 10, never, []int64{4400 << 10, 7000 << 10}, []int64{4400, 7000},
			ring + "4400K; " + pairs + "7000K; "},
		{"around a power of two", 3 << 20, never, []int64{4000 << 10, 4200 << 10}, []int64{4000, 4200},
			pairs + "4200K; "},
		{"NCCL from 2M on", 4 << 20, mid(2<<20, 64<<20), []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			ring + "1024K; nccl up to 4096K; "},
		{"NCCL to 2M", 4 << 20, mid(1, 2<<20), []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			"nccl up to 2048K; " + ring + "4096K; "},
		{"NCCL near", 4 << 20, func(bytes int64) float64 {
			base := 5 + float64(bytes)/(1<<18)
			if bytes == 2<<20 {
				return 0.9 * base
			}
			return 1.2 * base
		}, []int64{1 << 20, 4 << 20}, []int64{1 << 10, 2 << 10, 4 << 10},
			ring + "1024K; nccl up to 2048K; " + ring + "4096K; "},
	} {
		lab := &fakeLab{time: cliff(c.at), nccl: c.nccl}
		tuner := lab.tuner(t, 2, c.sizes, nil)
		whole, err := tuner.Refine(context.Background(), Borders{Room: room})
		if err != nil || !whole {
			t.Errorf("%s: whole is %v: %v", c.name, whole, err)
		}
		for how := range bench.NumLaunches {
			if got := rules(tuner, how); got != c.rules {
				t.Errorf("%s: the rules are %s, not %s", c.name, got, c.rules)
			}
		}
		if got := measured(tuner); !slices.Equal(got, c.measured) {
			t.Errorf("%s: measured were %v KiB, not %v", c.name, got, c.measured)
		}
	}
}

// TestRefineLaunches: rules for eager and for captured launches end where each kind does, also between windows, whose
// programs are direct.
func TestRefineLaunches(t *testing.T) {
	lab := &fakeLab{time: func(c selection.Choice, bytes int64, eager bool) float64 {
		if eager {
			return cliff(4<<20)(c, bytes, eager) + 1
		}
		return cliff(1<<20)(c, bytes, eager)
	}}
	for _, windows := range []bool{false, true} {
		tuner := lab.tuner(t, 2, []int64{1 << 20, 16 << 20}, func(l *Lab) { l.Windows = windows })
		if whole, err := tuner.Refine(context.Background(), Borders{Room: room}); err != nil || !whole {
			t.Errorf("whole is %v: %v", whole, err)
		}
		captured, eager := "ring LL128 up to 1024K; allpairs Simple up to 16384K; ",
			"ring LL128 up to 4096K; allpairs Simple up to 16384K; "
		if c, e := rules(tuner, bench.Captured), rules(tuner, bench.Plain); c != captured || e != eager {
			t.Errorf("windows is %v: the rules are %sand eager %s", windows, c, e)
		}
		for _, r := range tuner.Rules(room)[0] {
			if r.Windows != windows || (r.Placement == selection.Direct) != windows {
				t.Errorf("windows is %v, and a rule is %+v", windows, r)
			}
		}
	}
}

// TestRefineWidths: rules with one program in two widths end where these do.
func TestRefineWidths(t *testing.T) {
	for _, wide := range []int64{32 << 10, 64 << 10} { // the least calls that many replicas are faster for
		lab := &fakeLab{time: func(c selection.Choice, bytes int64, _ bool) float64 {
			if c.Program != "allreduce/onephase" || c.Protocol != ir.LL {
				return 100
			}
			if c.Replicas > 4 == (bytes >= wide) {
				return 5
			}
			return 10
		}}
		tuner := lab.tuner(t, 2, []int64{16 << 10, 64 << 10}, nil)
		if _, err := tuner.Refine(context.Background(), Borders{Room: room}); err != nil {
			t.Error(err)
		}
		list := tuner.Rules(room)[0]
		if len(list) != 2 || list[0].Replicas > 4 || list[0].UpTo != wide/2 || list[1].Replicas <= 4 ||
			len(tuner.Sizes) != 3 {
			t.Errorf("wide from %d on: the rules are %+v", wide, list)
		}
	}
}

// TestRefineOrdered: with invariant bits NCCL runs no call, so that borders lie between programs although NCCL is the
// fastest, and its times are no reason to measure. Sizes are rounded down to elements of 3 ranks.
func TestRefineOrdered(t *testing.T) {
	lab := &fakeLab{time: func(c selection.Choice, bytes int64, _ bool) float64 {
		if c.Protocol == ir.LL == (bytes <= 64<<10) {
			return 10
		}
		return 30
	}, nccl: func(bytes int64) float64 {
		if bytes <= 256<<10 {
			return 5
		}
		return 10.5
	}}
	tuner := lab.tuner(t, 3, []int64{16 << 10, 256 << 10, 1 << 20}, func(l *Lab) { l.Ordered = true })
	if whole, err := tuner.Refine(context.Background(), Borders{Room: room}); err != nil || !whole {
		t.Errorf("whole is %v: %v", whole, err)
	}
	sizes := bundle.WithoutNCCL(tuner.Sizes)
	eager, _ := bundle.Merge("allreduce", 3, sizes, room)
	last := slices.IndexFunc(eager, func(r bundle.MeasuredRule) bool { return r.Protocol != ir.LL }) - 1
	if last < 0 || eager[last].UpTo != 64<<10 {
		t.Errorf("the rules are %+v", eager)
	}
	if got := measured(tuner); !slices.Equal(got, []int64{16, 64, 128, 256, 1024}) {
		t.Errorf("measured were %v KiB", got)
	}
}

// TestRefineTime: what there is no time for is left, also where the time has passed in another process. Rules end at
// the sizes that were measured, and a second run measures the rest.
func TestRefineTime(t *testing.T) {
	ctx := context.Background()
	lab := &fakeLab{time: cliff(1 << 20)}
	tuner := lab.tuner(t, 2, []int64{64 << 10, 16 << 20}, nil)
	for _, c := range []struct {
		until    time.Time
		others   int // sizes that other processes have time for
		whole    bool
		measured []int64
		rules    string
	}{
		{time.Now().Add(-time.Second), 9, false, []int64{64, 16 << 10},
			"ring LL128 up to 64K; allpairs Simple up to 16384K; "},
		{time.Now().Add(time.Hour), 1, false, []int64{64, 1 << 10, 16 << 10},
			"ring LL128 up to 1024K; allpairs Simple up to 16384K; "},
		{time.Now().Add(time.Hour), 9, true, []int64{64, 1 << 10, 2 << 10, 4 << 10, 16 << 10},
			"ring LL128 up to 1024K; allpairs Simple up to 16384K; "},
	} {
		lab.asked, lab.until = 0, c.others
		whole, err := tuner.Refine(ctx, Borders{Room: room, Until: c.until})
		if err != nil || whole != c.whole {
			t.Errorf("whole is %v: %v", whole, err)
		}
		if got := measured(tuner); !slices.Equal(got, c.measured) {
			t.Errorf("measured were %v KiB, not %v", got, c.measured)
		}
		if got := rules(tuner, bench.Captured); got != c.rules {
			t.Errorf("the rules are %s, not %s", got, c.rules)
		}
	}
}

// TestRefineFirst: borders between programs come first, then sizes where NCCL is near.
func TestRefineFirst(t *testing.T) {
	lab := &fakeLab{time: cliff(1 << 20), until: 1, nccl: func(bytes int64) float64 {
		if bytes <= 256<<10 {
			return 1.2 * (5 + float64(bytes)/(1<<18))
		}
		return 1e6
	}}
	tuner := lab.tuner(t, 2, []int64{64 << 10, 256 << 10, 1 << 20, 4 << 20}, nil)
	for _, want := range [][]int64{{64, 256, 1 << 10, 2 << 10, 4 << 10}, {64, 128, 256, 1 << 10, 2 << 10, 4 << 10}} {
		lab.asked = 0
		whole, err := tuner.Refine(context.Background(), Borders{Room: room, Until: time.Now().Add(time.Hour)})
		if got := measured(tuner); err != nil || whole || !slices.Equal(got, want) {
			t.Errorf("measured were %v KiB, not %v; whole is %v: %v", got, want, whole, err)
		}
	}
}

// TestRefineStops: each size is kept as it comes, and what fails or is interrupted ends all.
func TestRefineStops(t *testing.T) {
	lab := &fakeLab{time: cliff(1 << 20)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	full := errors.New("the disk is full")
	for _, end := range []error{full, context.Canceled} {
		tuner := lab.tuner(t, 2, []int64{64 << 10, 16 << 20}, nil)
		var begun, kept []int64
		whole, err := tuner.Refine(ctx, Borders{Room: room, Begin: func(bytes int64) { begun = append(begun, bytes>>10) },
			Kept: func(bytes int64, found []bench.Entrant) error {
				if kept = append(kept, bytes>>10); tuner.Of(bytes) == nil || len(found) == 0 {
					t.Errorf("%d bytes are not there yet", bytes)
				}
				if len(kept) < 2 {
					return nil
				}
				if end == full {
					return full
				}
				cancel()
				return nil
			}})
		if whole || !errors.Is(err, end) {
			t.Errorf("whole is %v: %v, not %v", whole, err, end)
		}
		if !slices.Equal(kept, []int64{1 << 10, 4 << 10}) || !slices.Equal(begun[:2], kept) {
			t.Errorf("begun were %v, and kept %v", begun, kept)
		}
	}
}

// TestRefineFails: Refine reports a size where no form runs and leaves it out, and measures the others. An error that
// ends the job ends Refine.
func TestRefineFails(t *testing.T) {
	broken := errors.New("it is broken")
	sizes := []int64{64 << 10, 256 << 10, 1 << 20, 4 << 20}
	for _, c := range []struct {
		err      error
		failed   []int64
		measured []int64
	}{
		{broken, []int64{2 << 10}, []int64{64, 128, 256, 512, 1 << 10, 4 << 10}},
		{fmt.Errorf("%w: %w", broken, exchange.ErrEnd), nil, []int64{64, 256, 1 << 10, 4 << 10}},
	} {
		lab := &fakeLab{time: cliff(1 << 20), nccl: func(bytes int64) float64 {
			if bytes <= 256<<10 {
				return 1.2 * (5 + float64(bytes)/(1<<18))
			}
			return 1e6
		}}
		tuner := lab.tuner(t, 2, sizes, nil)
		lab.fails = func(bytes int64) error {
			if bytes == 2<<20 {
				return c.err
			}
			return nil
		}
		var failed []int64
		whole, err := tuner.Refine(context.Background(), Borders{Room: room, Failed: func(bytes int64, err error) {
			if failed = append(failed, bytes>>10); !errors.Is(err, broken) {
				t.Errorf("Failed was called with %v", err)
			}
		}})
		if goesOn := c.failed != nil; whole != goesOn || goesOn != (err == nil) || err != nil && !errors.Is(err, broken) {
			t.Errorf("%v: whole is %v: %v", c.err, whole, err)
		}
		if got := measured(tuner); !slices.Equal(got, c.measured) || !slices.Equal(failed, c.failed) {
			t.Errorf("%v: measured were %v KiB, and failed %v", c.err, got, failed)
		}
	}
}

// TestPowerBetween: where a power of two lies between two sizes, one is found.
func TestPowerBetween(t *testing.T) {
	for a := int64(1); a < 300; a++ {
		power := int64(1) << bits.Len64(uint64(a)) // the next one above a
		for b := a + 1; b < 1500; b++ {
			got := powerBetween(a, b)
			if between := a < got && got < b; got&(got-1) != 0 || between != (power < b) {
				t.Fatalf("between %d and %d: %d", a, b, got)
			}
		}
	}
}
