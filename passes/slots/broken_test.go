package slots

import (
	"errors"
	"math/rand"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A fault is what a broken copy of a pass does wrong, and what the proof of the lowered program says of it.
type fault struct {
	pass, what string
	spoil      func(s *State, rnd *rand.Rand) bool // reports whether it changed what the pass has added
	codes      []diag.Code                         // one of these
}

// someConn spoils one connection of which fits holds.
func someConn(fits func(c *conn) bool, spoil func(s *State, c *conn)) func(*State, *rand.Rand) bool {
	return func(s *State, rnd *rand.Rand) bool {
		for _, k := range rnd.Perm(len(s.conns)) {
			if c := &s.conns[k]; fits(c) {
				spoil(s, c)
				return true
			}
		}
		return false
	}
}

// someWait spoils one wait of which fits holds, and leaves it out if spoil is nil.
func someWait(fits func(w wait) bool, spoil func(s *State, w *wait)) func(*State, *rand.Rand) bool {
	return func(s *State, rnd *rand.Rand) bool {
		for _, k := range rnd.Perm(len(s.waits)) {
			if !fits(s.waits[k]) {
				continue
			}
			if spoil == nil {
				s.waits = slices.Delete(s.waits, k, k+1)
			} else {
				spoil(s, &s.waits[k])
			}
			return true
		}
		return false
	}
}

// someChain spoils one chain of several steps.
func someChain(spoil func(s *State, head int32) bool) func(*State, *rand.Rand) bool {
	return func(s *State, rnd *rand.Rand) bool {
		for _, i := range rnd.Perm(len(s.head)) {
			if h := int32(i); s.head[h] == h && s.last[h] > h {
				return spoil(s, h)
			}
		}
		return false
	}
}

func anyConn(*conn) bool    { return true }
func now(w wait) bool       { return w.ago == 0 }
func earlier(w wait) bool   { return w.ago > 0 }
func several(c *conn) bool  { return c.messages > 1 }
func longConn(c *conn) bool { return c.length > 1 }

// faults lists three broken copies of each pass and more.
var faults = []fault{
	{"connect", "two connections have one place", someConn(anyConn, func(s *State, c *conn) {
		for k := range s.conns {
			if o := &s.conns[k]; o != c && o.dst == c.dst {
				c.first = o.first
			}
		}
	}), []diag.Code{diag.Race}},
	{"connect", "a slot is shorter than a message", someConn(longConn, func(_ *State, c *conn) { c.length-- }),
		[]diag.Code{diag.Race, diag.WrongResult}},
	{"connect", "messages wait for a slot that they do not use", someConn(several, func(_ *State, c *conn) { c.slots++ }),
		[]diag.Code{diag.Race, diag.OutOfBounds}},
	{"connect", "no credit is awaited", someConn(anyConn, func(s *State, c *conn) { c.slots += 1 << 10; s.scratch[c.dst] += 1 << 10 * c.length }),
		[]diag.Code{diag.Race}},
	{"connect", "two connections have one flag", someConn(anyConn, func(s *State, c *conn) {
		for k := range s.conns {
			if o := &s.conns[k]; o != c && o.dst == c.dst {
				c.data = o.data
			}
		}
	}), []diag.Code{diag.Malformed}},
	{"chain", "the last source is left out", someChain(func(s *State, h int32) bool { s.last[h]--; return true }),
		[]diag.Code{diag.WrongResult}},
	{"chain", "a step after the chain is part of it", someChain(func(s *State, h int32) bool {
		i := s.last[h] + 1
		if int(i) >= len(s.p.Steps) || s.w.Block[i] != s.w.Block[h] || s.p.Steps[i].Op != ir.Copy {
			return false
		}
		s.head[i], s.last[h] = h, i
		return true
	}), []diag.Code{diag.WrongResult, diag.OutOfBounds, diag.Race}},
	{"chain", "the first source is done twice", someChain(func(s *State, h int32) bool {
		s.head[h+1] = h + 1
		return true
	}), []diag.Code{diag.WrongResult}},
	{"await", "a wait is left out", someWait(now, nil), []diag.Code{diag.Race}},
	{"await", "a wait is for an earlier step", someWait(now, func(s *State, w *wait) {
		w.on = s.p.Blocks[s.w.Block[w.on]].Steps.First
	}), []diag.Code{diag.Race}},
	{"await", "a wait is for the tile iteration before", someWait(now, func(_ *State, w *wait) { w.ago = 1 }),
		[]diag.Code{diag.Race}},
	{"await", "the step after waits", someWait(now, func(s *State, w *wait) {
		if int(w.step)+1 < len(s.w.Block) && s.w.Block[w.step+1] == s.w.Block[w.step] {
			w.step = s.head[w.step+1]
		}
	}), []diag.Code{diag.Race}},
	{"reuse", "a wait is left out", someWait(earlier, nil), []diag.Code{diag.Race}},
	{"reuse", "a wait is for an older tile iteration", someWait(earlier, func(_ *State, w *wait) { w.ago++ }),
		[]diag.Code{diag.Race}},
	{"reuse", "a wait is for the first step of the block", someWait(earlier, func(s *State, w *wait) {
		w.on = s.p.Blocks[s.w.Block[w.on]].Steps.First
	}), []diag.Code{diag.Race}},
	{"reuse", "the last step of the block waits", someWait(earlier, func(s *State, w *wait) {
		w.step = s.head[s.p.Blocks[s.w.Block[w.step]].Steps.End-1]
	}), []diag.Code{diag.Race}},
	{"thin", "a wait that counts is left out", someWait(now, nil), []diag.Code{diag.Race}},
	{"thin", "a wait of an earlier tile iteration is left out", someWait(earlier, nil), []diag.Code{diag.Race}},
	{"thin", "of a block the first wait is kept alone", func(s *State, _ *rand.Rand) bool {
		seen, n := map[[2]int32]bool{}, len(s.waits)
		s.waits = slices.DeleteFunc(s.waits, func(w wait) bool {
			key := s.pair(w)
			defer func() { seen[key] = true }()
			return seen[key]
		})
		return len(s.waits) < n
	}, []diag.Code{diag.Race}},
}

// TestBrokenPasses holds that the proof of a lowered program finds what goes wrong in a pass: of each fault, in one of
// the random programs that it fits.
func TestBrokenPasses(t *testing.T) {
	var programs []*either.Program
	for seed := range 400 {
		p := randomProgram(t, rand.New(rand.NewSource(int64(seed))))
		if p == nil {
			continue
		}
		if g, err := Lower(p.Fifo, Options{}); err == nil {
			if _, found := verify.Check(either.OfOneSided(g), verify.Options{}); len(found) == 0 {
				programs = append(programs, p)
			}
		}
	}
	programs = append(programs, chained())
	per := map[string]int{}
	for i := range faults {
		f := &faults[i]
		per[f.pass]++
		if !f.caught(t, programs) {
			t.Errorf("%s: %s: the proof never says %q", f.pass, f.what, f.codes)
		}
	}
	for _, p := range Table {
		if per[p.Name] < 3 {
			t.Errorf("%s has %d broken copies", p.Name, per[p.Name])
		}
	}
}

// caught tries f on programs until the proof says one of its codes.
func (f *fault) caught(t *testing.T, programs []*either.Program) bool {
	tried, right := 0, 0
	for k, p := range programs {
		rnd, spoiled := rand.New(rand.NewSource(int64(k))), false
		g, err := Lower(p.Fifo, Options{Depth: 1, after: func(pass *Pass, s *State) {
			if pass.Name == f.pass {
				spoiled = f.spoil(s, rnd)
			}
		}})
		if !spoiled {
			continue
		}
		tried++
		var found diag.List
		if !errors.As(err, &found) {
			_, found = verify.Check(either.OfOneSided(g), verify.Options{})
		}
		if len(found) == 0 {
			right++
		} else if slices.Contains(f.codes, found[0].Code) {
			t.Logf("%-7s | %-50s | caught in program %d of those it fits, %d right before", f.pass, f.what, tried, right)
			return true
		}
	}
	return false
}
