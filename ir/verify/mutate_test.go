package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
)

// A score is what came of the mutants of one kind.
type score struct{ tried, senseless, harmful, caught, seeming int }

func (s *score) add(o score) {
	s.tried += o.tried
	s.senseless += o.senseless
	s.harmful += o.harmful
	s.caught += o.caught
	s.seeming += o.seeming
}

// A campaign is how much is tried.
type campaign struct {
	mutants, large int // of a program whose schedules can all be explored, and of any other
	schedules, few int // of a mutant of the others, until budget is spent and then
	budget         int // actions of one program's mutants
	seed           int64
}

// A patient is a program under mutation.
type patient struct {
	*campaign
	original
	rnd   *rand.Rand
	tiny  bool
	sizes []int // chunks of a message with which the original is good
	moves int   // actions run
	full  int   // mutants that ran in all schedules
}

// mutant judges one mutant.
func (c *patient) mutant(k *explore.Mutation) (s score, err error) {
	base := explore.Options{Slots: c.p.Protocol.Slots(), MessageChunks: c.sizes[c.rnd.Intn(len(c.sizes))], Moves: 20_000}
	q, opt, ok := k.Break(c.rnd, c.p.Fifo, base)
	if !ok {
		return s, nil
	}
	s.tried = 1
	var codes []string
	var v *explore.Verdict
	if c.tiny {
		j, err := compare(either.OfFifo(q), opt)
		if err != nil {
			return s, errors.New(explain(either.OfFifo(q), opt, err))
		}
		codes, v = j.codes, j.verdict
	} else if codes, v, err = c.adverse(either.OfFifo(q), opt); err != nil {
		return s, err
	}
	switch {
	case v == nil:
		s.senseless = 1
	case !v.Good():
		s.harmful, s.caught = 1, 1
	case len(codes) > 0:
		s.seeming = 1
	}
	return s, nil
}

// adverse judges a mutant that is too large to explore. What has no form has
// no verdict.
func (c *patient) adverse(q *either.Program, opt explore.Options) (codes []string, v *explore.Verdict, err error) {
	_, list := verify.Check(q, verify.Options{Slots: opt.Slots, MessageChunks: opt.MessageChunks,
		MostChunks: opt.MessageChunks})
	for _, d := range list {
		if slices.Contains(formCodes, d.Code) {
			return nil, nil, nil
		}
		codes = append(codes, string(d.Code))
	}
	schedules := c.few
	if c.moves < c.budget {
		schedules = c.schedules
	}
	v, err = explore.Adverse(q.Fifo, opt, schedules, c.rnd)
	if err != nil {
		return nil, nil, err
	}
	c.moves += v.Moves
	if v.Good() && v.Schedules == c.schedules {
		c.full++
	}
	if !v.Good() && len(codes) == 0 {
		err = fmt.Errorf("verify accepts what a schedule breaks: %v", v)
	}
	return codes, v, err
}

// program tries all kinds of fault on o, and returns their scores.
func (c *campaign) program(o original) (p *patient, scores []score, err error) {
	h := fnv.New64()
	h.Write([]byte(o.name))
	p = &patient{campaign: c, original: o, rnd: rand.New(rand.NewSource(int64(h.Sum64()) ^ c.seed))}
	slots := o.p.Protocol.Slots()
	large := (*explore.TooLarge)(nil)
	_, err = explore.Reduced(o.p.Fifo, explore.Options{Slots: slots, Moves: 20_000})
	p.tiny = !errors.As(err, &large)
	for _, m := range []int{1, 2, ir.MaxMessageChunks} {
		v, err := explore.Adverse(o.p.Fifo, explore.Options{Slots: slots, MessageChunks: m}, 1, p.rnd)
		if err != nil {
			return p, nil, err
		}
		if v.Good() {
			p.sizes = append(p.sizes, m)
		}
	}
	if p.sizes == nil {
		return p, nil, errors.New("the program itself is broken")
	}
	scores = make([]score, len(explore.Mutations))
	n := c.large
	if p.tiny {
		n = c.mutants
	}
	for i := range n {
		k := i % len(scores)
		s, err := p.mutant(&explore.Mutations[k])
		if err != nil {
			return p, nil, fmt.Errorf("%s: %w", explore.Mutations[k].Name, err)
		}
		scores[k].add(s)
	}
	return p, scores, nil
}

// Single faults in programs of the catalog and of other compilers: for a
// program whose schedules can all be explored, verify's verdict is the
// explorer's; of a larger one, whatever an adversarial schedule breaks is
// rejected. MSCCLC_MUTATIONS=full tries thousands a program and writes
// MUTATIONS.md; MSCCLC_MUTATIONS=N tries N times as many as by default.
func TestMutations(t *testing.T) {
	c := campaign{mutants: 45, large: 15, schedules: 8, few: 8, seed: 1}
	mode := os.Getenv("MSCCLC_MUTATIONS")
	if mode == "full" {
		c = campaign{mutants: 3000, large: 1500, schedules: 1000, few: 10, budget: 40_000_000, seed: 2}
	} else if n, err := strconv.Atoi(mode); err == nil {
		c.mutants, c.large = c.mutants*n, c.large*n
	}
	all := catalog(t)
	compiled := len(all)
	all = append(all, others(t)...)
	var totals [2]total // of tiny programs and of others
	var wg sync.WaitGroup
	next := make(chan original)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for o := range next {
				p, scores, err := c.program(o)
				if err != nil {
					t.Errorf("%s: %v", o.name, err)
					continue
				}
				if p.tiny {
					totals[0].add(p, scores)
				} else {
					totals[1].add(p, scores)
				}
			}
		})
	}
	for _, o := range all {
		next <- o
	}
	close(next)
	wg.Wait()
	text := fmt.Sprintf("%d programs of the catalog, %d of other compilers.\n", compiled, len(all)-compiled) +
		fmt.Sprintf("\nThe %d whose schedules can all be explored:\n\n%s", totals[0].programs, table(totals[0].scores)) +
		fmt.Sprintf("\nThe %d larger ones, in adversarial schedules: %d mutants that none breaks in %d of them each, the others of these in %d:\n\n%s",
			totals[1].programs, totals[1].full, c.schedules, c.few, table(totals[1].scores))
	t.Log("\n" + text)
	if harmful := sum(totals[0].scores).harmful + sum(totals[1].scores).harmful; harmful < 500 || totals[0].programs < 20 {
		t.Errorf("only %d mutants are harmful", harmful)
	}
	if mode == "full" && !t.Failed() {
		if err := os.WriteFile("MUTATIONS.md", []byte(mutationsHead+text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A total is the scores of several programs.
type total struct {
	sync.Mutex
	programs, full int
	scores         []score
}

func (a *total) add(p *patient, scores []score) {
	a.Lock()
	defer a.Unlock()
	if a.scores == nil {
		a.scores = make([]score, len(scores))
	}
	a.programs++
	a.full += p.full
	for k, s := range scores {
		a.scores[k].add(s)
	}
}

const mutationsHead = `# Single faults, and whether verify catches them

Written by ` + "`MSCCLC_MUTATIONS=full go test ./ir/verify -run TestMutations -timeout 3h`" + `. Every program is broken by one
fault at a time. *No program*: refused for its form, for what it would do cannot be said. *Harmful*: of a small program some
schedule of all shows a deadlock, a race, a read of what nothing wrote, a wrong result or an unmatched message; of a larger one, an
adversarial schedule does. *Caught*: harmful, and rejected. *Unseen*: rejected, though no schedule that ran breaks.

`

func sum(scores []score) score {
	var all score
	for _, s := range scores {
		all.add(s)
	}
	return all
}

// table prints scores by kind.
func table(scores []score) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 1, 1, ' ', tabwriter.AlignRight|tabwriter.Debug)
	row := func(name string, s score) {
		fmt.Fprintf(w, "%s\t %d\t %d\t %d\t %d\t %d\t\n", name, s.tried, s.senseless, s.harmful, s.caught, s.seeming)
	}
	fmt.Fprint(w, "fault\t tried\t no program\t harmful\t caught\t unseen\t\n---\t ---:\t ---:\t ---:\t ---:\t ---:\t\n")
	for k, s := range scores {
		row(explore.Mutations[k].Name+": "+explore.Mutations[k].Doc, s)
	}
	row("all", sum(scores))
	_ = w.Flush() // b takes all
	var text strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		text.WriteString("| " + strings.TrimSpace(line) + "\n")
	}
	return text.String()
}
