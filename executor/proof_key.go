package executor

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"
	"slices"

	"mscclc/ir"
	"mscclc/ir/verify"
)

// A key names a proof: a hash of the prover, of all that the program's meaning
// depends on, and of what it was judged with. Names and source positions are
// left out; everything else is in, whether or not today's verifier looks at it.
type key [sha256.Size]byte

// keyOf makes a key. Every table is preceded by its length, so that different
// programs are different texts.
func keyOf(p *ir.Program, opt verify.Options, prover key) key {
	w := &keyWriter{h: sha256.New()}
	w.h.Write(prover[:])
	fmt.Fprintf(w.h, "%#v\n", opt) // all of its fields, which are numbers
	w.collective(p.Coll)
	w.numbers(int64(p.Protocol), p.Sizes.Min, p.Sizes.Max, int64(p.RanksPerNode), int64(p.Channels))
	w.flags(p.Even, p.InPlace, p.OutOfPlace, p.Scratch == nil)
	w.int32s(p.Scratch...)
	w.numbers(int64(len(p.Rank)))
	for _, r := range p.Rank {
		w.int32s(r.First, r.End)
	}
	w.numbers(int64(len(p.Blocks)))
	for i := range p.Blocks {
		b := &p.Blocks[i]
		w.int32s(b.Rank, b.SendPeer, b.RecvPeer, b.Channel, b.Steps.First, b.Steps.End)
	}
	w.steps(p.Steps)
	w.oneSided(p)
	w.flush()
	return key(w.h.Sum(nil))
}

// A keyWriter hashes numbers in little-endian order.
type keyWriter struct {
	h   hash.Hash
	buf []byte
}

func (w *keyWriter) flush() {
	w.h.Write(w.buf)
	w.buf = w.buf[:0]
}

func (w *keyWriter) spill() {
	if len(w.buf) >= 1<<15 {
		w.flush()
	}
}

func (w *keyWriter) numbers(list ...int64) {
	for _, n := range list {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(n))
	}
	w.spill()
}

func (w *keyWriter) int32s(list ...int32) {
	w.numbers(int64(len(list)))
	for _, n := range list {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(n))
		w.spill()
	}
}

func (w *keyWriter) flags(list ...bool) {
	for _, f := range list {
		b := byte(0)
		if f {
			b = 1
		}
		w.buf = append(w.buf, b)
	}
}

func (w *keyWriter) collective(c *ir.Collective) {
	w.numbers(int64(c.Kind), int64(c.Ranks), int64(c.Chunks), int64(c.Root), int64(c.In), int64(c.Out))
	w.flags(c.Inplace, c.PerRank == nil)
	w.int32s(c.Peer...)
	w.numbers(int64(len(c.PerRank)))
	for _, n := range c.PerRank {
		w.int32s(n[:]...)
	}
	w.numbers(int64(len(c.Require)))
	byPlace := func(a, b ir.Part) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.Require), byPlace) {
		parts := c.Require[at]
		w.int32s(at.Rank, at.Index)
		w.numbers(int64(len(parts)))
		for _, p := range parts {
			w.int32s(p.Rank, p.Index)
		}
	}
}

// oneSided writes what only a one-sided program has.
func (w *keyWriter) oneSided(p *ir.Program) {
	o := p.OneSided
	w.flags(o == nil)
	if o == nil {
		return
	}
	w.flags(o.OnePass)
	w.numbers(int64(o.Depth))
	w.int32s(o.Packets...)
	w.int32s(o.Flags...)
	w.numbers(int64(len(o.Operands)))
	for _, x := range o.Operands {
		w.int32s(x.Rank, x.Index, int32(x.Buf), int32(x.Via), x.Nth)
	}
}

// steps writes 32 bytes a step.
func (w *keyWriter) steps(steps []ir.Step) {
	le := binary.LittleEndian
	w.numbers(int64(len(steps)))
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
