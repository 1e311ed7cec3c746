package executor

import (
	"errors"
	"fmt"

	"mscclc/executor/data"
	"mscclc/ir"
)

// A Watch records what the blocks of a launch do, and steers them: an action
// that it holds back does not begin before another has ended, or until nothing
// else can go on. A device that watches runs the actions one after the other, in
// the order of their ends and the same in every run, and ends a launch in which
// no block can go on. Who makes a Watch sets Hold, Probe and Poison.
type Watch struct {
	Hold   []Hold
	Probe  *Chunk // what Seen of the actions shows, or nil
	Poison uint64 // what fills the scratch at first
	Stale  *Stale // what one action sees of Probe, or nil

	Actions   []Action // of all blocks, block by block in order
	First     []uint64 // of a block: where its actions begin; and the end of all
	After     []int32  // of an action: the one that it was held for, or -1; also of those let go
	FirstSeen uint64   // what the probed chunk began with at first
}

// A Hold is an action that is not to begin before another has ended. Both are
// numbers in Actions.
type Hold struct{ Action, Until int }

// A Stale is what a machine may do on which nothing makes a store visible: while an action runs, the first 8 bytes of the probed chunk
// hold a value in place of what is there. Where it is Last, the value comes behind the action's own store, and stays. StaleCaller is no action, but
// who looks at the memory when the launch is over.
type Stale struct {
	Action int
	Value  uint64
	Last   bool
}

// StaleCaller is the Action of a Stale that the caller sees.
const StaleCaller = -1

// A Chunk is one chunk of one rank's memory.
type Chunk struct {
	Rank  int
	Buf   ir.Buf
	Index int
	Pass  int // of a one-sided program: which pass's part or copy of it
}

// ErrStuck says that no block of a watched launch can go on.
var ErrStuck = errors.New("no block can go on")

// lay makes the tables of a launch with the numbers p.
func (w *Watch) lay(img *Image, p *Params) error {
	if w.Probe != nil && !w.Probe.in(img, p) {
		return fmt.Errorf("rank %d has no %v[%d] of 8 bytes to look at", w.Probe.Rank, w.Probe.Buf, w.Probe.Index)
	}
	w.Actions, w.First = img.actions(p, img.Numbers(), tiles(p))
	return w.holds()
}

// Numbers are those of all blocks.
func (img *Image) Numbers() []uint32 {
	list := make([]uint32, len(img.Blocks))
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// actions are those of some blocks in the first passes of a launch with the numbers p, block by block in order. first is where
// those of a block begin, and the end of all.
func (img *Image) actions(p *Params, blocks []uint32, passes int64) (list []Action, first []uint64) {
	for _, b := range blocks {
		first = append(first, uint64(len(list)))
		for tile := range uint32(passes) {
			list = img.tile(list, p, &img.Blocks[b], tile)
		}
	}
	return list, append(first, uint64(len(list)))
}

// holds makes the table of what actions are held for.
func (w *Watch) holds() error {
	if w.After = nil; len(w.Hold) == 0 {
		return nil
	}
	w.After = make([]int32, len(w.Actions))
	for i := range w.After {
		w.After[i] = -1
	}
	for _, h := range w.Hold {
		if n := len(w.Actions); h.Action < 0 || h.Action >= n || h.Until < 0 || h.Until >= n {
			return fmt.Errorf("action %d is to wait for action %d, and there are %d", h.Action, h.Until, n)
		}
		w.After[h.Action] = int32(h.Until)
	}
	return nil
}

// in says whether c is a chunk of a launch, of 8 bytes at least.
func (c *Chunk) in(img *Image, p *Params) bool {
	coll := img.Program.Coll
	if c.Rank < 0 || c.Rank >= coll.Ranks || c.Index < 0 {
		return false
	}
	n, class := 0, coll.Class(c.Index)
	switch c.Buf {
	case ir.Input:
		n = coll.InChunks(c.Rank)
	case ir.Output:
		n = coll.OutChunks(c.Rank)
	case ir.Scratch:
		class = 0
		if img.Program.Scratch != nil {
			n = int(img.Program.Scratch[c.Rank])
		}
	}
	geo := data.Geometry{Coll: coll, Elems: int64(p.Elems), Chunk: int64(p.Chunk)}
	return c.Index < n && geo.Length(class)*int64(p.ElemSize) >= 8
}

// tile adds what a block does in one pass over its steps to a list.
func (img *Image) tile(list []Action, p *Params, b *Block, tile uint32) []Action {
	group := p.group(uint64(tile) * p.Tile)
	steps := img.Steps[b.FirstStep : b.FirstStep+b.Steps]
	for i := uint32(0); i < b.Steps; i += steps[i].Chain {
		messages := uint32(1)
		if info := ir.Op(steps[i].Op).Info(); (info.Sends || info.Receives) && steps[i].Count > 0 {
			messages = (steps[i].Count + group - 1) / group
		}
		for m := range messages {
			list = append(list, Action{Step: i, Message: m, Tile: tile})
		}
	}
	return list
}

// group is how many chunks a message of the pass from element at holds, as
// kernels/layout.h has it.
func (p *Params) group(at uint64) uint32 {
	bytes := min(p.Tile, min(p.Chunk, p.Elems)-at) * uint64(p.ElemSize)
	return uint32(min(max(p.SlotBytes/bytes, 1), ir.MaxMessageChunks))
}
