package form

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
)

// CheckChunks reports what is out of range in d. Evaluation and passes rely on
// what it accepts.
func CheckChunks(d *ir.ChunkDAG) diag.List {
	var p ir.Problems
	length := func(r *ir.Ref) int {
		switch {
		case r.Rank < 0 || int(r.Rank) >= d.Coll.Ranks:
			return -1
		case r.Buf == ir.Input:
			return d.Coll.InChunks(int(r.Rank))
		case r.Buf == ir.Output:
			return d.Coll.OutChunks(int(r.Rank))
		case int(r.Buf-ir.Scratch) < len(d.Scratch):
			return d.Scratch[r.Buf-ir.Scratch].Chunks
		}
		return -1
	}
	for i := range d.Ops {
		op := &d.Ops[i]
		bad := func(code diag.Code, format string, args ...any) {
			p.Add(diag.New(code, d.Span(op.Pos), "operation %d "+format, append([]any{i}, args...)...))
		}
		if op.Count < 1 || op.NSrc < 1 || op.Ways < 1 || op.Hint < 0 || int(op.Hint) >= len(d.Hints) || op.Pos < -1 ||
			int(op.Pos) >= len(d.Spans) ||
			op.Src < 0 || int(op.Src)+int(op.NSrc) > len(d.Srcs) {
			bad(diag.Malformed, "has no source, or a count, a hint or a position that does not exist")
			continue
		}
		for k := range op.NSrc + 1 {
			r := &op.Dst
			if k > 0 {
				r = &d.Srcs[op.Src+k-1]
			}
			if n := length(r); r.Index < 0 || int64(r.Index)+int64(op.Count) > int64(n) {
				bad(diag.OutOfBounds, "uses %s, which does not exist", text.AppendChunk(d, nil, r, op.Count))
			}
		}
	}
	return p.Done()
}
