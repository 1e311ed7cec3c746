package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/selection"
	"mscclc/simulate"

	"golang.org/x/sync/errgroup"
)

// triedInstances are those of two-sided programs and of plans that are tried.
var triedInstances = []int{1, 2, 4, 8, 16}

// near is how many times as long as the best a form may take in a rough simulation to be simulated well. Rough ones are
// right to some 20 %, and up to 50 % where much contends.
const near = 1.5

type timed struct {
	Form
	micros float64
}

// rank simulates the forms for a size, each in the width that suits it, the fastest first: roughly, and those that are
// near the best then well. seen, if any, is what smaller sizes have shown of each form, and is brought to this one;
// what they say is far from the best is left out.
func (s *Selector) rank(bytes int64, seen []past) ([]timed, error) {
	forms, why := s.list()
	why = slices.Clone(why)
	if seen == nil {
		seen = make([]past, len(forms))
	}
	r := &ranking{Selector: s, bytes: bytes, seen: seen, all: make([]timed, len(forms)), errs: make([]error, len(forms))}
	for i := range r.all {
		r.all[i].micros = math.Inf(1)
	}
	r.simulate()
	var list []timed
	for i, t := range r.all {
		if r.errs[i] != nil {
			why = append(why, &unexpanded{forms[i].String(), r.errs[i]})
		} else if !math.IsInf(t.micros, 1) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil, &noForms{s.Call, why}
	}
	best := slices.MinFunc(list, faster).micros
	for i := range seen {
		seen[i].goOn(r.all[i], bytes, best)
	}
	var failed error
	switch {
	case s.Rough:
	case s.many():
		list = few(list)
		failed = s.confirmFew(list, bytes)
	default:
		failed = s.confirm(list, bytes, best)
	}
	slices.SortStableFunc(list, faster)
	alike(list, s.Differs)
	return list, failed
}

// confirm simulates those of a list well that are near the best roughly.
func (s *Selector) confirm(list []timed, bytes int64, best float64) error {
	failed := make([]error, len(list))
	s.each(len(list), func(i int) {
		if t := &list[i]; t.micros <= near*best {
			var o outcome
			t.Form, o, failed[i] = s.fastest(t.Form, bytes)
			t.micros = o.micros
		}
	})
	return errors.Join(failed...)
}

// Differs reports whether some of a given number of ranks end with sums of other bits than others by a program of the
// catalog: of two, both add the same two numbers.
func Differs(program string, ranks int) bool {
	return ranks > 2 && factsInCatalog(program).differs
}

// Differs reports whether some ranks end with sums of other bits than others by a form: of the catalog's as the header
// says, of a user's program as its sums are made.
func (s *Selector) Differs(f Form) bool {
	if s.Own.own(f.Program) == nil {
		return Differs(f.Program, s.Call.Ranks)
	}
	s.mu.Lock()
	is, known := s.differ[f.program()]
	s.mu.Unlock()
	if known {
		return is
	}
	p, err := s.form(f)
	if err == nil && s.Call.Ranks > 2 {
		order := bitwise.OrderOf(p)
		is = !order.Same()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.differ == nil {
		s.differ = map[Form]bool{}
	}
	s.differ[f.program()] = is
	return is
}

// alike puts a form whose ranks end with the same bits before one that may not have them so, where it is as fast.
func alike(list []timed, differs func(Form) bool) {
	if !differs(list[0].Form) {
		return
	}
	for i := 1; i < len(list) && list[i].micros <= gain*list[0].micros; i++ {
		if !differs(list[i].Form) {
			same := list[i]
			copy(list[1:i+1], list[:i])
			list[0] = same
			return
		}
	}
}

// divides says why a call of a size is not run by a form: a runtime of XML wants chunks of one length, as some of the
// user's compiled programs do, and these may be for other sizes. Several lanes are for large calls.
func (s *Selector) divides(f Form, bytes int64) error {
	if f.Several() && bytes < LanesFrom {
		return fmt.Errorf("calls below %d bytes have one lane", LanesFrom)
	}
	given, _, err := s.Own.compiled(f.Program, s.Call)
	if err != nil {
		return err
	}
	switch is := s.sizesOf(f); {
	case bytes < is.Min:
		return fmt.Errorf("%s is for calls from %d bytes on", f.Program, is.Min)
	case is.Max > 0 && bytes >= is.Max:
		return fmt.Errorf("%s is for calls below %d bytes", f.Program, is.Max)
	}
	if s.plans() {
		return s.planTakes(f, bytes)
	}
	if s.Target.Format != codegen.FormatXML && (given == nil || !given.Even) {
		return nil
	}
	chunks, err := s.Chunks(f)
	if err != nil {
		return err
	}
	if bytes/int64(s.DType.Size())%int64(chunks) != 0 {
		return fmt.Errorf("%d chunks do not divide %d bytes of %v", chunks, bytes, s.DType)
	}
	return nil
}

// sizesOf returns the sizes that a form is for: all, but for some of the user's compiled programs.
func (s *Selector) sizesOf(f Form) ir.SizeRange {
	if given, _, _ := s.Own.compiled(f.Program, s.Call); given != nil {
		return given.Sizes
	}
	return ir.SizeRange{}
}

// A form that at a smaller size took more than hopeless times what is about the best of a size takes no less there, as
// calls grow: it is looked at again when they are seldom times as large.
const (
	hopeless = 2
	seldom   = 8
)

// A past is what smaller sizes have shown of a form: what it took at the last one for which it was simulated, how many
// times the best, and in how many replicas.
type past struct {
	bytes         int64
	micros, ratio float64
	replicas      int
	tile          int64
	slow          bool // for good: see goOn
}

// near reports whether a form was near the best when it was simulated last: up to `times` times its time.
func (p *past) near(most float64) bool { return p.micros > 0 && p.ratio <= most }

// goOn goes to a larger size. A form that takes more than twice the best's time there, about in proportion to the
// bytes, and is no nearer to it than before, does not come back as calls grow.
func (p *past) goOn(t timed, bytes int64, best float64) {
	if math.IsInf(t.micros, 1) {
		return
	}
	const proportion = 0.68 // of all passes' part in a time that grows 1.6 times as calls do twice
	ratio := t.micros / best
	p.slow = p.micros > 0 && ratio > hopeless &&
		t.micros > p.micros*math.Pow(float64(bytes)/float64(p.bytes), proportion) && ratio >= 0.98*p.ratio
	p.bytes, p.micros, p.ratio, p.replicas, p.tile = bytes, t.micros, ratio, t.Replicas, t.Tile
}

func faster(a, b timed) int { return cmp.Compare(a.micros, b.micros) }

// each does something of n forms at once.
func (s *Selector) each(n int, do func(i int)) {
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { do(i); return nil })
	}
	group.Wait()
}

type timeKey struct {
	form   Form
	bytes  int64
	figure simulate.Figure
	rough  bool
}

// An outcome is what a simulation says: the time, how long of it the link is occupied that is occupied longest, and
// whether the time is an interval: of a program that is too large to be simulated twice, only the latency is known.
type outcome struct {
	micros, link float64
	interval     bool
}

// time returns what a simulation says a form takes for a size, by the selector's figure.
func (s *Selector) time(f Form, bytes int64, rough bool) (float64, error) {
	o, err := s.outcome(f, bytes, s.By, rough)
	return o.micros, err
}

// costed returns a form that takes as long as f by the costs: packets of some protocols cost the same.
func (s *Selector) costed(f Form) Form {
	if one := &s.Costs.OneSided; f.Sided != selection.TwoSided && one.Protocol[f.Protocol] == one.Protocol[ir.LL] {
		f.Protocol = ir.LL
	}
	return f
}

// outcome returns what a simulation says of a form for a size, by a figure.
func (s *Selector) outcome(f Form, bytes int64, figure simulate.Figure, rough bool) (outcome, error) {
	f = s.costed(f)
	key := timeKey{f, bytes, figure, rough}
	s.mu.Lock()
	t, ok := s.times[key]
	s.mu.Unlock()
	if ok {
		return t, nil
	}
	prog, err := s.form(f)
	if err != nil {
		return outcome{}, err
	}
	if err := s.bounded(prog, f); err != nil {
		return outcome{}, err
	}
	p := prog.Copy()
	p.Protocol = f.Protocol
	width := f.Width
	if s.ofPlan(f) {
		width.Replicas = 1 // a plan has the blocks that it names
	}
	r, err := simulate.Run(p, s.Topology, s.Costs, simulate.Call{Bytes: bytes, DType: s.DType, Width: width,
		Figure: figure, Rough: rough})
	if err != nil {
		return outcome{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[timeKey]outcome{}
	}
	o := outcome{r.Micros, r.Micros * r.Occupied, r.Launches > 1}
	s.times[key] = o
	if key.rough = false; !r.Rough {
		s.times[key] = o
	}
	return o, nil
}
