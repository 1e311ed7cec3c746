package choose

import (
	"errors"
	"fmt"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/passes/core"
	"mscclc/selection"
)

// ErrNotStaged is part of the error where a variant has no staged program.
var ErrNotStaged = errors.New("it cannot be staged")

// HasInPlace reports whether a collective has an in-place form.
func HasInPlace(kind ir.Kind) bool { return kind != ir.AllToAll && kind != ir.SendRecv }

// StagedCandidates returns the variants of the catalog that Compile may stage for calls like c: one-sided, without a
// port.
func StagedCandidates(c Call) []selection.Choice {
	nodes := 1
	if c.On != "" && c.blocks() {
		nodes = c.Nodes
	}
	var list []selection.Choice
	for _, v := range candidates(c.Kind, nodes) {
		if v.Sided == selection.OneSided {
			v.Placement = selection.Staged
			list = append(list, v)
		}
	}
	return list
}

// ForBoth returns a program of a collective that prove proves for calls in place and out of place. It takes the first
// such of three: the one compiled for calls out of place; the one for calls in place; the one that keeps the order of
// both (core.Options.Both). The last has the most synchronisation. compile compiles with these options. An error says
// what is wrong with the last one that was tried.
func ForBoth(kind ir.Kind, compile func(inplace, both bool) (*either.Program, error),
	prove func(*either.Program) error) (p *either.Program, err error) {
	ways := [3]struct{ inplace, both bool }{{false, false}, {true, false}, {false, true}}
	for i, way := range ways {
		if i > 0 && !HasInPlace(kind) {
			break
		}
		p, err = compile(way.inplace, way.both)
		if err != nil && i == 0 {
			break
		}
		if err == nil {
			p.InPlace, p.OutOfPlace = HasInPlace(kind), true
			err = prove(p)
		}
		if err == nil {
			return p, nil
		}
	}
	return nil, err
}

// staged compiles v, staged or direct, such that one program serves calls like c in place and out of place, as ForBoth
// says. It fails if there is none, and if ranks of an AllReduce end with different bits.
func (s UserPrograms) staged(v selection.Choice, c Call) (*either.Program, error) {
	if v.Sided != selection.OneSided || v.Via != ir.ViaAny {
		return nil, fmt.Errorf("%v is two-sided or copies by a port: %w", v, ErrNotStaged)
	}
	prove := ProveStaged
	if v.Placement == selection.Direct {
		prove = ProveDirect
	}
	if node := c.on(); node != nil {
		alone := prove
		prove = func(p *either.Program) error {
			if err := alone(p); err != nil {
				return err
			}
			return verify.AcrossNodes(p, node).Err()
		}
	}
	if c.Inplace && !HasInPlace(c.Kind) {
		return nil, fmt.Errorf("%v: %w", c.Kind, ErrNotInPlace)
	}
	p, err := ForBoth(c.Kind, func(inplace, both bool) (*either.Program, error) {
		call := c
		call.Inplace = inplace
		return s.compileAs(v, call, mscclc.Options{Core: core.Options{Staged: v.Placement == selection.Staged,
			Both: both}, Unproven: true})
	}, prove)
	if err != nil {
		return nil, errors.Join(ErrNotStaged, err)
	}
	return p.Called(c.Inplace), nil
}

// ProveStaged proves a staged program for the calls that it is for: in place, out of place, or each mix of the two. It
// fails if a rank reaches input or output of another, and if ranks of an AllReduce end with different bits. An error is
// a diag.List.
func ProveStaged(p *either.Program) error {
	if !p.Staged() {
		return refuse(p, "compile it with --staged", "%s reaches input and output of other ranks")
	}
	if err := ProveDirect(p); err != nil || !p.InPlace || !p.OutOfPlace {
		return err
	}
	return mixes(p)
}

// ProveDirect proves a program that may reach input and output of other ranks, for the calls that it is for: those in
// which all ranks are in place, and those in which none is. It fails if ranks of an AllReduce end with different bits.
// An error is a diag.List.
func ProveDirect(p *either.Program) error {
	if _, found := verify.Check(p, verify.Options{}); found.Err() != nil {
		return found
	}
	if p.Coll.Kind == ir.AllReduce && !SameBits(p) {
		return refuse(p, "mscclc verify --bitwise shows where", "ranks end with different bits of %s")
	}
	return nil
}

// refuse says what keeps p, which the format names, from being used.
func refuse(p *either.Program, hint, format string) error {
	return diag.List{diag.New(diag.Unsupported, p.Declaration, format, p.Name).WithHint("%s", hint)}
}

// SameBits reports whether all ranks of p end with the same bits, in the calls in place and out of place that p is for.
func SameBits(p *either.Program) bool {
	for _, inplace := range [2]bool{false, true} {
		if (inplace && p.InPlace) || (!inplace && p.OutOfPlace) {
			if order := bitwise.OrderOf(p.Called(inplace)); !order.Same() {
				return false
			}
		}
	}
	return true
}

// This file extends two proofs, that all ranks may be in place and that none need be, to calls in which each rank
// decides for itself.
//
// Lemma. Let p be staged, and proven for calls in which all ranks are in place, and for calls in which none is. Let no
// step write input, and let each step that reads a chunk of input find there what the call began with, where all ranks
// are in place too. Then p is right in every mix.
//
//   - What waits for what depends on no placement, so that p ends, and scratch and packets have no races, as before.
//   - Only steps of its own rank access a rank's input and output. A race in them is one in the proof of that rank's
//     placement.
//   - Every step reads the same values in every mix. Take them in an order in which they may end. A chunk of input
//     holds what the call began with. A chunk of output that is read was written before, or the proof out of place
//     rejects the read, and the last write is the same in every mix, as no step writes input. So it is with scratch and
//     packets.
//
// So outputs are the same in every mix, and so is the order of sums.

// mixes says why the lemma is not for p, or returns nil. p is proven for calls in place, and its order of steps may be
// any in which they may end: reads and writes of one chunk are ordered.
func mixes(p *either.Program) error {
	bad := func(i int32, what string) error {
		d := diag.New(diag.Unsupported, p.Span(p.Steps[i].Pos), "%s %s", p.StepName(i), what)
		return diag.List{d.WithHint("in a bundle each rank may be in place or not: read input before output is written")}
	}
	q := p.Called(true)
	mem, links := q.Memory(), eval.Link(q.OneSided)
	order, _ := links.Schedule(q.OneSided).Run()
	changed := make([]bool, mem.Len()) // cells of input that hold something else
	for _, i := range order {
		s := &q.Steps[i]
		if !s.Op.Moves() {
			continue
		}
		sources, dests := q.OneSided.Sources(s), q.OneSided.Dests(s)
		for k := range int(s.Count) {
			at := func(x *onesided.Operand) int { return mem.Cell(int(x.Rank), x.Buf, int(x.Index)+k) }
			for n := range sources {
				if x := &sources[n]; x.Buf == ir.Input && changed[at(x)] {
					return bad(i, "reads input that is written before, where a call is in place")
				}
			}
			for n := range dests {
				x := &dests[n]
				switch {
				case x.Buf == ir.Input:
					return bad(i, "writes input")
				case x.Buf == ir.Output && (len(sources) != 1 || at(&sources[0]) != at(x)):
					changed[at(x)] = true
				}
			}
		}
	}
	return nil
}
