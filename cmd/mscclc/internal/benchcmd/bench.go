package benchcmd

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor/data"

	"github.com/spf13/cobra"
)

type benchFlags struct {
	compiling.Flags
	testsFlags
	device       string
	begin, end   string
	factor       int64
	dtype, redop string
	by           string
	ranks, root  int
	rootText     string // of --root
	allRoots     bool
	nodes        int // that --nodes says
	place        string
	iters        int
	warmup       int
	replays      int
	length       time.Duration
	noGraph      bool
	vs, ncclFlag string
	plot         string
	tune         bool
	online       int
	judge        bool
	judgeTime    time.Duration
	tuneTime     time.Duration
	table, out   string
	ctas         cli.CTAs
	threads      int
	tile         string
	arena, rules string
	windows      bool
	procs        int
	wait         time.Duration
	arguments    []processes.Argument
}

// Command returns mscclc bench.
func Command(a *cli.App) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench FILE...|COLLECTIVE [FILE...]",
		Short: "Measure an algorithm, a program or a collective, as nccl-tests does, and NCCL beside it",
		Long: `Measure an algorithm, a program, or a COLLECTIVE: allreduce, allgather, reducescatter, alltoall, broadcast,
reduce, sendrecv and so on. An algorithm is compiled first.

Of a collective, the catalog's fastest variant is chosen for each size: by --table, by what --tune found on these hosts,
by the table that mscclc has for the devices, or else by simulation (mscclc simulate) on the machine that has such
devices. Unknown devices are simulated as H200s behind one switch. The simulation chooses the program of least latency,
the time of one call alone. With --by interval it chooses by the time that is printed here, of calls one after the
other.

Rows, columns and arguments are those of nccl-tests. Sizes are those of the larger of a rank's buffers, from -b to -e,
each -f times the one before or -i bytes above it, out of place and in place. Behind size 0 comes 1. --dtype, --op and
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

--tune measures the catalog's variants, finds how many CTAs they run best with, and writes a table to -o. Entries of
other devices, ranks, collectives and placements that are in the file stay. --table FILE then chooses by it. A table
that was written by hand is refused if a field is wrong or a rule does not fit the call. Entries with "nodes": N are for
ranks on N nodes: those of the processes, or --nodes N. Processes tune together: the first writes the table, and on
several nodes each size takes about 30 s (--tune-time). What is found is also kept in the user's cache, and later runs
of bench COLLECTIVE and run COLLECTIVE on the same hosts choose by it. MSCCLC_CACHE=FOLDER moves the cache, and
MSCCLC_CACHE=off turns it off.

--tune --staged measures staged programs, which reach only scratch and packets of other ranks, for a bundle. It takes
programs that are proven in place and out of place and, for allreduce, whose ranks end with the same bits. Each rank has
up to --ctas CTAs (default 32). Graphs launch each program, and then it is launched one by one. -o FILE.rules gets the
fastest program for both kinds of launches, or "nccl" where --vs nccl found no program that is 3 % faster than NCCL.
Programs that take at most 2 % longer replace others, so that few programs and little memory are needed. Where they need
more than --arena, slower ones with less memory replace some. Rules for other collectives stay in the file, which is
written after each size. mscclc bundle --rules reads it. With --procs, each rank is a process, as in training jobs: then
NCCL registers the buffers of captured calls, and is faster. --staged --rules FILE measures what the rules for captured
launches name, and with --no-graph what those for eager ones name. A size that NCCL runs has N/A. With --windows instead
of --staged, programs are direct: they reach buffers of other ranks. All buffers are symmetric windows of NCCL's then,
and the rules are for calls between windows.

Beside a COLLECTIVE, ` + choosing.OwnUsage + `
--tune and --judge measure all of them, and a table may name them. Where no --table has a variant, the simulation
chooses among them and the catalog, since the tables that mscclc has were measured without them.

Several FILEs without a COLLECTIVE are measured one after the other, and their times printed side by side.

--online N measures the four variants of each size that rank highest during the first N calls, and runs the fastest of
them in all later calls, as a program can ask of package algorithms/choose (Online). Ranks in several processes keep the
same variant.

--judge compares what is chosen for each size with every variant of the catalog, each with its best number of CTAs as
far as --judge-time allows. Then it measures the chosen and the fastest variant alternately, and prints both and their
ratio. It fails if a chosen variant takes 5 % longer than the fastest. -o FILE has all measured times, one JSON object
per line.

One process drives all GPUs, with a thread for each. --procs N starts N processes with one rank each instead. bench also
reads the variables of mpirun, torchrun and srun (OMPI_COMM_WORLD_RANK, RANK, SLURM_PROCID and so on). Rank 0 then
listens at MASTER_ADDR (or 127.0.0.1), at the port above MASTER_PORT or at one that follows from the launcher's name of
the job. MSCCLC_SECRET keeps strangers out. On the CPU, the processes of one machine share memory, and with --ranks a
process may have several ranks.`,
		Example: `  mscclc bench allreduce --device cuda --vs nccl --plot allreduce.svg
  mscclc bench allgather --device cuda --tune -o h200.table
  mscclc bench allgather --device cuda --tune --staged --ctas 32 --procs 4 --vs nccl -o h200.rules
  mscclc bench allreduce --device cuda --procs 4 --online 3
  mscclc bench allreduce --device cuda --judge -o times.jsonl
  mscclc bench allreduce ring.mscl --device cuda --tune -o mine.table
  mscclc bench ring.mscl allreduce/allpairs -b 64K -e 16M
  mscclc bench ring.mscl -p ranks=4 -b 64K -e 16M -f 2 --dtype f32
  mpirun -n 8 mscclc bench alltoall --device cuda --vs nccl --nccl /usr/lib/x86_64-linux-gnu/libnccl.so.2`,
		Args: cli.AtLeast(1, "a file or a collective to measure"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.EndsBy(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			defer context.AfterFunc(ctx, func() { abandon(a) })()
			f.dropParallel(cmd.Flags().Lookup("param"))
			f.arguments = processes.Arguments(args, cmd.Flags())
			return benchArg(ctx, a, cli.Collective(args[0]), args[1:], &f)
		},
	}
	flags := cmd.Flags()
	f.testsFlags.flags(flags)
	f.AddFlags(flags, "program")
	cli.WordFlag(flags, &f.device, "device", "", "cpu", "run on `D`: "+cli.List(devices.Names()), devices.Names())
	flags.StringVarP(&f.begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&f.end, "end", "e", "", "the last size: `N` bytes (default 1G, on the CPU 1M)")
	flags.Int64VarP(&f.factor, "factor", "f", 4, "each size is `N` times the one before; 0 and 1 are for -i")
	cli.DtypeFlag(flags, &f.dtype, "d", "bf16")
	cli.WordFlag(flags, &f.redop, "op", "", "sum", "reduce by `OP`: "+cli.List(data.RedOps[:]), data.RedOps[:])
	flags.IntVarP(&f.ranks, "ranks", "g", 0,
		"run on `N` ranks (default: the GPUs that there are; on the CPU 4; for a file its own)")
	flags.IntP("check", "c", 1, "taken as nccl-tests takes it: bench compares every element, whatever `N` is")
	f.AddNodes(flags, "compile FILE, or choose by --table,")
	flags.StringVarP(&f.rootText, "root", "r", "0", "a collective's root `N`, of those that have one; all or -1 is each in turn")
	cli.ByFlag(flags, &f.by, "where no table has a variant, the simulation chooses")
	cli.WordFlag(flags, &f.place, "place", "", "both", "measure calls of `PLACE`: out (of place), in (place) or both",
		placeNames)
	flags.IntVarP(&f.iters, "iters", "n", 0, "launches of a replay (default: as many as take --replay-time)")
	flags.IntVarP(&f.warmup, "warmup", "w", 2, "replays that do not count")
	flags.IntVar(&f.replays, "replays", 7, "replays that count")
	flags.DurationVar(&f.length, "replay-time", 2*time.Millisecond, "what a replay takes, roughly")
	flags.BoolVar(&f.noGraph, "no-graph", false, "launch ours one by one too")
	cli.WordFlag(flags, &f.vs, "vs", "", "", "measure `RIVAL` beside ours: nccl, or two, the program before --sided lowered",
		rivalNames)
	flags.StringVar(&f.ncclFlag, "nccl", "",
		"NCCL is at `PATH`, a file or a folder (default: libnccl.so.2 of the library path)")
	flags.StringVar(&f.plot, "plot", "", "draw the curves to `FILE`.svg or .png")
	flags.BoolVar(&f.tune, "tune", false, "measure a collective's variants, and write a table")
	flags.IntVar(&f.online, "online", 0,
		"try the few variants that rank highest `N` times each, of each size, and keep the fastest, the same one on all ranks")
	flags.BoolVar(&f.judge, "judge", false,
		"measure what is chosen beside all of the catalog, and fail where it takes 5 % longer than the best")
	flags.DurationVar(&f.judgeTime, "judge-time", 1500*time.Millisecond,
		"look so long for faster widths of a size, behind one width of each variant")
	flags.DurationVar(&f.tuneTime, "tune-time", 0,
		"look so long for the fastest program of a size in a placement (default: no limit, and over nodes 30s)")
	flags.StringVarP(&f.out, "output", "o", "",
		"write the table of --tune (default: stdout) to `FILE`.table, the rules of --tune --staged to FILE.rules, or all times "+
			"of --judge as JSON lines to FILE.jsonl")
	flags.StringVar(&f.table, "table", "",
		"choose variants by the table in `FILE`, where it has some, before the one that is built in")
	f.ctas.Flags(flags, "launch up to `N` CTAs per rank, a multiple of a rank's thread blocks, instead of what is chosen")
	flags.IntVar(&f.threads, "threads", 0, "run blocks of `N` threads, instead of what is chosen")
	flags.StringVar(&f.tile, "tile", "", "move `N` bytes of a chunk in a tile iteration, instead of what is chosen")
	flags.StringVar(&f.rules, "rules", "", "run the staged programs that the rules in `FILE` name (--staged)")
	flags.BoolVar(&f.windows, "windows", false,
		"measure direct programs, between buffers that NCCL has registered as symmetric windows (--tune, --rules)")
	flags.StringVar(&f.arena, "arena", "32M",
		"use up to `N` bytes of a rank's memory for the programs of a collective (--tune --staged)")
	flags.IntVar(&f.procs, "procs", 0, "start `N` processes, with a rank each, or on the CPU with several")
	f.wait = 20 * time.Second
	flags.VarP(wait{&f.wait}, "timeout", "T", "give up when a step waits longer: a time, or seconds")
	return cmd
}

// benchArg measures what arg names.
func benchArg(ctx context.Context, a *cli.App, arg string, files []string, f *benchFlags) error {
	arg, files, err := filesOf(arg, files)
	if err != nil {
		return err
	}
	arg = a.About(arg)
	job, err := processes.Of(os.Getenv)
	if err != nil {
		return err
	}
	defer job.Leave()
	return job.Once(ctx, a, benchIn(ctx, a, job, arg, files, f))
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
	if len(files) > 0 && !measuresCollective(arg) {
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
	case f.judge && job != nil:
		return cli.Usagef("--judge measures with one process")
	}
	world, err := plan.Open(ctx, arg, job, a)
	if err != nil {
		return devices.Impossible(err)
	}
	defer world.close()
	if f.tune && f.forRules() {
		return tuneStaged(ctx, a, world)
	}
	if f.tune {
		return tuneAll(ctx, a, world)
	}
	if f.judge {
		return judgeAll(ctx, a, world)
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
