// Package proof keeps what is proven of a program, and proves more when a call needs more.
//
// [New] makes a [Prover] of a program. [Prover.Prove] proves the program for the protocol, the slots and the range of
// sizes that the program itself states. [Prover.Cover] proves what one call needs beyond this, such as another
// protocol. The proofs of large programs are kept in a cache on disk. MSCCLC_CACHE names the folder of the cache, or
// turns the cache off.
package proof

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A Demand is what a run asks of a program besides its steps: whether they end,
// and whether they race, depends on it.
type Demand struct {
	Protocol ir.Protocol
	Slots    int // messages that a connection holds
	Chunks   int // that a message holds, at least
}

// covers reports whether what is proven for d holds for want. More slots and more
// chunks a message only let more steps go on; messages of more chunks order no
// less, and packets are judged by the longest; and a message that releases makes
// visible what came before it, where a packet does not.
func (d Demand) covers(want Demand) bool {
	return (!d.Protocol.Releases() || want.Protocol.Releases()) && d.Slots <= want.Slots && d.Chunks <= want.Chunks
}

// A Prover keeps what is proven of one program. One goroutine at a time may call its methods.
type Prover struct {
	p        *either.Program
	check    verify.Options
	unproven bool // nothing is asked
	proven   []Demand
	cache    func() *cache // of proofs of large programs; it may return nil
}

// New makes the Prover of a program, which must not change. opt has the budgets of its proofs.
func New(p *either.Program, opt verify.Options) *Prover {
	return &Prover{p: p, check: opt, cache: userCache}
}

// None makes a Prover that takes a program without any proof.
func None(p *either.Program) *Prover { return &Prover{p: p, unproven: true} }

// Proven returns what is proven so far.
func (v *Prover) Proven() []Demand { return v.proven }

// Prove proves the program for the protocol, the slots and the sizes of its own header.
func (v *Prover) Prove() error {
	if v.unproven {
		return nil
	}
	return v.prove(v.p, v.check)
}

// Cover proves the program for what one call asks, unless that follows from what is proven. An error of the proof has a
// hint that says how the call differs.
func (v *Prover) Cover(want Demand) error {
	if v.unproven {
		return nil
	}
	for _, d := range v.proven {
		if d.covers(want) {
			return nil
		}
	}
	p := v.p.Copy()
	p.Protocol = want.Protocol
	opt := v.check
	opt.Slots, opt.MessageChunks = want.Slots, want.Chunks
	err := v.prove(p, opt)
	if found, ok := err.(diag.List); ok {
		for i := range found {
			if found[i].Hint == "" {
				found[i].Hint = v.differs(want)
			}
		}
	}
	return err
}

// differs says how a call asks for more than the program was loaded for.
func (v *Prover) differs(want Demand) string {
	had := v.proven[0]
	text := fmt.Sprintf(
		"the program is proven for %v with %d slots and %d chunks a message; this call has %v with %d slots and %d chunks",
		had.Protocol, had.Slots, had.Chunks, want.Protocol, want.Slots, want.Chunks)
	if top := v.p.Sizes.Max; top > 0 && want.Chunks < had.Chunks {
		text += fmt.Sprintf(", for the program is for sizes below %d bytes", top)
	}
	return text
}

// prove asks verify, or the cache of what it said.
func (v *Prover) prove(p *either.Program, opt verify.Options) error {
	opt.MostChunks = ir.MaxMessageChunks // of small calls, and of a tile that is not whole
	var k key
	var kept *cache
	if len(p.Steps) >= cachedFrom && p.Coll != nil {
		kept = v.cache()
	}
	if kept != nil {
		k = keyOf(p, opt, kept.prover)
		if d, ok := kept.find(k); ok {
			v.proven = append(v.proven, Demand{p.Protocol, d.Slots, d.Chunks})
			return nil
		}
	}
	r, found := verify.Check(p, opt)
	if len(found) > 0 {
		return found
	}
	d := Demand{p.Protocol, r.Slots, r.MessageChunks}
	v.proven = append(v.proven, d)
	if kept != nil {
		kept.add(k, d)
	}
	return nil
}
