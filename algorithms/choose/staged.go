package choose

import (
	"errors"
	"fmt"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/verify"
	"mscclc/passes/core"
)

// ErrNotStaged is part of the error where a variant has no staged program.
var ErrNotStaged = errors.New("it cannot be staged")

// HasInPlace reports whether a collective has an in-place form.
func HasInPlace(kind ir.Kind) bool { return kind != ir.AllToAll && kind != ir.SendRecv }

// StagedCandidates returns the variants of the catalog that Compile may stage: one-sided, without a port.
func StagedCandidates(kind ir.Kind) []Variant {
	var list []Variant
	for _, v := range Candidates(kind) {
		if v.Sided == "" {
			v.Staged = true
			list = append(list, v)
		}
	}
	return list
}

// staged compiles v such that one program serves calls like c in place and out of place, and proves both. It compiles
// for calls out of place if that program is right in place too, and else for calls in place. It fails if neither
// program serves both, and if ranks of an AllReduce end with different bits.
func (s Shelf) staged(v Variant, c Call) (*ir.Program, error) {
	if v.Sided != "" || v.Via != "" {
		return nil, fmt.Errorf("%v is two-sided or copies by a port: %w", v, ErrNotStaged)
	}
	if c.Inplace && !HasInPlace(c.Kind) {
		return nil, fmt.Errorf("%v: %w", c.Kind, ErrNotInPlace)
	}
	why := ErrNotStaged
	for _, inplace := range [2]bool{false, true} {
		if inplace && !HasInPlace(c.Kind) {
			break
		}
		call := c
		call.Inplace = inplace
		p, err := s.compileAs(v, call, mscclc.Options{Core: core.Options{Staged: true}, Unproven: true})
		if err == nil {
			err = provenStaged(p)
		}
		if err == nil {
			return p.Called(c.Inplace), nil
		}
		why = errors.Join(why, err)
	}
	return nil, why
}

// provenStaged proves p for calls in place, where its collective has such, and out of place, and marks it as such.
func provenStaged(p *ir.Program) error {
	if !p.Staged() {
		return errors.New("a rank reaches input or output of another")
	}
	p.InPlace, p.OutOfPlace = HasInPlace(p.Coll.Kind), true
	if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
		return list.Err()
	}
	for _, inplace := range [2]bool{false, true} {
		if order := bitwise.OrderOf(p.Called(inplace)); p.Coll.Kind == ir.AllReduce && !order.Same() {
			return errors.New("ranks end with different bits")
		}
	}
	return nil
}
