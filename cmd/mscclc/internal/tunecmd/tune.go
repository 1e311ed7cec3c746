// Package tunecmd is mscclc tune: it measures the programs of all collectives on this machine, and NCCL on the same
// calls.
package tunecmd

import (
	"context"
	"os"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

type tuneFlags struct {
	ranks, nccl, out, plot string
	time                   time.Duration
	wait                   time.Duration
	again, show            bool
	end, bits              string
	without                []string // tasks that are not measured, as a team names them
	arguments              []processes.Argument
}

// Command returns mscclc tune.
func Command(a *cli.App) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [COLLECTIVE...]",
		Short: "Measure which programs are faster than NCCL on this machine, for mscclc with",
		Long: `Measure the programs of all collectives that a library can run in place of NCCL, beside NCCL, and keep what is
fastest in the user's cache. mscclc with takes it by itself.

All GPUs of the machine are measured, and then the smaller groups that jobs make of them: 2, 4 and 8 of 8. Each rank is
a process, as in training jobs. Under mpirun, torchrun or srun the ranks of the job are measured, also over several
nodes. Calls are launched by graphs and one by one. Where NCCL has windows, calls between them are measured, too. Types
of one size share rules.

--time bounds the whole; the default is 2 minutes for 2 GPUs, 4 for 4, and 6 for 8. Few sizes are searched. Then sizes
between are measured where one rule ends and the next begins, as far as there is time. Ctrl-C keeps what was found until
then, and a second run measures the rest. --again measures all anew.

--bits invariant measures the programs that add in the order of ranks, of AllReduce, ReduceScatter and Reduce among more
than two ranks of one node. Jobs with MSCCLC_BITS=invariant take them. Rules of other jobs stay as they are.

What is found counts for this machine: its GPUs, the links between them, the driver, NCCL, and the kernels of mscclc.
-o FILE.bundle writes a bundle for other machines, which mscclc with --bundle takes. --show prints what was found, and
--plot draws it. Both measure nothing.`,
		Example: `  mscclc tune
  mscclc tune allreduce allgather --ranks 8
  mscclc tune -o fleet.bundle
  mscclc tune --bits invariant
  mscclc tune --show --plot gains.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.EndsBy(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			f.arguments = processes.Arguments(args, cmd.Flags())
			return tune(ctx, a, args, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.ranks, "ranks", "",
		"measure groups of `COUNTS` ranks, as in 8,2 (default: all GPUs, and 2, 4, 8 of them)")
	flags.DurationVar(&f.time, "time", 0, "measure for about so long in all (default: 2m for 2 GPUs, up to 6m for 8)")
	flags.StringVarP(&f.end, "end", "e", "256M", "the largest calls: `N` bytes, with K, M or G")
	flags.StringVar(&f.nccl, "nccl", "",
		"NCCL is `FILE`, or none (default: search for libnccl.so.2, as mscclc with does)")
	flags.StringVar(&f.bits, "bits", "", "`invariant`: measure programs that add in the order of ranks, for jobs with "+
		"MSCCLC_BITS=invariant")
	flags.BoolVar(&f.again, "again", false, "measure anew what was measured")
	flags.BoolVar(&f.show, "show", false, "print what was found, and measure nothing")
	flags.StringVar(&f.plot, "plot", "", "draw what was found to `FILE`.svg or .png, and measure nothing")
	flags.StringVarP(&f.out, "output", "o", "", "write a bundle to `FILE`.bundle, for machines like this one")
	f.wait = 20 * time.Second
	flags.DurationVarP(&f.wait, "timeout", "T", f.wait, "give up when a step waits longer")
	flags.StringSliceVar(&f.without, withoutFlag, nil, "leave out `TASKS`") // for processes that tune starts
	flags.MarkHidden(withoutFlag)
	return cmd
}

func tune(ctx context.Context, a *cli.App, args []string, f *tuneFlags) error {
	return processes.In(ctx, a, func(job *processes.Job) error { return tuneIn(ctx, a, job, args, f) })
}

func tuneIn(ctx context.Context, a *cli.App, job *processes.Job, args []string, f *tuneFlags) error {
	p, err := f.plan(a, job, args)
	if err != nil {
		return err
	}
	if f.shows() {
		return p.show(a)
	}
	if err := a.Claims(cli.Named{"-o": f.out}, ""); err != nil {
		return err
	}
	if job == nil || job.Index == 0 && !processes.Started() {
		unlock, err := p.claim()
		if err != nil {
			return err
		}
		defer unlock()
	}
	if job != nil {
		if err := p.measure(ctx, a, job); err != nil || processes.Started() || job.Index > 0 {
			return err
		}
		return p.finish(a)
	}
	begin := time.Now()
	for i, n := range p.ranks {
		if p.done(n) {
			a.Say("%s: measured on %s (--again measures anew)", diag.Counted(n, "rank"), p.doc.Measured.Format(time.DateOnly))
			continue
		}
		left := p.time - time.Since(begin)
		share := max(left/time.Duration(len(p.ranks)-i), 10*time.Second)
		if err := p.team(ctx, a, n, time.Now().Add(share), args); err != nil {
			if ctx.Err() != nil {
				a.Say("what was found until now is kept: mscclc tune measures the rest")
			}
			return err
		}
	}
	if p.doc, err = tuned.Read(p.machine); err != nil {
		return cli.Unavailable("what was found cannot be read: %v", err)
	}
	return p.finish(a)
}

// claim fails if what is found cannot be kept, or if another mscclc tune measures: both would be disturbed.
func (p *plan) claim() (unlock func(), err error) {
	unlock, busy, err := tuned.Lock()
	if err == nil && busy {
		return nil, cli.Unavailable("another mscclc tune measures on this machine: wait until it ends")
	}
	if err == nil && len(p.doc.Groups) == 0 {
		err = p.doc.Write()
	}
	if err != nil {
		return nil, cli.Unavailable("what is found cannot be kept: %v (MSCCLC_CACHE names another folder)", err)
	}
	return unlock, nil
}
