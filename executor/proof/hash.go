package proof

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"

	"mscclc/ir"
)

// A Hash hashes numbers in little-endian order. A list is preceded by its length, so that different lists are different
// texts.
type Hash struct {
	h   hash.Hash
	buf []byte
}

// NewHash makes the Hash of nothing yet.
func NewHash() *Hash { return &Hash{h: sha256.New()} }

// Sum returns the hash of all that was written.
func (w *Hash) Sum() [sha256.Size]byte {
	w.flush()
	return [sha256.Size]byte(w.h.Sum(nil))
}

// Table writes the bytes of a table, and how many there are.
func (w *Hash) Table(rows []byte) {
	w.Numbers(int64(len(rows)))
	w.flush()
	w.h.Write(rows)
}

func (w *Hash) flush() {
	w.h.Write(w.buf)
	w.buf = w.buf[:0]
}

func (w *Hash) spill() {
	if len(w.buf) >= 1<<15 {
		w.flush()
	}
}

// Numbers writes numbers, whose count both sides know.
func (w *Hash) Numbers(list ...int64) {
	for _, n := range list {
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(n))
	}
	w.spill()
}

// Int32s writes a list.
func (w *Hash) Int32s(list ...int32) {
	w.Numbers(int64(len(list)))
	for _, n := range list {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(n))
		w.spill()
	}
}

// Flags writes a byte for each flag.
func (w *Hash) Flags(list ...bool) {
	for _, f := range list {
		b := byte(0)
		if f {
			b = 1
		}
		w.buf = append(w.buf, b)
	}
}

// Collective writes all of a collective.
func (w *Hash) Collective(c *ir.Collective) {
	w.Numbers(int64(c.Kind), int64(c.Ranks), int64(c.Chunks), int64(c.Root), int64(c.In), int64(c.Out))
	w.Flags(c.Inplace, c.PerRank == nil)
	w.Int32s(c.Peer...)
	w.Numbers(int64(len(c.PerRank)))
	for _, n := range c.PerRank {
		w.Int32s(n[:]...)
	}
	w.Numbers(int64(len(c.Require)))
	byPlace := func(a, b ir.Part) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.Require), byPlace) {
		parts := c.Require[at]
		w.Int32s(at.Rank, at.Index)
		w.Numbers(int64(len(parts)))
		for _, p := range parts {
			w.Int32s(p.Rank, p.Index)
		}
	}
}
