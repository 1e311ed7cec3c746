package choose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/executor/exchange"
	"mscclc/ir"
	"mscclc/selection"
)

var someCall = Call{Kind: ir.AllReduce, Ranks: 4}

// A fake times variants: the k-th that it sees takes times[k].
type fake struct {
	seen  []selection.Choice
	runs  map[selection.Choice]int
	times []time.Duration
	fail  map[int]error // the k-th fails so
}

func (f *fake) try(_ context.Context, v selection.Choice) (time.Duration, error) {
	if f.runs == nil {
		f.runs = map[selection.Choice]int{}
	}
	if !slices.Contains(f.seen, v) {
		f.seen = append(f.seen, v)
	}
	f.runs[v]++
	k := slices.Index(f.seen, v)
	return f.times[k], f.fail[k]
}

// Each candidate is tried as often as is said and never again, and the fastest of a class runs its calls.
func TestOnline(t *testing.T) {
	ctx := context.Background()
	f := &fake{times: []time.Duration{50, 40, 20, 30}}
	var seen []Settlement
	o := &Online{Chooser: &Chooser{Device: "Some GPU"}, Tries: 3, Most: 4,
		Seen: func(s Settlement) { seen = append(seen, s) }}
	for range 30 {
		if _, err := o.Run(ctx, someCall, 3000, 2, f.try); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.seen) != 4 || f.runs[f.seen[0]] != 3 || f.runs[f.seen[1]] != 3 || f.runs[f.seen[3]] != 3 ||
		f.runs[f.seen[2]] != 21 {
		t.Errorf("runs %v", f.runs)
	}
	first, _, _ := o.Chooser.Choose(someCall, 4096, 2)
	if f.seen[0] != first {
		t.Errorf("%v is tried first, and %v was chosen", f.seen[0], first)
	}
	if len(seen) != 1 || seen[0].UpTo != 4096 || seen[0].Candidates[0].Choice != f.seen[2] ||
		seen[0].Candidates[0].Least != 20 {
		t.Errorf("seen %+v", seen)
	}
	// Sizes of the class are settled; others are not, and find their own.
	for bytes, want := range map[int64]bool{2049: true, 4096: true, 2048: false, 4097: false} {
		if v, settled := o.Winner(someCall, bytes, 2); settled != want || want && v != f.seen[2] {
			t.Errorf("%d bytes: %v %v", bytes, v, settled)
		}
	}
	large := &fake{times: []time.Duration{5, 40, 20, 30}}
	for range 13 {
		if _, err := o.Run(ctx, someCall, 1<<20, 2, large.try); err != nil {
			t.Fatal(err)
		}
	}
	if v, settled := o.Winner(someCall, 1<<20, 2); !settled || v != large.seen[0] {
		t.Errorf("large: %v %v", v, settled)
	}
}

// A candidate that fails is dropped, and the next one runs the call; not in place, where it had begun.
func TestOnlineFails(t *testing.T) {
	ctx := context.Background()
	f := &fake{times: []time.Duration{10, 40, 20, 30},
		fail: map[int]error{0: errors.New("no room"), 3: Begun(errors.New("hangs"))}}
	o := &Online{Chooser: &Chooser{Device: "Some GPU"}, Tries: 2}
	for range 10 {
		if _, err := o.Run(ctx, someCall, 3000, 2, f.try); err != nil {
			t.Fatal(err)
		}
	}
	if v, settled := o.Winner(someCall, 3000, 2); !settled || v != f.seen[2] || f.runs[f.seen[0]] != 1 ||
		f.runs[f.seen[3]] != 1 {
		t.Errorf("%v %v, runs %v", v, settled, f.runs)
	}
	inplace := someCall
	inplace.Inplace = true
	f = &fake{times: f.times, fail: f.fail}
	errs := 0
	for range 10 {
		if _, err := o.Run(ctx, inplace, 3000, 2, f.try); err != nil {
			if errs++; !strings.Contains(err.Error(), "hangs") {
				t.Error(err)
			}
		}
	}
	if v, settled := o.Winner(inplace, 3000, 2); errs != 1 || !settled || v != f.seen[2] {
		t.Errorf("%d errors, %v", errs, v)
	}
	// Where all fail, all say why.
	all := errors.New("no device")
	f = &fake{times: f.times, fail: map[int]error{0: all, 1: all, 2: all, 3: all}}
	for range 2 {
		if _, err := o.Run(ctx, someCall, 1<<20, 2, f.try); err == nil || strings.Count(err.Error(), "no device") != 4 {
			t.Errorf("got %v", err)
		}
	}
	// A call that is given up says nothing of its variant.
	given, cancel := context.WithCancel(ctx)
	f = &fake{times: []time.Duration{10, 40, 20, 30}}
	if _, err := o.Run(given, someCall, 1<<10, 2, func(context.Context, selection.Choice) (time.Duration,
		error) {
		cancel()
		return 0, given.Err()
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range 8 {
		if _, err := o.Run(ctx, someCall, 1<<10, 2, f.try); err != nil {
			t.Fatal(err)
		}
	}
	if v, settled := o.Winner(someCall, 1<<10, 2); !settled || v != f.seen[0] {
		t.Errorf("%v %v", v, settled)
	}
}

// Processes whose clocks say different things keep the same variant: the one whose slowest rank is the fastest. What
// fails in one is dropped in all.
func TestOnlineProcesses(t *testing.T) {
	const size = 3
	clocks := [size][]time.Duration{{10, 50, 30, 20}, {60, 50, 31, 25}, {20, 10, 32, 90}} // slowest: 60, 50, 32, 90
	for failing, want := range map[int]int{-1: 2, 2: 1} {
		var wg sync.WaitGroup
		winners, runs := make([]selection.Choice, size), make([]*fake, size)
		errs := make([]error, size)
		for i, x := range exchange.Group(size) {
			runs[i] = &fake{times: clocks[i]}
			if i == 1 && failing >= 0 {
				runs[i].fail = map[int]error{failing: errors.New("no room here")}
			}
			wg.Go(func() {
				o := &Online{Chooser: &Chooser{Device: "Some GPU"}, Tries: 2, Exchange: x}
				for range 20 {
					if _, err := o.Run(context.Background(), someCall, 1<<16, 2, runs[i].try); err != nil {
						errs[i] = err
						return
					}
				}
				var settled bool
				if winners[i], settled = o.Winner(someCall, 1<<16, 2); !settled {
					errs[i] = fmt.Errorf("process %d has not settled", i)
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i := range size {
			if winners[i] != runs[0].seen[want] || !slices.Equal(runs[i].seen, runs[0].seen) ||
				fmt.Sprint(runs[i].runs) != fmt.Sprint(runs[0].runs) {
				t.Errorf("failing %d: process %d keeps %v, not %v; runs %v and %v", failing, i, winners[i], runs[0].seen[want],
					runs[i].runs, runs[0].runs)
			}
		}
	}
}
