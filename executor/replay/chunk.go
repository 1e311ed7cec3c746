package replay

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/ir"
)

// An access is an action of a run that reads or writes the counterexample's chunk.
type access struct {
	action        int
	step          int32 // the first of a chain
	message       int32
	reads, writes bool
	end           uint64 // 0 if it never came to that
	before, after uint64 // what the chunk began with
}

// accesses returns the accesses of the last run to the counterexample's chunk, those
// that ended first, in that order.
func (r *replay) accesses() []access {
	var list, ended []access // of the chunk; and whatever has ended, of all ranks
	for b := range r.p.Blocks {
		for n := r.watch.First[b]; n < r.watch.First[b+1]; n++ {
			a := &r.watch.Actions[n]
			x := access{action: int(n), step: r.step(b, a), message: int32(a.Message), end: a.End, after: a.Seen}
			if r.one != nil {
				x.reads, x.writes = r.one.touches(x.step)
			} else if int(r.p.Blocks[b].Rank) == r.w.Rank {
				x.reads, x.writes = r.touches(x.step, x.message)
			}
			if x.end > 0 {
				ended = append(ended, x)
			} else if x.reads || x.writes {
				list = append(list, x)
			}
		}
	}
	slices.SortFunc(ended, func(a, b access) int { return cmp.Compare(a.end, b.end) })
	seen, done := r.watch.FirstSeen, []access(nil)
	for _, x := range ended {
		x.before, seen = seen, x.after
		if x.reads || x.writes {
			done = append(done, x)
		}
	}
	return append(done, list...)
}

// touches reports whether a message of a step of the counterexample's rank, or a chain
// from there, reads or writes the counterexample's chunk.
func (r *replay) touches(step, message int32) (reads, writes bool) {
	mem := r.mem
	cell := mem.Cell(r.w.Rank, r.w.Buf, r.w.Index)
	for i := step; i < step+int32(r.img.Steps[step].Chain); i++ {
		s := &r.p.Steps[i]
		info := s.Op.Info()
		first, n := int32(0), s.Count
		if info.Sends || info.Receives {
			first = message * r.group
			n = min(r.group, s.Count-first)
		}
		in := func(b ir.Buf, index int32) bool {
			at := mem.Cell(r.w.Rank, b, int(index+first))
			return cell >= at && cell < at+int(n)
		}
		dst := (info.Writes || info.ReadsDst) && in(s.DstBuf, s.Dst)
		reads = reads || info.ReadsSrc && in(s.SrcBuf, s.Src) || info.ReadsDst && dst
		writes = writes || info.Writes && dst
	}
	return reads, writes
}

// chunk names the counterexample's chunk.
func (r *replay) chunk() string {
	if r.one != nil {
		return fmt.Sprintf("%s of rank %d", r.p.ChunkName(r.w.Buf, r.w.Index), r.w.Rank)
	}
	return r.p.ChunkName(r.w.Buf, r.w.Index)
}

// value names what a chunk began with, where that is known.
func (r *replay) value(v uint64) string {
	if v == replayPoison || r.data.IsPoison(v) {
		return fmt.Sprintf("%#x, the poison of what nothing wrote", v)
	}
	for rank := range r.p.Coll.Ranks {
		buf := r.data.Initial(rank)
		for i := range r.p.Coll.InChunks(rank) {
			if binary.LittleEndian.Uint64(buf[(i*r.elems+r.pass*chunkElems)*8:]) == v {
				return fmt.Sprintf("%#x, which is in[%d][%s]", v, rank, ir.ChunksText(r.p.Source, i, i+1))
			}
		}
	}
	return fmt.Sprintf("%#x", v)
}

// describe says what an access did, and when.
func (r *replay) describe(x *access) string {
	name := r.name(x.step)
	if n := r.messages(x.step); n > 1 {
		name += fmt.Sprintf(" message %d of %d", x.message+1, n)
	}
	if r.one != nil && r.one.passes > 1 {
		name += fmt.Sprintf(" in pass %d", r.watch.Actions[x.action].Tile+1)
	}
	did := map[bool]string{true: "read", false: "wrote"}[!x.writes]
	switch {
	case x.end > 0 && r.watch.Probe == nil:
		return fmt.Sprintf("%s %s %s at %d", name, did, r.chunk(), x.end)
	case x.end == 0:
		return name + " never came to " + r.chunk()
	case !x.writes:
		return fmt.Sprintf("%s read %s at %d: %s", name, r.chunk(), x.end, r.value(x.before))
	case !x.reads:
		return fmt.Sprintf("%s wrote %s at %d: %s", name, r.chunk(), x.end, r.value(x.after))
	}
	return fmt.Sprintf("%s read %s at %d: %s; and wrote it: %s", name, r.chunk(), x.end, r.value(x.before),
		r.value(x.after))
}
