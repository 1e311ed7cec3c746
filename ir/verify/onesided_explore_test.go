package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	ironesided "mscclc/ir/onesided"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
	"mscclc/ir/verify/explore/onesided"
)

// An oneJudgement is what verify and the explorer say of one one-sided program.
type oneJudgement struct {
	codes    []string // of verify, sorted
	verdict  *onesided.Verdict
	excluded string // why the explorer says nothing
}

// compareOneSided judges p in both ways, over these nodes or, for nil, one. The error says how the two disagree.
func compareOneSided(p *either.Program, node []int32, rnd *rand.Rand) (j oneJudgement, err error) {
	report, list := verify.Check(p, verify.Options{Nodes: node})
	set := map[string]bool{}
	for _, d := range list {
		set[string(d.Code)] = true
	}
	j.codes = slices.Sorted(maps.Keys(set))
	if set[string(diag.AcrossNodes)] && len(report.Counterexamples) == 0 {
		j.excluded = "reaches another node" // as no message does
		return j, nil
	}
	if slices.ContainsFunc(append(formCodes, diag.Unmatched), func(c diag.Code) bool { return set[string(c)] }) {
		j.excluded = j.codes[0]
		return j, nil
	}
	j.verdict, err = onesided.ExploreOver(p.OneSided, node, 2, rnd)
	if large := (*explore.TooLarge)(nil); errors.As(err, &large) {
		j.excluded = "too large"
		return j, nil
	}
	if err == nil {
		err = disagreeOneSided(set, j.verdict)
	}
	if err == nil {
		err = liesOneSided(report.Counterexamples, j.verdict)
	}
	return j, err
}

// disagreeOneSided says how codes and a verdict contradict each other. Both
// must accept or both reject; without races and deadlock the codes are the faults that
// show. What reads nothing of its pass may show as a race with what a pass before left.
func disagreeOneSided(codes map[string]bool, v *onesided.Verdict) error {
	has := func(c diag.Code) bool {
		return codes[string(c)] || c == diag.Race && codes[string(diag.AcrossNodes)]
	}
	switch {
	case len(codes) == 0 && !v.Good():
		return errors.New("verify accepts what a run breaks")
	case len(codes) > 0 && v.Good():
		return errors.New("verify rejects what no run breaks")
	case has(diag.Deadlock) != v.Has(explore.Deadlock):
		return errors.New("one sees a deadlock, the other none")
	case has(diag.Deadlock): // nothing else is judged then
		return nil
	case has(diag.Race) && !v.Has(explore.Race):
		return errors.New("verify sees a race that no run shows")
	case v.Has(explore.Race) && !has(diag.Race) && !has(diag.Uninitialized):
		return errors.New("verify names no race, and runs show one")
	case !v.Has(explore.Race) && (has(diag.Uninitialized) != v.Has(explore.Uninitialized) ||
		has(diag.WrongResult) != v.Has(explore.WrongResult)):
		return errors.New("without races and deadlock, the codes are not the faults that show")
	}
	return nil
}

// liesOneSided says which counterexample claims what no run shows. Of races one must
// show: it may hide others, whose cell it touches in between.
func liesOneSided(counterexamples []verify.Counterexample, v *onesided.Verdict) error {
	races, shown := 0, 0
	for _, w := range counterexamples {
		ok := true
		switch w.Problem.Code {
		case diag.Race, diag.AcrossNodes:
			races++
			if v.Races(w.Step, w.With) {
				shown++
			}
		case diag.Uninitialized:
			ok = v.Has(explore.Race) || v.ReadsNothing(w.Step)
		case diag.WrongResult:
			ok = v.Has(explore.Race) || v.Wrong(w.Rank, w.Index)
		}
		if !ok {
			return fmt.Errorf("a counterexample is wrong: %v", w.Problem.Text)
		}
	}
	if races > 0 && shown == 0 {
		return errors.New("no counterexample of a race shows")
	}
	return nil
}

// explainOneSided reports a disagreement, with the program as small as it gets.
func explainOneSided(p *either.Program, node []int32, err error) string {
	kind := func(err error) string {
		text, _, _ := strings.Cut(err.Error(), ":")
		return text
	}
	rnd := rand.New(rand.NewSource(1))
	small := onesided.Shrink(p.OneSided, func(q *ironesided.Program) bool {
		_, again := compareOneSided(either.OfOneSided(q), node, rnd)
		return again != nil && kind(again) == kind(err)
	})
	_, list := verify.Check(either.OfOneSided(small), verify.Options{Nodes: node})
	j, again := compareOneSided(either.OfOneSided(small), node, rnd)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v\nnodes %v\nverify: %v\nexplorer: %v\n", again, node, irtest.Text(list), j.verdict)
	if err := text.WriteProgram(&b, either.OfOneSided(small)); err != nil {
		return err.Error()
	}
	return b.String()
}

// What verify says of random tiny one-sided programs, and of what single
// changes make of them, is what runs of them show. Each begins with more flags than it needs; a
// change that is accepted is kept, so that those that are judged come to need
// each of theirs. MSCCLC_RANDOM=N asks for N such walks.
func TestOneSidedVerdictsAreTheExplorers(t *testing.T) {
	walks(t, 20, func(rnd *rand.Rand) (*either.Program, []int32) { return either.OfOneSided(onesided.Random(rnd)), nil },
		"race", "deadlock", "wrong-result", "uninitialized+wrong-result")
}

// TestVerdictsOverNodes is TestOneSidedVerdictsAreTheExplorers of ranks on several nodes.
func TestVerdictsOverNodes(t *testing.T) {
	n := 4
	if covering.CI() {
		n = 12
	}
	walks(t, n, func(rnd *rand.Rand) (*either.Program, []int32) {
		p, node := onesided.RandomOver(rnd)
		return either.OfOneSided(p), node
	}, "race", "across-nodes", "deadlock")
}

// walks tries a number of walks, unless MSCCLC_RANDOM asks for others, from programs that random makes. Each of some
// codes must come.
func walks(t *testing.T, usual int, random func(*rand.Rand) (*either.Program, []int32), codes ...string) {
	n := irtest.Count(t, usual)
	var lock sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for seed := w; seed < n && !t.Failed(); seed += workers {
				walkOneSided(t, int64(seed), random, func(what string) {
					lock.Lock()
					defer lock.Unlock()
					counts[what]++
				})
			}
		})
	}
	wg.Wait()
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[k], k)
	}
	if counts["accepted"] < 2*n || counts["rejected"] < 2*n || counts["excluded: too large"] > n {
		t.Error("too few were judged to say anything")
	}
	for _, code := range codes {
		if counts["rejected: "+code] < max(1, n/50) {
			t.Errorf("too few %s were judged to say anything", code)
		}
	}
}

// changesTried is how many changes a walk tries.
const changesTried = 30

// walkOneSided changes a random program step by step.
func walkOneSided(t *testing.T, seed int64, random func(*rand.Rand) (*either.Program, []int32), count func(string)) {
	rnd := rand.New(rand.NewSource(seed))
	p, node := random(rnd)
	if _, list := verify.Check(p, verify.Options{Nodes: node}); len(list) > 0 {
		t.Errorf("seed %d: a program that is right by its making is rejected: %v\n%s", seed, irtest.Text(list), textOf(t, p))
		return
	}
	for range changesTried {
		k := &onesided.Mutations[rnd.Intn(len(onesided.Mutations))]
		if rnd.Intn(2) == 0 { // most often away with what is not needed
			k = &onesided.Mutations[2+rnd.Intn(2)]
		}
		q, ok := k.Change(rnd, p.OneSided)
		if !ok {
			continue
		}
		j, err := compareOneSided(either.OfOneSided(q), node, rnd)
		switch {
		case err != nil:
			t.Errorf("seed %d, %s: %s", seed, k.Name, explainOneSided(either.OfOneSided(q), node, err))
			return
		case j.excluded != "":
			count("excluded: " + j.excluded)
		case len(j.codes) == 0:
			p = either.OfOneSided(q)
			count("accepted")
			count("accepted: " + k.Name)
		default:
			count("rejected")
			count("rejected: " + strings.Join(j.codes, "+"))
			count("rejected by change: " + k.Name)
		}
	}
}
