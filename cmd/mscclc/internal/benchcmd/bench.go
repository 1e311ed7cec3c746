package benchcmd

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"

	"github.com/spf13/cobra"
)

// Command returns mscclc bench.
func Command(a *cli.App) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench FILE...|COLLECTIVE [FILE...]",
		Short: "Measure an algorithm, a program or a collective, as nccl-tests does, and NCCL beside it",
		Long: `Measure an algorithm, a program, or a COLLECTIVE: allreduce, allgather, reducescatter, alltoall, broadcast,
reduce, sendrecv and so on. An algorithm is compiled first.

Of a collective, the catalog's fastest variant is chosen for each size: by --table, by what mscclc search found on these
hosts, by the table that mscclc has for the devices, or else by simulation (mscclc simulate) on the machine that has
such devices. Unknown devices are simulated as H200s behind one switch. The simulation chooses the program of least
latency, the time of one call alone. With --by interval it chooses by the time that is printed here, of calls one after
the other.

Rows, columns and arguments are those of nccl-tests. Sizes are those of the larger of a rank's buffers, from -b to -e,
each -f times the one before or -i bytes above it, out of place and in place. After size 0 comes 1. --dtype, --op and
--root take all. N/A means that there is no program for the size. Each operation first
runs once on random data, and every element of every output is compared: integers exactly, floats within the error bound
of the reduction. Then it is timed. A replay is many launches in one CUDA graph; the time is that of one launch on the
slowest rank, as the median of --replays. The last replay runs once more on other data, and every element is compared
again. A call in place that changes its own input has one launch in that replay. #wrong is the larger number of wrong
elements of the two checks. The last column says how the operation was launched and what ran.

--vs nccl measures NCCL (libnccl.so.2 of the library path, or --nccl PATH) on the same buffers and streams, and its
replays alternate with ours. NCCL is launched from graphs and one by one, and the faster counts. ratio is how many times
as fast ours is. NCCL's environment is not changed.

--vs two, with --sided lowered, measures a two-sided program as it is beside what it is lowered to, in the same way.

Of a COLLECTIVE with --target mscclpp, execution plans of MSCCL++ are measured on mscclc's executor: for each size the
one that mscclc select --target mscclpp names. N/A means that no plan's chunks divide the size.

--table FILE chooses by a table, which mscclc search writes. A table that was written by hand is refused if a field is
wrong or a rule does not fit the call. Entries with "nodes": N are for ranks on N nodes: those of the processes, or
--nodes N. --staged --rules FILE measures what rules for bundles name for captured launches, and with --no-graph what
they name for eager ones. A size that NCCL runs has N/A. With --windows instead of --staged, all buffers are symmetric
windows of NCCL's, and the rules are those for calls between windows.

Beside a COLLECTIVE, ` + choosing.OwnUsage + `
A table may name them. Where no --table has a variant, the simulation chooses among them and the catalog, since the
tables that mscclc has were measured without them.

With --row N, a FILE with an epilogue is measured: rows have N elements, and sizes are those of whole rows of sums. The
times are those of sums and stages together. Updated residuals and scales are compared, too. On GPUs, -e is 16M then.

Several FILEs without a COLLECTIVE are measured one after the other, and their times printed side by side.

--online N measures the four variants of each size that rank highest during the first N calls, and runs the fastest of
them in all later calls, as a program can ask of package algorithms/choose (Online). Ranks in several processes keep the
same variant.

` + jobUsage,
		Example: `  mscclc bench allreduce --device cuda --vs nccl --plot allreduce.svg
  mscclc bench allreduce --device cuda --procs 4 --online 3
  mscclc bench ring.mscl allreduce/allpairs -b 64K -e 16M
  mscclc bench ring.mscl -p ranks=4 -b 64K -e 16M -f 2 --dtype f32
  mpirun -n 8 mscclc bench alltoall --device cuda --vs nccl --nccl /usr/lib/x86_64-linux-gnu/libnccl.so.2`,
		Args: cli.AtLeast(1, "a file or a collective to measure"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.dropParallel(cmd.Flags().Lookup("param"))
			return f.run(cmd, a, args)
		},
	}
	flags := cmd.Flags()
	testsWords(flags)
	f.testsFlags.flags(flags)
	f.AddFlags(flags, "program")
	f.addDevice(flags)
	f.callFlags.add(flags)
	f.addOp(flags, "o")
	f.timeFlags.add(flags)
	f.choiceFlags.add(flags)
	f.addWidth(flags)
	flags.IntP("check", "c", 1, "taken as nccl-tests takes it: bench compares every element, whatever `N` is")
	flags.IntVar(&f.row, "row", 0, "rows of `N` elements, of programs with an epilogue")
	f.AddNodes(flags, "compile FILE, or choose by --table,")
	flags.BoolVar(&f.noGraph, "no-graph", false, "launch ours one by one too")
	cli.WordFlag(flags, &f.vs, "vs", "", "", "measure `RIVAL` beside ours: nccl, or two, the program before --sided lowered",
		rivalNames)
	f.addNCCL(flags)
	flags.StringVar(&f.plot, "plot", "", "draw the curves to `FILE`.svg or .png")
	flags.IntVar(&f.online, "online", 0,
		"try the few variants that rank highest `N` times each, of each size, and keep the fastest, the same one on all ranks")
	flags.StringVar(&f.rules, "rules", "", "run the programs that the rules in `FILE` name (--staged, --windows)")
	flags.BoolVar(&f.windows, "windows", false,
		"measure direct programs, between buffers that NCCL has registered as symmetric windows (--rules)")
	f.addJob(flags)
	return cmd
}

// jobUsage is how help describes processes.
const jobUsage = `One process drives all GPUs, with a thread for each. --procs N starts N processes with one rank each
instead. The variables of mpirun, torchrun and srun (OMPI_COMM_WORLD_RANK, RANK, SLURM_PROCID and so on) are read, too.
Rank 0 then listens at MASTER_ADDR (or 127.0.0.1), at the port above MASTER_PORT or at one that follows from the
launcher's name of the job. MSCCLC_SECRET keeps strangers out. On the CPU, the processes of one machine share memory,
and with --ranks a process may have several ranks.`

// run does what f's command does with what args name.
func (f *benchFlags) run(cmd *cobra.Command, a *cli.App, args []string) error {
	ctx, stop := cli.EndsBy(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { abandon(a) })()
	f.arguments = processes.Arguments(args, cmd.Flags())
	return benchArg(ctx, a, cli.Collective(args[0]), args[1:], f)
}

// benchArg measures what arg names.
func benchArg(ctx context.Context, a *cli.App, arg string, files []string, f *benchFlags) error {
	arg, files, err := filesOf(arg, files)
	if err != nil {
		return err
	}
	arg = a.About(arg)
	return processes.In(ctx, a, func(job *processes.Job) error { return benchIn(ctx, a, job, arg, files, f) })
}

// benchIn is benchArg in a job, or in a process alone, where job is nil.
func benchIn(ctx context.Context, a *cli.App, job *processes.Job, arg string, files []string, f *benchFlags) error {
	count := 1
	if job != nil {
		count = job.Size
	}
	if err := f.meant(count); err != nil {
		return err
	}
	if f.task == toMeasure && len(files) > 0 && !measuresCollective(arg) {
		return benchFiles(ctx, a, job, append([]string{arg}, files...), f)
	}
	outputs := cli.Named{"--plot": f.plot, "-o": f.out, "-J": f.document}
	if job != nil && job.Index > 0 { // the first process writes them, maybe on another machine
		outputs = nil
	}
	if err := a.Claims(outputs, arg, f.table); err != nil {
		return err
	}
	plan, err := f.plan(a, arg, files)
	switch {
	case err != nil:
		return err
	case f.procs > 0 && !processes.Started():
		return processes.Start(ctx, a, f.procs)
	case f.task == toCompare && job != nil:
		return cli.Usagef("compare measures with one process")
	}
	world, err := plan.Open(ctx, arg, job, a)
	if err != nil {
		return devices.Impossible(err)
	}
	defer world.close()
	switch {
	case f.task == toSearch && f.forRules():
		return searchStaged(ctx, a, world)
	case f.task == toSearch:
		return searchAll(ctx, a, world)
	case f.task == toCompare:
		return compareAll(ctx, a, world)
	}
	return world.because(measureAll(ctx, a, world))
}

// abandon ends the process where an interrupted measurement does not come to an end by itself: a
// thread may be inside a driver, or a library, whose kernels wait for ever.
func abandon(a *cli.App) {
	time.Sleep(10 * time.Second)
	fmt.Fprintln(a.Stderr, "mscclc: interrupted; the devices' work does not end, and is left alone")
	os.Exit(cli.ExitMachine)
}
