package choose

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// A Selector says what is fastest on a topology, by simulation: for machines that nothing was measured on. Its programs
// run on a target; those of mscclc's own executor are one-sided, of other runtimes two-sided, in some numbers of
// instances.
type Selector struct {
	Call     Call
	Own      UserPrograms // the user's programs, beside the catalog
	OwnOnly  bool         // the catalog is left out
	Topology *topology.Topology
	Costs    *devices.Costs
	DType    data.DType
	Target   *codegen.Target // whose limits and collectives programs must fit
	By       simulate.Figure // what is fastest is so by this figure
	OwnWidth bool            // replicas are the executor's choice; else those that are the fastest
	Rough    bool            // simulations are only rough: to some 20 %
	Staged   *StagedBounds   // only staged programs, within these bounds; nil is all programs

	// Exhaustive has all forms that may serve compiled and simulated, near the best twice. Otherwise forms are simulated
	// in the order of their least times, up to the time of the best.
	Exhaustive bool

	Most int // stretches of Sizes; 0 is any number

	flat    bool // no program that takes numbers of nodes and GPUs
	oneLane bool // no program of several lanes, for comparisons

	// Stepped, where not nil, is called when one more size of Sizes is done.
	Stepped func()

	listing  sync.Once
	forms    []Form // in the order of the catalog's names, and without a width
	why      []error
	skipped  []string
	mu       sync.Mutex
	programs map[Form]*formed
	shapes   map[string]Shape
	demands  map[string]*demand // by program; nil where it is not known
	measured map[string]*measure
	times    map[timeKey]outcome
	differ   map[Form]bool // of the user's programs
}

// A Form is a variant, and of a two-sided program in how many instances.
type Form struct {
	selection.Choice
	Instances int `json:"instances,omitempty"`
}

func (f Form) String() string {
	if f.Instances > 1 {
		return fmt.Sprintf("%v x%d", f.Choice, f.Instances)
	}
	return f.Choice.String()
}

// program returns what of f makes another program: all but its width.
func (f Form) program() Form {
	f.Choice = f.Choice.Plain()
	return f
}

type formed struct {
	once   sync.Once
	prog   *either.Program
	chunks int // that a call's buffer is cut into
	err    error
}

// ErrNothing is part of the error where no program of the catalog serves a call on a target.
var ErrNothing = errors.New("the catalog has nothing for it")

// noForms is why no program serves.
type noForms struct {
	call Call
	why  []error
}

func (e *noForms) Error() string {
	return errors.Join(append([]error{fmt.Errorf("%v of %s: %w", e.call.Kind, e.call.ranksText(), ErrNothing)},
		e.why...)...).Error()
}

func (e *noForms) Unwrap() []error { return append([]error{ErrNothing}, e.why...) }

// How many chunks a program moves that is not looked at where another one has as little to do (big), or where there is
// a smaller one at all (huge): these take seconds to compile.
const (
	big  = 1 << 13
	huge = 1 << 16
)

// list finds the forms that may serve, once.
func (s *Selector) list() ([]Form, []error) {
	s.listing.Do(func() {
		s.shapes, s.demands = map[string]Shape{}, map[string]*demand{}
		own, plans := s.Target.Format == codegen.FormatProgram, s.plans()
		variants := s.Own.Own()
		if !s.OwnOnly {
			variants = append(s.catalog(), variants...)
		}
		s.measureAll(variants)
		for _, v := range variants {
			_, given, _ := s.Own.compiled(v.Program, s.Call)
			if v.Sided == selection.TwoSided && v.Protocol == ir.Simple && s.Call.On != "" && !given {
				v.Sided = selection.Lowered
			}
			switch {
			case s.Staged != nil && (given || v.Sided != selection.OneSided),
				plans && !(given && s.Own.plan(v.Program) != nil || !given && planned(v)),
				!plans && own != (v.Sided != selection.TwoSided) && !(own && given):
				continue
			case v.Protocol.Row().Lines && !s.Topology.WholeLines(), !s.expands(v.Program):
				continue
			}
			if s.Staged != nil {
				v.Placement, v.Tile = selection.Staged, s.Staged.Tile
			} else if s.Topology.Apart && v.Sided == selection.OneSided {
				v.Placement = selection.Staged
			}
			if own || given {
				s.forms = append(s.forms, Form{Choice: v})
				if !given && !s.oneLane {
					s.forms = append(s.forms, withLanes(v, s.Own.own(v.Program) != nil)...)
				}
			} else if v.Protocol.Row().Runtimes {
				for _, n := range triedInstances {
					s.forms = append(s.forms, Form{v, n})
				}
			}
		}
		s.forms = slices.DeleteFunc(s.forms, func(f Form) bool { return s.skips(f.Program) })
	})
	return s.forms, s.why
}

// expands reports whether a program is for the call, and keeps its shape.
func (s *Selector) expands(program string) bool {
	is := s.measured[program]
	if is == nil {
		return false
	}
	if is.err != nil {
		if !slices.ContainsFunc(s.why, func(err error) bool { return err.(*unexpanded).program == program }) {
			s.why = append(s.why, &unexpanded{program, is.err})
		}
		return false
	}
	s.shapes[program], s.demands[program] = is.Shape, is.demand
	return true
}

// An unexpanded is a program that is not for a call.
type unexpanded struct {
	program string
	err     error
}

func (e *unexpanded) Error() string { return e.program + ": " + e.err.Error() }
func (e *unexpanded) Unwrap() error { return e.err }

// skips reports whether a program of the catalog is too large to be looked at.
func (s *Selector) skips(program string) bool {
	if s.Own.own(program) != nil || !s.Exhaustive {
		return false
	}
	a := s.shapes[program]
	for other, b := range s.shapes {
		if b.Moved == 0 && a.Moved > 0 { // what a compiled program moves is not known
			continue
		}
		smaller := a.Moved > huge && b.Moved < a.Moved && b.Moved <= huge
		less := a.Moved > big && s.Call.Nodes < 2 && 2*b.Rounds <= a.Rounds && b.Volume <= a.Volume && b.Moved <= huge
		if other != program && (smaller || less) {
			if !slices.Contains(s.skipped, program) {
				s.skipped = append(s.skipped, program)
			}
			return true
		}
	}
	return false
}

// Skipped returns the programs that would serve but are not looked at: they move so many chunks that they take seconds
// to compile, and others move fewer.
func (s *Selector) Skipped() []string {
	s.list()
	return s.skipped
}

// Program compiles that of a form, and proves it.
func (s *Selector) Program(f Form) (*either.Program, error) {
	p, _, err := s.compile(f, false)
	return p, err
}

// Chunks returns the chunks that a call's buffer is cut into by a form's program.
func (s *Selector) Chunks(f Form) (int, error) {
	_, chunks, err := s.cutForm(f)
	return chunks, err
}

// form compiles f's program for the simulation, once, and unproven. What does not fit in some instances does not in
// more.
func (s *Selector) form(f Form) (*either.Program, error) {
	p, _, err := s.cutForm(f)
	return p, err
}

// cutForm is form, with the chunks that a call's buffer is cut into.
func (s *Selector) cutForm(f Form) (*either.Program, int, error) {
	f.Protocol = s.alike(f)
	key := f.program()
	s.mu.Lock()
	at := s.programs[key]
	if at == nil {
		at = &formed{}
		if s.programs == nil {
			s.programs = map[Form]*formed{}
		}
		s.programs[key] = at
	}
	s.mu.Unlock()
	at.once.Do(func() {
		if fewer := f; f.Instances > 1 {
			fewer.Instances /= 2
			if _, at.err = s.form(fewer); at.err != nil {
				return
			}
		}
		at.prog, at.chunks, at.err = s.compile(f, true)
	})
	return at.prog, at.chunks, at.err
}

// alike returns the protocol whose program f's is but for the protocol: one-sided programs of all packets are lowered
// alike, and two-sided ones of as many slots.
func (s *Selector) alike(f Form) ir.Protocol {
	if f.Protocol == ir.LL128 || f.Sided != selection.TwoSided && f.Protocol != ir.Simple {
		return ir.LL
	}
	return f.Protocol
}

func (s *Selector) compile(f Form, unproven bool) (*either.Program, int, error) {
	if p, given, err := s.Own.compiled(f.Program, s.Call); given {
		if o := s.Own.plan(f.Program); err == nil && o != nil && s.plans() {
			return p, o.PlanChunks, nil
		}
		if err != nil {
			return nil, 0, err
		}
		return p, p.Coll.Divisor(), mscclc.Fits(p, s.Target).Err()
	}
	p, err := s.compileText(f, unproven)
	if err != nil {
		return nil, 0, err
	}
	if s.plans() {
		return s.planOf(f, p, unproven)
	}
	return p, p.Coll.Divisor(), mscclc.Fits(p, s.Target).Err()
}

// compileText compiles the text of f's program for the target; what plans are made of is not proven yet.
func (s *Selector) compileText(f Form, unproven bool) (*either.Program, error) {
	if s.Staged != nil {
		return s.Own.staged(f.Choice, s.Call)
	}
	tree, opt, err := s.Own.algorithm(f.Program, s.Call)
	if err != nil {
		return nil, err
	}
	opt.OneSided, opt.Lowered, opt.Target, opt.Unproven = f.Sided == selection.OneSided,
		f.Sided == selection.Lowered, s.Target, unproven
	opt.Nodes = s.Call.nodeOf()
	opt.Lang.Protocol, opt.Passes.Instances = &f.Protocol, f.Instances
	f.Into(&opt.Core)
	if s.plans() {
		node := s.Call.nodesOfPlan()
		opt.Unproven, opt.Nodes = true, func(int) ([]int32, error) { return node, nil }
	}
	p, err := mscclc.CompileFile(tree, opt)
	if err == nil {
		unseat(p, f.Program)
	}
	return p, err
}
