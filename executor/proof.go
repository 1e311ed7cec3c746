package executor

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// A demand is what a run asks of a program besides its steps: whether they end,
// and whether they race, depends on it.
type demand struct {
	protocol ir.Protocol
	slots    int // messages that a connection holds
	chunks   int // that a message holds, at least
}

// covers says whether what is proven for d holds for want. More slots and more
// chunks a message only let more steps go on; messages of more chunks order no
// less, and packets are judged by the longest; and a message that releases makes
// visible what came before it, where a packet does not.
func (d demand) covers(want demand) bool {
	return (!d.protocol.Releases() || want.protocol.Releases()) && d.slots <= want.slots && d.chunks <= want.chunks
}

// asked is what a launch asks of the proof of its program. The kernel counts
// the chunks of a message tile by tile; a whole tile's have the most bytes.
func asked(p *Params) demand {
	d := demand{protocol: ir.Protocol(p.Proto), slots: int(p.Slots), chunks: ir.MaxMessageChunks}
	if bytes := min(p.Tile, p.Chunk) * uint64(p.ElemSize); bytes > 0 {
		d.chunks = int(min(max(p.SlotBytes/bytes, 1), ir.MaxMessageChunks))
	}
	return d
}

// A prover keeps what is proven of one program.
type prover struct {
	p        *ir.Program
	check    verify.Options
	unproven bool // nothing is asked
	proven   []demand
}

// load proves p as its own header has it.
func (v *prover) load() error {
	if v.unproven {
		return nil
	}
	return v.prove(v.p, v.check)
}

// run proves p for what one call asks, where that is not proven yet.
func (v *prover) run(want demand) error {
	if v.unproven {
		return nil
	}
	for _, d := range v.proven {
		if d.covers(want) {
			return nil
		}
	}
	p := *v.p
	p.Protocol = want.protocol
	opt := v.check
	opt.Slots, opt.MessageChunks = want.slots, want.chunks
	err := v.prove(&p, opt)
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
func (v *prover) differs(want demand) string {
	had := v.proven[0]
	text := fmt.Sprintf("the program is proven for %v with %d slots and %d chunks a message; this call has %v with %d slots and %d chunks",
		had.protocol, had.slots, had.chunks, want.protocol, want.slots, want.chunks)
	if top := v.p.Sizes.Max; top > 0 && want.chunks < had.chunks {
		text += fmt.Sprintf(", for the program is for sizes below %d bytes", top)
	}
	return text
}

// prove asks verify, or the cache of what it said.
func (v *prover) prove(p *ir.Program, opt verify.Options) error {
	opt.MostChunks = ir.MaxMessageChunks // of small calls, and of a tile that is not whole
	var k key
	var cache *proofCache
	if len(p.Steps) >= cachedFrom && p.Coll != nil {
		cache = proofs()
	}
	if cache != nil {
		k = keyOf(p, opt, cache.prover)
		if d, ok := cache.find(k); ok {
			v.proven = append(v.proven, demand{p.Protocol, d.slots, d.chunks})
			return nil
		}
	}
	r, found := verify.Check(p, opt)
	if len(found) > 0 {
		return found
	}
	d := demand{p.Protocol, r.Slots, r.MessageChunks}
	v.proven = append(v.proven, d)
	if cache != nil {
		cache.add(k, d)
	}
	return nil
}
