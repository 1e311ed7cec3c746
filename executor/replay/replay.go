// Package replay shows a counterexample: it runs a rejected program until the error that the proof found happens. [Run]
// takes the program and the verify.Counterexample, and returns lines of text that describe the run. It uses the Watch
// of package executor, which records what each block does and can hold blocks back.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/verify"
)

// A Result is what a replay saw.
type Result struct {
	Shown bool     `json:"shown" doc:"the device did what the counterexample says"`
	Lines []string `json:"lines" doc:"what it did"`
}

func (r *Result) say(format string, args ...any) {
	r.Lines = append(r.Lines, fmt.Sprintf(format, args...))
}

// Run runs p, which verify has rejected, on a device that watches, and shows what the counterexample w says: that p
// hangs, that two accesses come in both orders, that a chunk ends wrong, or that one is read before anything writes it.
// Messages hold as many chunks as w says. So do connections if w is about a deadlock; for other problems slots do not
// matter.
//
// Each chunk is two random numbers of 64 bits, which stand for it: chunks that hold equal numbers were made of the same
// inputs. A one-sided program runs in one replica, and in one pass, or in the number that a race of two passes needs.
func Run(ctx context.Context, p *either.Program, w verify.Counterexample, dev executor.Device) (Result, error) {
	if w.OtherPlace {
		p = p.Called(!p.Coll.Inplace)
	}
	opt, loaded := executor.Options{Device: dev, Unproven: true}, p
	if p.OneSided != nil {
		loaded = either.OfOneSided(asPasses(p.OneSided))
		opt.Replicas, opt.TileBytes = 1, chunkBytes
	}
	l, err := executor.Load(loaded, opt)
	if err != nil {
		return Result{}, err
	}
	defer l.Close()
	if p.OneSided != nil {
		return newOneReplay(ctx, p, &w, l).show()
	}
	r := newReplay(ctx, p, &w, l)
	switch w.Problem.Code {
	case diag.Deadlock:
		return r.deadlock()
	case diag.Race:
		return r.race()
	case diag.Uninitialized:
		return r.judged(r.uninitialized)
	case diag.WrongResult:
		return r.judged(r.wrong)
	}
	return Result{}, nothing(&w)
}

func nothing(w *verify.Counterexample) error {
	return fmt.Errorf("a problem of code %s has nothing to replay", w.Problem.Code)
}

// replayPoison fills scratch at first.
const replayPoison = 0xdead_beef_dead_beef

// chunkElems and the 8 bytes of an element make 16 bytes, the least that a slot
// may have.
const chunkElems, chunkBytes = 2, 16

// A replay is the runs of one counterexample.
type replay struct {
	ctx   context.Context
	p     *either.Program
	w     *verify.Counterexample
	l     *executor.Loaded
	img   *abi.Image // of l
	wires *eval.Wiring
	mem   *ir.Memory
	data  *data.Buffers
	args  executor.Args
	elems int             // of a chunk
	pass  int             // whose part of the counterexample's chunk is looked at
	group int32           // chunks a message
	also  []executor.Hold // that stand in all runs, where no other holds the same action
	first []int32         // by step: its first action; of one in a chain, the chain's
	one   *oneReplay      // what there is beside, of a one-sided program

	watch executor.Watch // of the last run
	stuck bool           // it hung
}

func newReplay(ctx context.Context, p *either.Program, w *verify.Counterexample, l *executor.Loaded) *replay {
	r := &replay{ctx: ctx, p: p, w: w, l: l, img: l.Image(), wires: eval.Wire(p.Fifo), mem: p.Memory(),
		group: int32(min(max(w.MessageChunks, 1), ir.MaxMessageChunks))}
	r.elems = chunkElems
	elems := int64(chunkElems * max(p.Coll.Chunks, 1))
	r.data = data.New(data.NewGeometry(p.Coll, elems, data.I64.Size()), data.I64, data.Sum, 1)
	r.args = executor.DataArgs(r.data)
	r.args.SlotBytes = int64(r.group) * chunkElems * int64(data.I64.Size())
	r.first = make([]int32, len(p.Steps))
	slots, next := 1, int32(0)
	for b := range r.img.Blocks {
		block := &r.img.Blocks[b]
		begin := next
		for i := block.FirstStep; i < block.FirstStep+block.Steps; i += r.img.Steps[i].Chain {
			for k := range r.img.Steps[i].Chain {
				r.first[i+k] = next
			}
			next += r.messages(int32(i))
		}
		slots = max(slots, int(next-begin))
	}
	r.args.Slots = min(slots, executor.MaxSlots) // as good as unbounded
	return r
}

// messages returns the number of actions of a step.
func (r *replay) messages(step int32) int32 {
	s := &r.p.Steps[step]
	if info := s.Op.Info(); r.one != nil || s.Count < 1 || !info.Sends && !info.Receives {
		return 1
	}
	return (s.Count + r.group - 1) / r.group
}

// run runs the program from the start, with some actions held.
func (r *replay) run(hold ...executor.Hold) error { return r.runStale(nil, hold...) }

func (r *replay) runStale(stale *executor.Stale, hold ...executor.Hold) error {
	r.data.Reset()
	r.watch.Hold, r.watch.Poison, r.watch.Stale = append(slices.Clone(r.also), hold...), replayPoison, stale
	if r.watch.Probe = nil; r.w.Problem.Code != diag.Deadlock && r.w.Buf <= ir.Scratch {
		r.watch.Probe = &executor.Chunk{Rank: r.w.Rank, Buf: r.w.Buf, Index: r.w.Index, Pass: r.pass}
	}
	r.args.Watch = &r.watch
	_, err := r.l.Run(r.ctx, r.args)
	if r.stuck = errors.Is(err, executor.ErrStuck); r.stuck {
		return nil
	}
	return err
}

// name names a step.
func (r *replay) name(step int32) string { return r.p.StepName(step) }

// step returns the step of an action of a block.
func (r *replay) step(block int, a *abi.Action) int32 {
	if r.one != nil {
		return int32(r.img.One.Blocks[block].FirstStep + a.Step)
	}
	return int32(r.img.Blocks[block].FirstStep + a.Step)
}
