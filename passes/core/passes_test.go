package core

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/passes/passestest"
)

// TestTable holds that every pass finds the properties it needs, at -O0 and
// with each optional pass off, and that a pass has the name of its file.
func TestTable(t *testing.T) {
	var rows []passestest.Row[Property]
	for _, p := range Table {
		rows = append(rows, passestest.Row[Property]{
			Name: p.Name, Doc: p.Doc, Required: p.Required, Needs: p.Needs, Gives: p.Gives,
		})
	}
	have := passestest.Table(t, Property(0), rows)
	if have != 1<<NumProperties-1 {
		t.Errorf("all required passes give %v only", have)
	}
}

// TestRequired holds that required passes, and passes that do not exist, cannot be turned off.
func TestRequired(t *testing.T) {
	c := known(t, "allgather/ring", 2, ir.LL)
	for _, p := range append(slices.Clone(Table), Pass{Name: "nonsense", Required: true}) {
		want := "<nil>"
		if p.Required {
			want = fmt.Sprintf("pass %q cannot be turned off", p.Name)
		}
		if _, err := Lower(c, Options{Off: map[string]bool{p.Name: true}}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", p.Name, err, want)
		}
	}
}

// checked has all properties checked after every pass. Where shuffled, runs and Moves come to passes in any order that
// keeps what depends on each other, as long as the order is theirs to choose.
func checked(opt Options, rnd *rand.Rand) Options {
	opt.before = func(_ *Pass, s *State, have Property) {
		if rnd != nil && have&(Depends|Ordered) == 0 {
			shuffle(s, rnd)
		}
	}
	opt.after = func(_ *Pass, s *State, have Property) error { return check(s, have) }
	return opt
}

// shuffle puts the runs, or the Moves, of s into another order that means the same.
func shuffle(s *State, rnd *rand.Rand) {
	deps := conflictsOf(s)
	left, after := make([]int, len(deps)), make([][]int, len(deps))
	for i := range deps {
		seen := map[int32]bool{}
		for d := range deps[i] {
			if !seen[d.on] {
				seen[d.on] = true
				left[i]++
				after[d.on] = append(after[d.on], i)
			}
		}
	}
	var ready, order []int
	for i, n := range left {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		k := rnd.Intn(len(ready))
		i := ready[k]
		ready = slices.Delete(ready, k, k+1)
		order = append(order, i)
		for _, j := range after[i] {
			if left[j]--; left[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	s.runs, s.moves = permuted(s.runs, order), permuted(s.moves, order)
}

func permuted[T any](list []T, order []int) []T {
	if list == nil {
		return nil
	}
	to := make([]T, len(order))
	for k, i := range order {
		to[k] = list[i]
	}
	return to
}

// randomOptions turns passes off, at random.
func randomOptions(rnd *rand.Rand) Options {
	opt := Options{OnePass: rnd.Intn(2) == 0, Even: rnd.Intn(4) == 0, Staged: rnd.Intn(3) == 0, Level0: rnd.Intn(10) == 0,
		Lanes: []int{0, 1, 2, 3, 4, MostLanes}[rnd.Intn(6)], Off: map[string]bool{}}
	for _, p := range Table {
		if !p.Required && rnd.Intn(4) == 0 {
			opt.Off[p.Name] = true
		}
	}
	return opt
}

// TestPassesWork holds that every pass has something to do in random programs.
func TestPassesWork(t *testing.T) {
	done := map[string]int{}
	trace := func(p *Pass, rewrites int, _ time.Duration) { done[p.Name] += rewrites }
	for seed := range int64(40) {
		c := irtest.Random(rand.New(rand.NewSource(seed)), irtest.Config{})
		c.Protocol = ir.Protocol(seed % int64(ir.NumProtocols))
		if _, err := Lower(c, Options{Trace: trace, Lanes: 1 + int(seed)%4}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range Table {
		if done[p.Name] == 0 {
			t.Errorf("%s rewrites nothing", p.Name)
		}
	}
}

// TestPropertiesCatalog takes every program of the catalog and of the examples through the table, and asks after every
// pass for each property, the proof of the program among them. Two of five options take turns; CI tries all of them.
func TestPropertiesCatalog(t *testing.T) {
	lowered, turn := 0, 0
	for _, file := range passestest.Catalog(t) {
		t.Run(file.Name, func(t *testing.T) {
			for _, shape := range []string{"2 1 2", "4 2 2", "6 3 2"} {
				for _, inplace := range []bool{false, true} {
					c := file.Expand(t, shape, inplace)
					if c == nil {
						continue
					}
					for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
						c.Protocol = protocol
						turn++
						for i, opt := range []Options{{}, {OnePass: true}, {Staged: true}, {Level0: true}, {Lanes: 4}} {
							if (turn+i)%5 > 1 && !covering.CI() {
								continue
							}
							if _, err := Lower(c, checked(opt, nil)); err != nil && !(opt.Staged && isHint(err)) {
								t.Fatalf("%s, in place %v, %v, %+v: %v", shape, inplace, protocol, opt, err)
							}
							lowered++
						}
					}
				}
			}
		})
	}
	if lowered < 200 {
		t.Errorf("only %d were lowered", lowered)
	}
}

// TestPropertiesRandom does so with random programs, random passes off and random orders.
func TestPropertiesRandom(t *testing.T) {
	for seed := range irtest.Count(t, covering.Share(1000)) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		opt := randomOptions(rnd)
		if _, err := Lower(c, checked(opt, rnd)); err != nil {
			t.Fatalf("seed %d, %v, options %+v: %v", seed, c.Protocol, opt, err)
		}
	}
}
