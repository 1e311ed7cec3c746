package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/simulate"
)

// What is tried: columns of one-sided programs, as many as any GPU has room for, and instances of two-sided ones.
var (
	triedColumns   = []int{1, 2, 4, 8, 16, 32, 64}
	triedInstances = []int{1, 2, 4, 8, 16}
)

// near is how many times as long as the best a form may take in a rough simulation to be simulated well. Rough ones are right to some 20 %, and up to
// 50 % where much contends.
const near = 1.5

// gain is how much faster columns must be to be worth having twice as many.
const gain = 1.01

type timed struct {
	Form
	micros float64
}

// rank simulates all forms for a size, each in the width that suits it, the fastest first: roughly, and those that are near the best then well.
// seen, if any, is what a smaller size has shown of each form, and is brought to this one.
func (s *Selector) rank(bytes int64, seen []past) ([]timed, error) {
	forms, why := s.list()
	why = slices.Clone(why)
	all, errs := make([]timed, len(forms)), make([]error, len(forms))
	for i := range all {
		all[i].micros = math.Inf(1)
	}
	s.each(len(forms), func(i int) {
		likely := s.likely(bytes)
		if seen != nil && seen[i].behind {
			return
		}
		if errs[i] = s.divides(forms[i], bytes); errs[i] != nil {
			return
		}
		if seen != nil && seen[i].micros > 0 {
			likely = slices.Index(triedColumns, max(seen[i].columns, 1))
		}
		all[i], errs[i] = s.widest(forms[i], bytes, likely)
	})
	var list []timed
	for i := range all {
		if errs[i] != nil {
			why = append(why, &unexpanded{forms[i].String(), errs[i]})
		} else if !math.IsInf(all[i].micros, 1) {
			list = append(list, all[i])
		}
	}
	if len(list) == 0 {
		return nil, &noForms{s.Call, why}
	}
	best := slices.MinFunc(list, faster).micros
	for i := range seen {
		seen[i].goOn(all[i], best)
	}
	failed := make([]error, len(list))
	s.each(len(list), func(i int) {
		if t := &list[i]; t.micros <= near*best && !s.Rough {
			t.micros, failed[i] = s.time(t.Form, bytes, false)
		}
	})
	slices.SortStableFunc(list, faster)
	alike(list)
	return list, errors.Join(failed...)
}

// notAlike is what the header of an AllReduce says whose ranks may end with different bits.
var notAlike = regexp.MustCompile(`(?m)^# Bits: not the same`)

// differs says whether ranks may end with different bits by a program.
func differs(program string) bool {
	text, _ := algorithms.Open(program)
	return notAlike.Match(text)
}

// alike puts a form whose ranks end with the same bits before one that may not have them so, where it is as fast.
func alike(list []timed) {
	if !differs(list[0].Program) {
		return
	}
	for i := 1; i < len(list) && list[i].micros <= gain*list[0].micros; i++ {
		if !differs(list[i].Program) {
			same := list[i]
			copy(list[1:i+1], list[:i])
			list[0] = same
			return
		}
	}
}

// divides says why a runtime of XML would not run a call of a size by a form: its chunks must be of one length.
func (s *Selector) divides(f Form, bytes int64) error {
	if s.Target.Format != codegen.FormatXML {
		return nil
	}
	p, err := s.form(f)
	if err != nil {
		return err
	}
	if chunks := int64(p.Coll.Divisor()); bytes/int64(s.DType.Size())%chunks != 0 {
		return fmt.Errorf("%d chunks do not divide %d bytes of %v", chunks, bytes, s.DType)
	}
	return nil
}

// A past is what a size has shown of a form: what it took, how many times the best, and in how many columns.
type past struct {
	micros, ratio float64
	columns       int
	behind        bool // for good: see goOn
}

// goOn goes to a size twice as large or so. A form that takes more than twice the best's time there, about in proportion to the bytes, and is no nearer to
// it than before, does not come back as calls grow.
func (p *past) goOn(t timed, best float64) {
	if p.behind || math.IsInf(t.micros, 1) {
		return
	}
	ratio := t.micros / best
	p.behind = p.micros > 0 && ratio > 2 && t.micros > 1.6*p.micros && ratio >= 0.98*p.ratio
	p.micros, p.ratio, p.columns = t.micros, ratio, t.Columns
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

// widest simulates a form roughly, in as many columns as are worth it; likely is which of triedColumns these probably are.
func (s *Selector) widest(f Form, bytes int64, likely int) (timed, error) {
	if !s.OwnWidth && f.Sided == "" {
		f.Columns = triedColumns[likely]
	}
	t, err := s.time(f, bytes, true)
	best := timed{f, t}
	if err != nil || f.Columns == 0 {
		return best, err
	}
	for i := likely + 1; i < len(triedColumns) && worth(triedColumns[i], bytes); i++ {
		f.Columns = triedColumns[i]
		if t, err = s.time(f, bytes, true); err != nil || t*gain > best.micros {
			break
		}
		best = timed{f, t}
	}
	least := best.micros
	for i := likely - 1; i >= 0 && best.Columns == triedColumns[i+1] && err == nil; i-- {
		f.Columns = triedColumns[i]
		if t, err = s.time(f, bytes, true); err != nil || t > least*gain {
			break
		}
		best, least = timed{f, t}, min(least, t)
	}
	return best, err
}

// worth says whether calls of so many bytes are worth so many columns: each has some work for its threads, which is what the simulation does not count.
func worth(columns int, bytes int64) bool { return columns <= 4 || int64(columns)*512 <= bytes }

// likely is which of triedColumns the executor would take.
func (s *Selector) likely(bytes int64) int {
	chunk := bytes / int64(max(s.Call.Ranks, 1))
	i := 0
	for i+1 < len(triedColumns) && chunk >= int64(triedColumns[i+1])*executor.ColumnBytes {
		i++
	}
	return i
}

type timeKey struct {
	form  Form
	bytes int64
	rough bool
}

// time is what a simulation says of a form for a size.
func (s *Selector) time(f Form, bytes int64, rough bool) (float64, error) {
	proto, _ := ir.ProtocolByName(f.Protocol)
	if one := &s.Costs.OneSided; f.Sided == "" && one.Protocol[proto] == one.Protocol[ir.LL] {
		f.Protocol = ir.LL.String() // the same packets, as the costs have it
		proto = ir.LL
	}
	key := timeKey{f, bytes, rough}
	s.mu.Lock()
	t, ok := s.times[key]
	s.mu.Unlock()
	if ok {
		return t, nil
	}
	prog, err := s.form(f)
	if err != nil {
		return 0, err
	}
	p := *prog
	p.Protocol = proto
	r, err := simulate.Run(&p, s.Topology, s.Costs, simulate.Call{Bytes: bytes, DType: s.DType, Columns: f.Columns, Threads: f.Threads, Tile: f.Tile, Rough: rough})
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[timeKey]float64{}
	}
	s.times[key] = r.Micros
	return r.Micros, nil
}

// fastest is a form's time in the width that suits it.
func (s *Selector) fastest(f Form, bytes int64) (float64, error) {
	f.Columns = 0
	t, err := s.widest(f, bytes, s.likely(bytes))
	if err != nil {
		return math.Inf(1), err
	}
	return s.time(t.Form, bytes, false)
}
