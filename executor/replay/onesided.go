package replay

import (
	"context"
	"slices"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// A oneReplay is the runs of one counterexample of a one-sided program. An action is a step, in one pass.
type oneReplay struct {
	*replay
	p       *onesided.Program
	links   *eval.Links
	passes  int
	actions []int32 // of a step and a pass
	onePass bool    // launches have one pass each, and are shown as passes of one
}

// asPasses returns p with its launches of one pass as passes of one launch, which has no loose steps: the kernel waits
// for all of them anyhow.
func asPasses(p *onesided.Program) *onesided.Program {
	q := *p
	q.OnePass, q.Steps = false, slices.Clone(p.Steps)
	for i := range q.Steps {
		q.Steps[i].Flags &^= ir.Loose
	}
	return &q
}

func newOneReplay(ctx context.Context, p *either.Program, w *verify.Counterexample, l *executor.Loaded) *oneReplay {
	r := &oneReplay{p: p.OneSided, links: eval.Link(p.OneSided), onePass: p.OneSided.OnePass}
	r.replay = &replay{ctx: ctx, p: p, w: w, l: l, img: l.Image(), mem: p.Memory(),
		first: make([]int32, len(p.Steps)), one: r}
	r.inPasses(1)
	return r
}

// inPasses has the runs that follow go through a number of passes, each of which moves chunkElems of a chunk.
func (r *oneReplay) inPasses(n int) {
	r.passes, r.elems = n, n*chunkElems
	r.data = data.New(data.NewGeometry(r.p.Coll, int64(r.elems*max(r.p.Coll.Chunks, 1)), data.I64.Size()), data.I64,
		data.Sum, 1)
	r.args = executor.DataArgs(r.data)
	r.args.Replicas, r.args.TileBytes = 1, chunkBytes
	r.number()
	for i := range r.first {
		r.first[i] = int32(r.actionOf(int32(i), 0))
	}
}

// actionOf returns the action of a step in a pass, or -1.
func (r *oneReplay) actionOf(step int32, pass int) int {
	return int(r.actions[int(step)*r.passes+pass])
}

// number makes the table of actions.
func (r *oneReplay) number() {
	r.actions = make([]int32, len(r.p.Steps)*r.passes)
	for i := range r.actions {
		r.actions[i] = -1
	}
	list, first := r.img.One.Actions(uint64(r.passes))
	for b := range r.p.Blocks {
		for n := first[b]; n < first[b+1]; n++ {
			r.actions[int(r.step(b, &list[n]))*r.passes+int(list[n].Tile)] = int32(n)
		}
	}
}

func (r *oneReplay) show() (Result, error) {
	switch {
	case r.w.Problem.Code == diag.Deadlock:
		return r.deadlock()
	case r.w.Problem.Code == diag.Race && r.w.With < 0:
		return r.outside()
	case r.w.Problem.Code == diag.Race:
		return r.race()
	case r.w.Problem.Code == diag.Uninitialized:
		return r.judged(r.uninitialized)
	case r.w.Problem.Code == diag.WrongResult:
		return r.judged(r.wrong)
	}
	return Result{}, nothing(r.w)
}

// touches reports whether a step reads or writes the counterexample's chunk.
func (r *oneReplay) touches(step int32) (reads, writes bool) {
	s, o := &r.p.Steps[step], r.p
	if !s.Op.Moves() {
		return false, false
	}
	cell := r.mem.Cell(r.w.Rank, r.w.Buf, r.w.Index)
	any := func(list []onesided.Operand) bool {
		for _, x := range list {
			if x.Rank != ir.AllRanks && int(x.Rank) != r.w.Rank {
				continue
			}
			if at := r.mem.Cell(r.w.Rank, x.Buf, int(x.Index)); cell >= at && cell < at+int(s.Count) {
				return true
			}
		}
		return false
	}
	return any(o.Sources(s)), any(o.Dests(s))
}

// deadlock runs the program, which must hang, with blocks standing where the counterexample says.
func (r *oneReplay) deadlock() (Result, error) {
	var out Result
	if err := r.run(); err != nil {
		return out, err
	}
	if !r.stuck {
		out.say("it does not hang")
		return out, nil
	}
	stands, standing := make([]bool, len(r.p.Steps)), []int32(nil)
	at := map[int32]int32{} // by block: the step that it stands at
	for b := range r.p.Blocks {
		for n := r.watch.First[b]; n < r.watch.First[b+1]; n++ {
			if a := &r.watch.Actions[n]; a.End == 0 {
				i := r.step(b, a)
				stands[i], standing, at[int32(b)] = true, append(standing, i), i
				break
			}
		}
	}
	out.Shown = true
	out.say("it hangs: %d of %d blocks cannot go on", len(standing), len(r.p.Blocks))
	listed := map[int32]bool{}
	for _, w := range r.w.Waits {
		if i, ok := at[r.links.Block[w.Step]]; ok && w.On < 0 && i < w.Step {
			out.say("  %s; later %s that nothing gives", r.waiting(i), r.name(w.Step)+" waits for a signal")
			listed[i] = true
			continue
		}
		listed[w.Step] = true
		good := stands[w.Step] && (w.On < 0 || r.watch.Actions[r.first[w.On]].End == 0) && (w.At < 0 || stands[w.At])
		if out.Shown = out.Shown && good; !good {
			out.say("  %s does not stand there", r.name(w.Step))
		} else if len(listed) <= listedBlocks {
			out.say("  %s", r.waiting(w.Step))
		}
	}
	for _, i := range standing {
		if !listed[i] && len(listed) < listedBlocks {
			listed[i] = true
			out.say("  %s", r.waiting(i))
		}
	}
	if more := len(standing) - len(listed); more > 0 {
		out.say("  and so on, %d blocks more", more)
	}
	return out, nil
}

// waiting says what a step that stands waits for.
func (r *oneReplay) waiting(step int32) string {
	text, lacks := r.name(step)+" waits", ""
	s := &r.p.Steps[step]
	for _, x := range r.p.Sources(s) {
		switch {
		case x.Buf == ir.Packets:
			for k := range s.Count {
				if w := r.links.Writer[r.links.Packet(x.Rank, x.Index)+k]; w < 0 || r.watch.Actions[r.first[w]].End == 0 {
					lacks = r.lacking(" for packets", w)
				}
			}
		case x.Buf == ir.Flags && x.Nth > 0:
			if w, _ := r.links.Awaited(r.links.Flag(x.Rank, x.Index), x.Nth); w < 0 || r.watch.Actions[r.first[w]].End == 0 {
				lacks = r.lacking(" for a signal", w)
			}
		}
		if lacks != "" {
			break
		}
	}
	return text + lacks
}

func (r *oneReplay) lacking(what string, by int32) string {
	if by < 0 {
		return what + " that nothing gives"
	}
	return what + " of " + r.name(by)
}
