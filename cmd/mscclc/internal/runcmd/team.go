package runcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A team is the processes of one run. Each drives the ranks that are dealt to it, and the first reports.
type team struct {
	x    *exchange.Member
	gpus executor.GPUs
	node []int // of each process
}

// joinTeam meets the other processes of a job, if there is one.
func joinTeam(ctx context.Context, a *cli.App, job *processes.Job, f *runFlags) (*team, error) {
	if job == nil {
		return nil, nil
	}
	if f.threads > 0 {
		return nil, cli.Usagef("--threads is of a run in one process")
	}
	t := &team{gpus: job.GPUs(f.device)}
	_, err := t.gpus.GPUs()
	if err != nil {
		return nil, devices.Impossible(err)
	}
	if t.x, err = job.Join(ctx, f.wait); err != nil {
		return nil, devices.Impossible(fmt.Errorf("%w: %w", err, executor.ErrNoDevice))
	}
	if err := processes.Same(ctx, t.x, f.arguments); err != nil {
		return nil, err
	}
	if t.x.Index() > 0 {
		a.Mute()
	}
	if t.node, err = plan.NodesOf(ctx, t.x, t.gpus); err != nil {
		return nil, devices.Impossible(err)
	}
	return t, nil
}

// on returns the node of each of a given number of ranks, or nil where there is no team.
func (t *team) on(ranks int) []int {
	if t == nil {
		return nil
	}
	node := make([]int, ranks)
	for r := range node {
		node[r] = t.node[t.x.Driver(r)]
	}
	return node
}

// processes returns the exchange, and the node of each process; nothing where there is no team.
func (t *team) processes() (*exchange.Member, []int) {
	if t == nil {
		return nil, nil
	}
	return t.x, t.node
}

// traceFile returns the file for a trace of this process: FILE.json, or FILE.N.json where there are several, from 0 on.
func (t *team) traceFile(file string) string {
	if t == nil || t.x.Size() == 1 {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(file, ext), t.x.Index(), ext)
}

// first reports whether this process reports.
func (t *team) first() bool { return t == nil || t.x.Index() == 0 }

// lost reports whether the team can do nothing more.
func (t *team) lost() bool { return t != nil && t.x.Lost() != nil }

// exchange returns what connects the processes, or nil where there is no team.
func (t *team) exchange() *exchange.Member {
	if t == nil {
		return nil
	}
	return t.x
}

// ranks returns the ranks of this process: all, where there is no team.
func (t *team) ranks(c *ir.Collective) []int { return t.exchange().Deal(c.Ranks) }

// agree has all processes fail where one does. Its error says which, and why.
func (t *team) agree(ctx context.Context, err error) error {
	if t == nil {
		return err
	}
	var list diag.List
	if errors.As(err, &list) && len(list) > 0 {
		err = brief{list}
	}
	_, err = exchange.Agree(ctx, t.x, 0, err)
	return err
}

// A brief sends others the text of an error, without what mscclc writes around it.
type brief struct{ diag.List }

func (b brief) Error() string { return b.List[0].Text }
func (b brief) Unwrap() error { return b.List }

// all returns what all processes found, of which each found `own`.
func (t *team) all(ctx context.Context, own data.Report) (data.Report, error) {
	if t == nil {
		return own, nil
	}
	list, err := exchange.Agree(ctx, t.x, own, nil)
	if err != nil {
		return data.Report{}, devices.Impossible(err)
	}
	var all data.Report
	for _, r := range list {
		all.Checked, all.Wrong = all.Checked+r.Checked, all.Wrong+r.Wrong
		all.Broken, all.Changed = append(all.Broken, r.Broken...), append(all.Changed, r.Changed...)
		if r.First != nil && (all.First == nil || r.First.Rank < all.First.Rank) {
			all.First = r.First
		}
	}
	return all, nil
}

// A teamed is a program that is prepared in all processes of a team.
type teamed struct {
	team    *team
	plan    *plan.Plan
	streams []executor.Stream
	begin   []executor.Event
	end     []executor.Event
	memory  map[[2]int]teamBuffer // by rank, and place in what memoryOf returns
}

// A teamBuffer is memory that grows.
type teamBuffer struct {
	address uint64
	bytes   int
}

// prepare prepares a program in all processes.
func (t *team) prepare(p *either.Program, check verify.Options, f *runFlags, dtype data.DType) (*teamed, error) {
	if n := t.x.Size(); n > p.Coll.Ranks {
		return nil, cli.Usagef("there are %s for %s", diag.Counted(n, "process"), diag.Counted(p.Coll.Ranks, "rank"))
	}
	ctx := context.Background()
	tile, err := t.tile(p, f, dtype)
	if err != nil {
		return nil, err
	}
	plan, err := plan.Prepare(ctx, p, plan.Options{GPUs: t.gpus, Check: check, Unproven: f.Unproven,
		Lower: f.Lowering(), Exchange: t.x, Connect: f.wait, Ranks: t.ranks(p.Coll),
		TileBytes: tile,
		Types:     []data.DType{dtype}})
	if err != nil {
		return nil, devices.Impossible(err)
	}
	l := &teamed{team: t, plan: plan, memory: map[[2]int]teamBuffer{}}
	for _, g := range plan.GPUs() {
		s, err1 := g.NewStream()
		begin, err2 := g.NewEvent()
		end, err3 := g.NewEvent()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, devices.Impossible(err)
		}
		l.streams, l.begin, l.end = append(l.streams, s), append(l.begin, begin), append(l.end, end)
	}
	return l, nil
}

// Program returns what runs.
func (l *teamed) Program() *either.Program { return l.plan.Program() }

// Even says that all chunks of a call must have one length.
func (l *teamed) Even() bool { return l.plan.Even() }

// Prove refuses rows of types that no kernel finishes. It leaves it to Run to prove what a call needs beside the
// program.
func (l *teamed) Prove(args executor.Args) error {
	if args.Rows == nil {
		return nil
	}
	_, err := executor.NewRows(l.Program().Then, args.DType, args.Rows.Length, args.Rows.Values)
	return err
}

// Close frees the program, once all processes do.
func (l *teamed) Close() error {
	err := l.plan.Close()
	for key, b := range l.memory {
		err = errors.Join(err, l.plan.GPU(key[0]).Free(b.address))
	}
	for i, s := range l.streams {
		err = errors.Join(err, l.begin[i].Close(), l.end[i].Close(), s.Close())
	}
	return err
}

// Run runs a call once: its buffers are copied to memory of the GPUs, and back. The time is that of the slowest rank.
func (l *teamed) Run(ctx context.Context, args executor.Args) (executor.Result, error) {
	own := plan.CallArgs{DType: args.DType, RedOp: args.RedOp, Elems: args.Elems, Trace: args.Trace}
	err := errors.Join(l.place(&args, &own), l.plan.SetWait(args.Wait))
	if _, err := exchange.Agree(ctx, l.team.x, true, err); err != nil {
		return executor.Result{}, err
	}
	call, err := l.plan.Bind(ctx, own)
	if err != nil {
		return executor.Result{}, err
	}
	took, err := l.launch(ctx, call)
	if args.Trace != nil {
		err = errors.Join(err, call.TakeTrace())
	}
	if err == nil {
		err = l.each(&args, executor.Stream.Get)
	}
	times, agreed := exchange.Agree(ctx, l.team.x, took, err)
	if agreed != nil {
		return executor.Result{}, l.failed(ctx, agreed, call)
	}
	result := executor.Result{}
	for _, t := range times {
		result.Elapsed = max(result.Elapsed, t)
	}
	return result, call.Close()
}

// launch runs a call, and says how long it took.
func (l *teamed) launch(ctx context.Context, call *plan.Call) (took time.Duration, err error) {
	for i, s := range l.streams {
		if err := errors.Join(s.Record(l.begin[i]), call.Launch(s), s.Record(l.end[i])); err != nil {
			return 0, errors.Join(err, l.plan.Wait(ctx))
		}
	}
	if err := l.plan.Wait(ctx); err != nil {
		return 0, err
	}
	for i, s := range l.streams {
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
		t, err := l.end[i].Since(l.begin[i])
		if err != nil {
			return 0, err
		}
		took = max(took, t)
	}
	return took, nil
}

// failed says what a call has failed with, on whatever rank, and has the program ready for the next.
func (l *teamed) failed(ctx context.Context, err error, call *plan.Call) error {
	if failed := l.plan.Err(); failed != nil && ctx.Err() == nil {
		err = failed
	}
	if l.team.lost() {
		return err
	}
	return errors.Join(err, l.plan.Reset(context.WithoutCancel(ctx)), call.Close())
}
