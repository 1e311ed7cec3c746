package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A key names a proof: a hash of the prover, of all that the program's meaning
// depends on, and of what it was judged with. Names and source positions are
// left out; everything else is in, whether or not today's verifier looks at it.
type key [sha256.Size]byte

// keyOf makes a key. Every table is preceded by its length, so that different
// programs are different texts.
func keyOf(p *either.Program, opt verify.Options, prover key) key {
	w := NewHash()
	w.h.Write(prover[:])
	fmt.Fprintf(w.h, "%#v\n", opt) // all of its fields, which are numbers and lists of them
	w.Collective(p.Coll)
	w.Numbers(int64(p.Protocol), p.Sizes.Min, p.Sizes.Max, int64(p.RanksPerNode), int64(p.Channels()))
	w.Numbers(int64(len(p.Then)))
	for _, s := range p.Then {
		w.Numbers(int64(s.Kind), int64(s.Fn), int64(s.Block), int64(len(s.Type)))
		w.h.Write([]byte(s.Type))
	}
	w.Flags(p.Even, p.InPlace, p.OutOfPlace, p.Scratch == nil)
	w.Int32s(p.Scratch...)
	w.Numbers(int64(len(p.Rank)))
	for _, r := range p.Rank {
		w.Int32s(r.First, r.End)
	}
	w.Numbers(int64(len(p.Blocks)))
	for i := range p.Blocks {
		b := &p.Blocks[i]
		w.Int32s(b.Rank, b.SendPeer, b.RecvPeer, b.Channel, b.Steps.First, b.Steps.End, b.Together)
	}
	w.steps(p.Steps)
	w.oneSided(p)
	return w.Sum()
}

// oneSided writes what only a one-sided program has.
func (w *Hash) oneSided(p *either.Program) {
	o := p.OneSided
	w.Flags(o == nil)
	if o == nil {
		return
	}
	w.Flags(o.OnePass)
	w.Numbers(int64(o.Depth))
	w.Int32s(o.Packets...)
	w.Int32s(o.Flags...)
	w.Numbers(int64(len(o.Operands)))
	for _, x := range o.Operands {
		w.Int32s(x.Rank, x.Index, int32(x.Buf), int32(x.Via), x.Nth)
	}
}

// steps writes 32 bytes a step.
func (w *Hash) steps(steps []ir.Step) {
	le := binary.LittleEndian
	w.Numbers(int64(len(steps)))
	for i := range steps {
		s := &steps[i]
		b := append(w.buf, byte(s.Op), byte(s.SrcBuf), byte(s.DstBuf), byte(s.Flags))
		b = le.AppendUint64(b, uint64(uint32(s.Src))|uint64(uint32(s.Dst))<<32)
		b = le.AppendUint64(b, uint64(uint32(s.Count))|uint64(uint32(s.Class))<<32)
		b = le.AppendUint64(b, uint64(uint32(s.DepBlock))|uint64(uint32(s.DepStep))<<32)
		w.buf = le.AppendUint32(b, uint32(uint16(s.NSrc))|uint32(uint16(s.NDst))<<16)
		w.spill()
	}
}
