package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/simulate"
	"mscclc/topology"
)

// A Selector says what is fastest on a topology, by simulation: for machines that nothing was measured on. Its programs run on a target;
// those of mscclc's own executor are one-sided, of other runtimes two-sided, in some numbers of instances.
type Selector struct {
	Call     Call
	Topology *topology.Topology
	Costs    *simulate.Costs
	DType    executor.DType
	Target   *codegen.Target // whose limits and collectives programs must fit

	// Stepped, where not nil, hears that one more size of Sizes is done.
	Stepped func()

	mu       sync.Mutex
	programs map[formKey]*formed
	times    map[timeKey]float64
}

// A Form is a variant, and of a two-sided program in how many instances.
type Form struct {
	Variant
	Instances int `json:"instances,omitempty"`
}

func (f Form) String() string {
	if f.Instances > 1 {
		return fmt.Sprintf("%v x%d", f.Variant, f.Instances)
	}
	return f.Variant.String()
}

// program is what of f makes another program: all but its width.
func (f Form) program() formKey {
	return formKey{f.Program, f.Sided, f.Protocol, f.Instances}
}

type formKey struct {
	program, sided, protocol string
	instances                int
}

type formed struct {
	once  sync.Once
	prog  *ir.Program
	shape Shape
	err   error
}

type timeKey struct {
	form  Form
	bytes int64
}

// A Stretch is a range of sizes, from From to below To, 0 being all above, that one program is the fastest for.
type Stretch struct {
	From, To int64
	Form
	Micros float64 // at From, or at the first size that was asked for
	Next   Form    // the second fastest program there
	Behind float64 // how many times as long that takes
	Reason string  // why it begins where it does; "" of the first
}

// same is how many times as long as the fastest a program may take that was the fastest for smaller calls, and stays.
const same = 1.02

// ErrNothing is part of the error where no program of the catalog serves a call on a target.
var ErrNothing = errors.New("the catalog has nothing for it")

// Sizes says what is fastest at some sizes, which ascend, and where one gives way to the next.
func (s *Selector) Sizes(sizes []int64) ([]Stretch, error) {
	ranked := make([][]timed, len(sizes))
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, bytes := range sizes {
		group.Go(func() (err error) {
			ranked[i], err = s.rank(bytes)
			if s.Stepped != nil {
				s.Stepped()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var list []Stretch
	for i, bytes := range sizes {
		best := ranked[i][0]
		if n := len(list); n > 0 && slices.ContainsFunc(ranked[i], func(t timed) bool {
			return t.program() == list[n-1].program() && t.micros <= same*best.micros
		}) {
			continue
		}
		at := Stretch{From: bytes, Form: best.Form, Micros: best.micros}
		at.Next, at.Behind = runnerUp(ranked[i])
		if n := len(list); n > 0 {
			before := &list[n-1]
			at.From = s.boundary(before.Form, best.Form, sizes[i-1], bytes)
			at.Reason = s.reason(before.Form, best.Form)
			before.To = at.From
		}
		list = append(list, at)
	}
	return list, nil
}

func runnerUp(list []timed) (Form, float64) {
	for _, t := range list[1:] {
		if t.program() != list[0].program() {
			return t.Form, t.micros / list[0].micros
		}
	}
	return Form{}, 0
}

type timed struct {
	Form
	micros float64
}

// Widths that are tried. A launch has a block an SM at most, of which the least that known machines have is 80.
var (
	triedColumns   = []int{1, 4, 16, 64, 128}
	triedInstances = []int{1, 2, 4, 8, 16}
)

// far is how many times as long as the fastest something takes that no other width is tried of.
const far = 3

// rank simulates all forms for a size, the fastest first.
func (s *Selector) rank(bytes int64) ([]timed, error) {
	var list []timed
	var why error
	best := math.Inf(1)
	for _, f := range s.forms() {
		fastest := math.Inf(1)
		for i, wide := range s.widths(f, bytes) {
			t, err := s.time(wide, bytes)
			if err != nil {
				why = errors.Join(why, fmt.Errorf("%v: %w", f, err))
				break
			}
			list = append(list, timed{wide, t})
			fastest = min(fastest, t)
			if i >= 1 && fastest > far*best {
				break
			}
		}
		best = min(best, fastest)
	}
	if len(list) == 0 {
		return nil, errors.Join(fmt.Errorf("%v of %d ranks: %w", s.Call.Kind, s.Call.Ranks, ErrNothing), why)
	}
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(a.micros, b.micros) })
	return list, nil
}

// forms are the programs that may serve, each without a width.
func (s *Selector) forms() (list []Form) {
	own := s.Target.Format == codegen.FormatPlan
	for _, v := range candidates(s.Call.Kind, flat, nodal) {
		proto, _ := ir.ProtocolByName(v.Protocol)
		text, _ := algorithms.Open(v.Program)
		switch {
		case !flat.Match(text) && s.Call.Nodes < 2, own != (v.Sided == ""), !own && proto == ir.LL16:
		case own:
			list = append(list, Form{Variant: v})
		default:
			for _, n := range triedInstances {
				list = append(list, Form{v, n})
			}
		}
	}
	return list
}

// widths are those that are tried of a form for a size, the likeliest first.
func (s *Selector) widths(f Form, bytes int64) (list []Form) {
	if f.Sided != "" {
		return []Form{f}
	}
	chunk := bytes / int64(max(s.Call.Ranks, 1))
	likely := 4
	for _, n := range triedColumns {
		if chunk >= int64(n)*8<<10 {
			likely = n
		}
	}
	columns := slices.Clone(triedColumns)
	slices.SortStableFunc(columns, func(a, b int) int {
		return cmp.Compare(math.Abs(math.Log(float64(a)/float64(likely))), math.Abs(math.Log(float64(b)/float64(likely))))
	})
	f.Threads, f.Tile = 512, 64<<10
	if bytes >= 64<<20 {
		f.Tile = 256 << 10
	}
	for _, n := range columns {
		f.Columns = n
		list = append(list, f)
	}
	return list
}

// time is what a simulation says of a form for a size.
func (s *Selector) time(f Form, bytes int64) (float64, error) {
	key := timeKey{f, bytes}
	s.mu.Lock()
	t, ok := s.times[key]
	s.mu.Unlock()
	if ok {
		return t, nil
	}
	at := s.form(f)
	if at.err != nil {
		return 0, at.err
	}
	r, err := simulate.Run(at.prog, s.Topology, s.Costs, simulate.Call{Bytes: bytes, DType: s.DType, Columns: f.Columns, Threads: f.Threads, Tile: f.Tile})
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

// Program is that of a form.
func (s *Selector) Program(f Form) (*ir.Program, error) {
	at := s.form(f)
	return at.prog, at.err
}

// form compiles f's program, once.
func (s *Selector) form(f Form) *formed {
	key := f.program()
	s.mu.Lock()
	at := s.programs[key]
	if at == nil {
		at = &formed{}
		if s.programs == nil {
			s.programs = map[formKey]*formed{}
		}
		s.programs[key] = at
	}
	s.mu.Unlock()
	at.once.Do(func() { at.prog, at.shape, at.err = s.compile(f) })
	return at
}

func (s *Selector) compile(f Form) (*ir.Program, Shape, error) {
	chunks, err := expand(f.Program, s.Call)
	if err != nil {
		return nil, Shape{}, err
	}
	text, err := algorithms.Open(f.Program)
	if err != nil {
		return nil, Shape{}, err
	}
	proto, _ := ir.ProtocolByName(f.Protocol)
	opt := mscclc.Options{Lang: s.Call.options(text), OneSided: f.Sided == "", Target: s.Target}
	opt.Lang.Protocol, opt.Passes.Instances = &proto, f.Instances
	p, err := mscclc.Compile(f.Program+".mscl", text, opt)
	if err == nil {
		err = codegen.Fits(p, s.Target).Err()
	}
	return p, ShapeOf(chunks), err
}

// boundary is the size from which b is faster than a, which is between two sizes, to 6 %.
func (s *Selector) boundary(a, b Form, below, above int64) int64 {
	for range 4 {
		middle := int64(math.Sqrt(float64(below) * float64(above)))
		middle -= middle % 16
		if middle <= below || middle >= above {
			break
		}
		ta, err1 := s.fastest(a, middle)
		tb, err2 := s.fastest(b, middle)
		if err1 != nil || err2 != nil {
			break
		}
		if tb < ta {
			above = middle
		} else {
			below = middle
		}
	}
	return above
}

// fastest is a form's time by the width that is best.
func (s *Selector) fastest(f Form, bytes int64) (best float64, err error) {
	best = math.Inf(1)
	for _, wide := range s.widths(f, bytes) {
		t, err := s.time(wide, bytes)
		if err != nil {
			return 0, err
		}
		best = min(best, t)
	}
	return best, nil
}

// reason says why b follows a as calls grow.
func (s *Selector) reason(a, b Form) string {
	sa, sb := s.form(a).shape, s.form(b).shape
	var words []string
	if sb.Volume < sa.Volume*0.99 {
		words = append(words, fmt.Sprintf("sends %.3gx of the buffer instead of %.3gx", sb.Volume, sa.Volume))
	}
	if a.Protocol != b.Protocol {
		words = append(words, fmt.Sprintf("%s instead of %s: %s", b.Protocol, a.Protocol, protocolReason(b.Protocol)))
	}
	if sb.Peers < sa.Peers && sb.Volume <= sa.Volume*1.01 {
		words = append(words, fmt.Sprintf("to %d at a time instead of %d", sb.Peers, sa.Peers))
	}
	if b.Instances > a.Instances {
		words = append(words, fmt.Sprintf("%d instances keep more blocks busy than %d", b.Instances, a.Instances))
	}
	if sb.Rounds > sa.Rounds && len(words) > 0 {
		words = append(words, fmt.Sprintf("for %d rounds instead of %d", sb.Rounds, sa.Rounds))
	}
	if len(words) == 0 && sb.Rounds < sa.Rounds {
		words = append(words, fmt.Sprintf("%d rounds instead of %d", sb.Rounds, sa.Rounds))
	}
	if len(words) == 0 {
		return "the links that it uses are less shared"
	}
	return strings.Join(words, ", ")
}

// protocolReason is what a protocol is good at.
func protocolReason(name string) string {
	switch name {
	case ir.Simple.String():
		return "no flags among the data, and signals cost less than those by now"
	case ir.LL128.String():
		return "120 of 128 bytes are data"
	}
	return "data that brings its own flag waits for nothing"
}
