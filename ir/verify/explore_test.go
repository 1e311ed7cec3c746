package verify_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify/explore"
	"mscclc/passes/fifo"
)

// A tally counts judgements.
type tally struct {
	sync.Mutex
	programs, broken, accepted, rejected, cut int
	byMessage, events                         int // accepted programs; actions of all
	excluded, codes                           map[string]int
}

func (c *tally) add(j judgement, broken bool) {
	c.Lock()
	defer c.Unlock()
	c.programs++
	if broken {
		c.broken++
	}
	switch {
	case j.excluded != "":
		c.excluded[j.excluded]++
		return
	case len(j.codes) == 0:
		c.accepted++
		if j.verdict.ByMessage {
			c.byMessage++
		}
	default:
		c.rejected++
		c.codes[strings.Join(j.codes, "+")]++
	}
	c.events += j.verdict.Events
	if j.verdict.Cut {
		c.cut++
	}
}

func (c *tally) String() string {
	text := fmt.Sprintf(
		"%d programs, %d of them broken: %d accepted and %d rejected by both, of these %d not in all schedules", c.programs,
		c.broken, c.accepted, c.rejected, c.cut)
	text += fmt.Sprintf("\n%d of the accepted need messages to order their memory; %d actions in all",
		c.byMessage, c.events)
	for _, m := range []map[string]int{c.codes, c.excluded} {
		text += "\n"
		for _, k := range slices.Sorted(maps.Keys(m)) {
			text += fmt.Sprintf("  %s %d", k, m[k])
		}
	}
	return text
}

// What verify says of random tiny programs, half of them broken, is what an
// exploration of all their schedules shows. MSCCLC_RANDOM=N asks for N
// programs that both judge.
func TestVerdictsAreTheExplorers(t *testing.T) {
	n := irtest.Count(t, 4000)
	c := tally{excluded: map[string]int{}, codes: map[string]int{}}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for seed := w; seed < n && !t.Failed(); seed += workers {
				judgeSeed(t, &c, int64(seed))
			}
		})
	}
	wg.Wait()
	t.Logf("%v", &c)
	if c.accepted < n/4 || c.rejected < n/8 || c.excluded["too large"] > n/100 || c.byMessage < n/50 {
		t.Error("too few were judged to say anything")
	}
}

// judgeSeed judges the program of a seed. Where it has no form, or is too
// large, the next of the seed takes its place.
func judgeSeed(t *testing.T, c *tally, seed int64) {
	rnd := rand.New(rand.NewSource(seed))
	broken := seed%2 == 1
	for {
		p, opt := tiny(rnd)
		opt.Moves = 20_000
		if broken {
			p, opt = spoiled(rnd, p, opt)
		}
		j, err := compare(p, opt)
		if err != nil {
			t.Errorf("seed %d: %s", seed, explain(p, opt, err))
			return
		}
		c.add(j, broken)
		if j.excluded == "" {
			return
		}
	}
}

// One tile and one launch decide: with two of each, where a block may begin
// the next tile before others have ended this one, schedules show the same.
func TestOneTileDecides(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	judged, faulty := 0, 0
	for n := range irtest.Count(t, 8000) / 8 {
		p, opt := tiny(rnd)
		if n%2 == 0 {
			p, opt = spoiled(rnd, p, opt)
		}
		opt.Moves = 20_000
		once, err := explore.Reduced(p.Fifo, opt)
		if err != nil {
			continue
		}
		more := opt
		more.Tiles, more.Launches = 1+rnd.Intn(2), 1+rnd.Intn(2)
		twice, err := explore.Reduced(p.Fifo, more)
		if err != nil || once.Cut || twice.Cut || once.Found[explore.Mismatch] != nil || once.Found[explore.Leftover] != nil {
			continue // what is unmatched shifts all that follows
		}
		judged++
		if !once.Good() {
			faulty++
		}
		a, b := once.Kinds(), twice.Kinds()
		if once.Found[explore.Deadlock] != nil && twice.Found[explore.Deadlock] != nil {
			a, b = a[:1], b[:1] // how far others get is another matter
		}
		if !slices.Equal(a, b) {
			t.Fatalf("with %+v: %v\nonce: %v\n%s", more, twice, once, explain(p, opt, errors.New("")))
		}
	}
	t.Logf("%d programs, %d with faults", judged, faulty)
	if judged < 500 || faulty < 50 {
		t.Error("too few to say anything")
	}
}

// tiny makes a random program: one of the explorer's, or at times one that the
// compiler makes of random operations.
func tiny(rnd *rand.Rand) (*either.Program, explore.Options) {
	for rnd.Intn(8) == 0 {
		opt := explore.Options{Slots: 1 + rnd.Intn(3), MessageChunks: 1 + rnd.Intn(2)}
		if p := compiled(rnd, opt.Slots); p != nil {
			return p, opt
		}
	}
	p, opt := explore.Random(rnd)
	return either.OfFifo(p), opt
}

// spoiled is p with a fault.
func spoiled(rnd *rand.Rand, p *either.Program, opt explore.Options) (*either.Program, explore.Options) {
	q, opt := explore.Broken(rnd, p.Fifo, opt)
	return either.OfFifo(q), opt
}

// compiled makes a program of a few random operations, or returns nil.
func compiled(rnd *rand.Rand, slots int) *either.Program {
	opt := fifo.Options{Slots: slots, Off: map[string]bool{}, Level0: rnd.Intn(4) == 0}
	for _, p := range fifo.Table {
		if !p.Required && rnd.Intn(5) == 0 { // Run refuses a required one, whatever it is set to
			opt.Off[p.Name] = true
		}
	}
	d, err := fifo.Lower(irtest.Random(rnd, irtest.Config{Ranks: 2, Chunks: 2, Ops: 5}), opt)
	if err == nil {
		err = fifo.Run(d, opt)
	}
	if err != nil {
		return nil
	}
	p, err := codegen.Assemble(d)
	if err != nil || len(p.Steps) == 0 || len(p.Blocks) > 12 || len(p.Steps) > 40 {
		return nil
	}
	return neutral(either.OfFifo(p))
}
