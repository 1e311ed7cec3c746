package fifo

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
)

// hintAtRandom gives the operations of c hints at random, and each a position of its
// own, by which its instructions are known.
func hintAtRandom(rnd *rand.Rand, c *ir.ChunkDAG) {
	c.Hints = []ir.Hint{ir.NoHint}
	c.Spans = nil
	often := 1 + rnd.Intn(6)
	blocks := 1 + rnd.Intn(6)
	one := func(most int) int32 {
		if rnd.Intn(often) > 0 {
			return -1
		}
		return int32(rnd.Intn(most))
	}
	for i := range c.Ops {
		op := &c.Ops[i]
		c.Spans = append(c.Spans, diag.Span{Pos: diag.Pos{Filename: "random.mscl", Line: i + 1, Column: 1}, Len: 1})
		op.Pos = int32(i)
		op.Hint = int32(len(c.Hints))
		c.Hints = append(c.Hints, ir.Hint{Channel: one(3), SendTB: one(blocks), RecvTB: one(blocks)})
	}
}

// kept reports whether the placed instructions of d are where the hints of c ask
// for them.
func kept(c *ir.ChunkDAG, d *ir.InstDAG) error {
	type named struct{ rank, part, tb int32 }
	blockOf := map[named]int32{}
	nameOf := map[int32]named{}
	perPart := int32(-1)
	partOf := map[int32]int32{}
	inBlock := func(in *ir.Inst, tb int32) error {
		if tb < 0 {
			return nil
		}
		key := named{in.Rank, in.Part, tb}
		if b, ok := blockOf[key]; ok && b != in.Block {
			return fmt.Errorf("rank %d part %d tb %d is blocks %d and %d", in.Rank, in.Part, tb, b, in.Block)
		}
		if n, ok := nameOf[in.Block]; ok && n != key {
			return fmt.Errorf("block %d is %v and %v", in.Block, n, key)
		}
		blockOf[key], nameOf[in.Block] = in.Block, key
		return nil
	}
	onChannel := func(in *ir.Inst, ch int32) error {
		switch {
		case ch < 0:
		case in.Part == 0 && in.Channel != ch:
			return fmt.Errorf("%v of rank %d is on channel %d, not %d", in.Op, in.Rank, in.Channel, ch)
		case in.Part > 0:
			each := (in.Channel - ch) / in.Part
			if (in.Channel-ch)%in.Part != 0 || each <= ch || perPart >= 0 && each != perPart {
				return fmt.Errorf("%v of rank %d part %d is on channel %d, not %d from part to part %d", in.Op, in.Rank,
					in.Part, in.Channel, ch, perPart)
			}
			perPart = each
		}
		return nil
	}
	for i := range d.Insts {
		in := &d.Insts[i]
		if p, ok := partOf[in.Channel]; ok && p != in.Part {
			return fmt.Errorf("channel %d is of parts %d and %d", in.Channel, p, in.Part)
		}
		partOf[in.Channel] = in.Part
		info, err := in.Op.Info(), error(nil)
		if h := c.Hints[c.Ops[in.Pos].Hint]; info.Receives {
			err = errors.Join(onChannel(in, h.Channel), inBlock(in, h.RecvTB))
		} else if !info.Sends {
			err = errors.Join(onChannel(in, h.Channel), inBlock(in, localTB(&h)))
		}
		if info.Sends {
			h := c.Hints[c.Ops[d.Insts[in.SendMate].Pos].Hint]
			err = errors.Join(err, onChannel(in, h.Channel), inBlock(in, h.SendTB))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestRandomHints compiles random programs with random hints. Each hint is kept,
// or the program is refused with a note at the other one; what can be kept
// without the optional passes can be kept with them.
func TestRandomHints(t *testing.T) {
	refused := 0
	for seed := range *programs {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{Ops: 1 + rnd.Intn(24)})
		hintAtRandom(rnd, c)
		opt := randomOptions(rnd)
		opt.Limits.Channels = 0
		err := compileHinted(c, opt)
		var l diag.List
		if errors.As(err, &l) && l[0].Code == diag.Hint {
			refused++
			if len(l[0].Notes) == 0 || l[0].Hint == "" {
				t.Fatalf("seed %d: %v has no note or no hint", seed, l[0])
			}
			opt.Level0 = true
			if plain := compileHinted(c, opt); plain == nil {
				t.Fatalf("seed %d: refused with the optional passes (%v), and not without", seed, err)
			}
			continue
		}
		if err != nil && !isLimit(err) {
			t.Fatalf("seed %d, options %+v: %v", seed, opt, err)
		}
	}
	t.Logf("%d programs, %d refused for a hint", *programs, refused)
	if refused < *programs/20 || refused > *programs*3/4 {
		t.Errorf("too few were refused, or too many, to test anything")
	}
}

func compileHinted(c *ir.ChunkDAG, opt Options) error {
	d, err := Lower(c, opt)
	if err != nil {
		return err
	}
	if err := Run(d, checked(opt, d)); err != nil {
		return err
	}
	return kept(c, d)
}
