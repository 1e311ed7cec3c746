package explore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/irtest"
	"mscclc/ir/text"
)

// programText is p in its text form.
func programText(p *fifo.Program) string {
	var b bytes.Buffer
	if err := text.WriteProgram(&b, either.OfFifo(p)); err != nil {
		return err.Error()
	}
	return b.String()
}

// count returns the number of programs that a test judges: a tenth of what
// MSCCLC_RANDOM asks for.
func count(t *testing.T, usual int) int {
	return irtest.Count(t, 10*usual) / 10
}

// What the generator makes has no fault but, at times, too few slots.
func TestRandomIsLegal(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	dead, events := 0, 0
	for range 3000 {
		p, opt := Random(rnd)
		v, err := Reduced(p, opt)
		if err != nil {
			t.Fatal(err)
		}
		if v.Found[Deadlock] != nil {
			dead++
			v.Found[Deadlock] = nil
		}
		if !v.Good() || v.Schedules != 1 {
			t.Fatalf("%v\n%s", v, programText(p))
		}
		events += v.Events
	}
	t.Logf("%d of 3000 need more slots; %d actions", dead, events)
}

// The reduced exploration finds what the plain one finds: the same kinds, the
// same pairs in both orders, and, where messages order memory, the monitor
// names the same pairs.
func TestReducedIsPlain(t *testing.T) {
	rnd := rand.New(rand.NewSource(2))
	kinds, same, large, senseless := map[string]int{}, 0, 0, 0
	programs := count(t, 1500)
	for n := range programs {
		p, opt := Random(rnd)
		if n%4 > 0 {
			p, opt = Broken(rnd, p, opt)
		}
		opt.Moves = 60_000
		a, err := Reduced(p, opt)
		if e := (*Senseless)(nil); errors.As(err, &e) {
			senseless++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := Plain(p, opt)
		if e := (*TooLarge)(nil); errors.As(err, &e) || a.Cut && a.Found[Mismatch] == nil {
			large++
			continue
		}
		if a.Found[Mismatch] != nil && b.Found[Mismatch] != nil {
			kinds["mismatch"]++ // after which nothing is defined
			continue
		}
		if p.Protocol == ir.Simple && !maps.Equal(a.raced, a.reversed) {
			t.Fatalf("the monitor has %v, both orders %v\n%s", a.raced, a.reversed, programText(p))
		}
		if !maps.Equal(a.reversed, b.reversed) {
			t.Fatalf("reduced has both orders of %v, plain %v\n%s", a.reversed, b.reversed, programText(p))
		}
		if p.Protocol != ir.Simple && b.Found[Race] == nil {
			a.Found[Race] = nil // memory that lags shows in no order of actions
		}
		if !slices.Equal(a.Kinds(), b.Kinds()) {
			t.Fatalf("reduced: %v\nplain: %v\n%s", a, b, programText(p))
		}
		kinds[fmt.Sprint(b.Kinds())]++
		same++
	}
	t.Logf("%d agree: %v; %d too large, %d senseless", same, kinds, large, senseless)
	if same < programs/2 || len(kinds) < 8 {
		t.Error("too few to say anything")
	}
}

// What adversarial schedules find is what all schedules show.
func TestAdverse(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	harmful, good := 0, 0
	for n := range 2000 {
		p, opt := Random(rnd)
		if n%3 > 0 {
			p, opt = Broken(rnd, p, opt)
		}
		opt.Moves = 20_000
		all, err := Reduced(p, opt)
		if err != nil {
			continue
		}
		some, err := Adverse(p, opt, 20, rnd)
		if err != nil {
			t.Fatal(err)
		}
		if some.Good() != all.Good() || (some.Found[Race] != nil) != (all.Found[Race] != nil) &&
			some.Found[Deadlock] == nil && some.Found[Mismatch] == nil {
			t.Fatalf("all schedules: %v\nadverse ones: %v\n%s", all, some, programText(p))
		}
		if some.Good() {
			good++
		} else {
			harmful++
		}
	}
	t.Logf("%d programs with faults, %d without", harmful, good)
	if harmful < 200 || good < 500 {
		t.Error("too few to say anything")
	}
}
