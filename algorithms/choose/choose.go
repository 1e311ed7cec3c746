package choose

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/selection"
	"mscclc/simulate"
	"mscclc/topology"
)

// A Chooser finds the variant for a call: by the first of Given, Here and Table that has a rule, else by simulation on
// the network of Here, or on the Machine of the device. What was simulated once is kept, and only what is chosen is
// proven. Its methods may be called at once.
type Chooser struct {
	Given  *selection.Table // the user's, or nil
	Here   *Here            // of the hosts of the call, or nil
	Table  *selection.Table
	Device string       // as its driver names it, or cpu
	Own    UserPrograms // the user's programs, beside the catalog

	// By is the figure by which simulation chooses where no table does. The times of tables are intervals.
	By simulate.Figure

	// Apart says that GPUs of a node do not reach each other's memory. Built-in rules are of machines whose GPUs do.
	Apart bool

	// Shared says that several ranks are on one GPU, which has room for fewer replicas: these are then left to the
	// executor, as they are on the CPU.
	Shared bool

	Exhaustive bool // simulations have all variants compared, as Selector says

	mu        sync.Mutex
	built     map[builtKey]*built
	shaped    map[shapedKey]*shaped
	selectors map[selectorKey]*Selector
}

// A builtKey is a variant, whatever its width, for calls.
type builtKey struct {
	variant selection.Choice
	call    Call
}

type built struct {
	program *either.Program
	err     error
}

type shapedKey struct {
	program string
	call    Call
}

type shaped struct {
	Shape
	err error
}

type selectorKey struct {
	call    Call
	element int
}

// Program compiles v for calls like call, and proves it.
func (c *Chooser) Program(v selection.Choice, call Call) (*either.Program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := builtKey{v.Plain(), call}
	b := c.built[key]
	if b == nil {
		b = &built{}
		b.program, b.err = c.Own.compile(v, call)
		if c.built == nil {
			c.built = map[builtKey]*built{}
		}
		c.built[key] = b
	}
	return b.program, b.err
}

// Shape returns the shape of a program for calls like call; that of a user's compiled one is empty.
func (c *Chooser) Shape(program string, call Call) (Shape, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := shapedKey{program, call}
	s := c.shaped[key]
	if s == nil {
		s = &shaped{}
		s.Shape, s.err = c.Own.shape(program, call)
		if c.shaped == nil {
			c.shaped = map[shapedKey]*shaped{}
		}
		c.shaped[key] = s
	}
	return s.Shape, s.err
}

// Differs reports whether some ranks end with sums of other bits than others by v; see Selector.Differs.
func (c *Chooser) Differs(v selection.Choice, call Call) bool {
	s, err := c.selector(call, 2)
	return err == nil && s.Differs(Form{Choice: v})
}

// ErrNotInPlace is part of the error where no program of the catalog runs in place.
var ErrNotInPlace = errors.New("it is not to be had in place")

// Choose returns the variant for a call of a given number of bytes, and whether a table said so.
func (c *Chooser) Choose(call Call, bytes int64, element int) (v selection.Choice, measured bool, err error) {
	for _, r := range c.rules(call, bytes, element) {
		if _, err := c.Program(r.Choice, call); err == nil {
			return r.Choice, r.by.Measured(), nil
		}
	}
	ranked, _, err := c.Ranked(call, bytes, element)
	if err != nil {
		return v, false, err
	}
	for _, v := range ranked {
		if _, failed := c.Program(v, call); failed == nil {
			return v, false, nil
		} else {
			err = errors.Join(err, fmt.Errorf("%v: %w", v, failed))
		}
	}
	return v, false, err
}

// Ranked returns the forms that there are for a call, with what the simulation says of each in the width that suits it,
// the fastest first.
func (c *Chooser) Ranked(call Call, bytes int64, element int) (list []selection.Choice, micros []float64, err error) {
	s, err := c.selector(call, element)
	if err != nil {
		return nil, nil, err
	}
	ranked, err := s.rank(bytes, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("no %v of %s: %w", call.Kind, call.ranksText(), unplaced(err))
	}
	for _, t := range ranked {
		list, micros = append(list, t.Choice), append(micros, t.micros)
	}
	return list, micros, nil
}

// unplaced adds ErrNotInPlace where that is what is wrong with every program.
func unplaced(err error) error {
	var list *noForms
	if !errors.As(err, &list) || len(list.why) == 0 {
		return err
	}
	for _, why := range list.why {
		var found diag.List
		if !errors.As(why, &found) || found[0].Code != diag.NotInPlace {
			return err
		}
	}
	return errors.Join(ErrNotInPlace, err)
}

// soonRanks are those that a choice among is soon made: of more, programs are so large that only a rough simulation is
// soon over.
const soonRanks = 16

// selector simulates calls like call of elements of a given number of bytes.
func (c *Chooser) selector(call Call, element int) (*Selector, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := selectorKey{call, element}
	if s := c.selectors[key]; s != nil {
		return s, nil
	}
	t, costs, err := c.machine(call)
	if err != nil {
		return nil, err
	}
	plan, err := codegen.TargetByName("program")
	if err != nil {
		return nil, err
	}
	s := &Selector{Call: call.inBlocks(), Topology: t, Costs: costs, DType: typeOf(element), Target: plan, By: c.By,
		Own: c.Own, flat: !call.blocks(), Exhaustive: c.Exhaustive}
	s.Rough = call.Ranks > soonRanks
	s.OwnWidth = c.Shared || c.Device == "cpu" || s.Rough
	if c.selectors == nil {
		c.selectors = map[selectorKey]*Selector{}
	}
	c.selectors[key] = s
	return s, nil
}

// Topology returns what calls like call are simulated on.
func (c *Chooser) Topology(call Call) (*topology.Topology, error) {
	t, _, err := c.machine(call)
	return t, err
}

// typeOf returns a type of elements of a given number of bytes.
func typeOf(element int) data.DType {
	for _, t := range []data.DType{data.BF16, data.F32, data.F64, data.I8} {
		if t.Size() == element {
			return t
		}
	}
	return data.BF16
}

// Unfit says, at the rules of a table's entry, which of them no call like call can follow: their
// programs do not expand for it, or, of rules for one of some sizes, do not compile.
func (c *Chooser) Unfit(e *selection.Entry, call Call, sizes []int64) diag.List {
	var found diag.List
	judged := map[selection.Choice]bool{}
	for i, r := range e.Rules {
		v := r.Choice.Plain()
		used := slices.ContainsFunc(sizes, func(n int64) bool { return e.Index(n) == i })
		if judged[v] || !used && judged[selection.Choice{Program: v.Program}] {
			continue
		}
		_, err := c.Shape(v.Program, call)
		judged[selection.Choice{Program: v.Program}] = true
		if err == nil && used {
			judged[v] = true
			_, err = c.Program(v, call)
		}
		if err != nil {
			found = append(found, unfit(r, call, err))
		}
	}
	return found
}

// unfit is why a rule is not for a call.
func unfit(r selection.Rule, call Call, why error) diag.Diagnostic {
	code, text := diag.Unsupported, why.Error()
	var list diag.List
	known := errors.As(why, &list) && len(list) > 0
	if known {
		code, text = list[0].Code, list[0].Text
	}
	where := "out of place"
	if call.Inplace {
		where = "in place"
	}
	d := diag.New(code, r.Span, "%v is not to be had for %s %s: %s", r.Choice, call.ranksText(), where, text)
	if known && list[0].Span.Line > 0 {
		d = d.WithNote(list[0].Span, "that is said here")
	}
	return d
}
