package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/executor"
	"mscclc/executor/nccl"
	"mscclc/ir"
	"mscclc/ir/diag"
)

type benchFlags struct {
	compiling
	device       string
	begin, end   string
	factor       int64
	dtype, redop string
	ranks, root  int
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
	table, out   string
	columns      int
	threads      int
	tile         string
	procs        int
	wait         time.Duration
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench FILE|COLLECTIVE",
		Short: "Measure an algorithm, a program or a collective, as nccl-tests does, and NCCL beside it",
		Long: `Measure an algorithm, which is compiled first, a program, or a COLLECTIVE (allreduce, allgather, reducescatter, alltoall,
broadcast, reduce, sendrecv and so on), for which the catalog's fastest variant is chosen by size: by --table, by the table that mscclc
has of such devices, else by simulation (mscclc simulate) on the machine that has such devices, or of others as if they were H200s behind one
switch.

Rows and columns are nccl-tests': sizes of the larger of a rank's buffers, from -b to -e, each -f times the one before; out of
place and in place; N/A where there is no program for it. Each operation is first run once on random data with all else
poisoned, and every element of every output compared: integers exactly, floats within the bound of the reduction's own error.
Then it is timed: a replay is many launches in one CUDA graph, the time that of one launch, the median of --replays, of each
the slowest rank. The last column says how it was launched and what ran.

--vs nccl measures NCCL (libnccl.so.2 of the library path, or --nccl PATH) on the same buffers and in the same queues, its
replays between ours, launched from graphs and one by one; the faster counts, and ratio is how many times as fast ours is.
Nothing of NCCL's environment is changed.

--tune measures the catalog's variants, and how wide they run best, and writes a table to -o; entries of other devices,
ranks, collectives and placements that are in the file stay. --table FILE then chooses by it; one that was written by hand is
refused, with the field, where it says what cannot be or a rule is not for the call.

--online N has the first calls of each size go round the four variants that rank highest, and the fastest of these runs all others, as a program can ask of the
executor (package algorithms/choose, Online); ranks that are processes keep the same one.

--judge measures what is chosen for each size beside all that the catalog has, each variant in the width that suits it as far as --judge-time allows, then
the chosen one and the fastest in turns, and prints both and their ratio. It fails where one takes 5 % longer than the best. -o FILE has every
time that was measured, a JSON object a line.

One process drives all GPUs, with a thread each. --procs N starts N processes, with a rank each, instead; so do mpirun and
torchrun, whose variables (OMPI_COMM_WORLD_RANK, RANK and so on) are understood: then MASTER_ADDR, and the port above
MASTER_PORT, say where rank 0 listens, 127.0.0.1 and 29401 where they are not set.`,
		Example: `  mscclc bench allreduce --device cuda --vs nccl --plot allreduce.svg
  mscclc bench allgather --device cuda --tune -o h200.table
  mscclc bench allreduce --device cuda --procs 4 --online 3
  mscclc bench allreduce --device cuda --judge -o times.jsonl
  mscclc bench ring.mscl -p ranks=4 -b 64K -e 16M -f 2 --dtype f32
  mpirun -n 8 mscclc bench alltoall --device cuda --vs nccl --nccl /usr/lib/x86_64-linux-gnu/libnccl.so.2`,
		Args: exactly(1, "a file or a collective to measure"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			defer context.AfterFunc(ctx, a.abandon)()
			return a.bench(ctx, args[0], &f)
		},
	}
	flags := cmd.Flags()
	f.compiling.flags(flags, "plan")
	f.complete(cmd)
	f.sided, flags.Lookup("sided").DefValue = "one", "one"
	flags.StringVar(&f.device, "device", "cpu", "run on `D`: "+list(deviceNames()))
	flags.StringVarP(&f.begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&f.end, "end", "e", "", "the last size: `N` bytes (default 1G, on the CPU 1M)")
	flags.Int64VarP(&f.factor, "factor", "f", 4, "each size is `N` times the one before")
	flags.StringVar(&f.dtype, "dtype", "bf16", "elements are of type `T`: "+list(dtypeNames()))
	flags.StringVar(&f.redop, "op", "sum", "reduce by `OP`: "+list(executor.RedOps[:]))
	flags.IntVar(&f.ranks, "ranks", 0, "a collective's `N` ranks (default: the GPUs that there are; on the CPU 4)")
	flags.IntVar(&f.root, "root", 0, "a collective's root, of those that have one")
	flags.StringVar(&f.place, "place", "both", "measure calls of `PLACE`: out (of place), in (place) or both")
	flags.IntVar(&f.iters, "iters", 0, "launches of a replay (default: as many as take --replay-time)")
	flags.IntVar(&f.warmup, "warmup", 2, "replays that do not count")
	flags.IntVar(&f.replays, "replays", 7, "replays that count")
	flags.DurationVar(&f.length, "replay-time", 2*time.Millisecond, "what a replay takes, roughly")
	flags.BoolVar(&f.noGraph, "no-graph", false, "launch ours one by one too")
	flags.StringVar(&f.vs, "vs", "", "measure `LIBRARY` beside ours: nccl")
	flags.StringVar(&f.ncclFlag, "nccl", "", "NCCL is at `PATH`, a file or a folder (default: libnccl.so.2 of the library path)")
	flags.StringVar(&f.plot, "plot", "", "draw the curves to `FILE`.svg or .png")
	flags.BoolVar(&f.tune, "tune", false, "measure a collective's variants, and write a table")
	flags.IntVar(&f.online, "online", 0, "try the few variants that rank highest `N` times each, of each size, and keep the fastest, the same one on all ranks")
	flags.BoolVar(&f.judge, "judge", false, "measure what is chosen beside all of the catalog, and fail where it takes 5 % longer than the best")
	flags.DurationVar(&f.judgeTime, "judge-time", 1500*time.Millisecond, "look so long for faster widths of a size, behind one width of each variant")
	flags.StringVarP(&f.out, "output", "o", "", "write the table of --tune (default: stdout), or all times of --judge as JSON lines, to `FILE`")
	flags.StringVar(&f.table, "table", "", "choose variants by the table in `FILE`, where it has some, before the one that is built in")
	flags.IntVar(&f.columns, "columns", 0, "run `N` columns, instead of what is chosen")
	flags.IntVar(&f.threads, "threads", 0, "run blocks of `N` threads, instead of what is chosen")
	flags.StringVar(&f.tile, "tile", "", "move `N` bytes of a chunk in a pass, instead of what is chosen")
	flags.IntVar(&f.procs, "procs", 0, "start `N` processes, with a rank each")
	flags.DurationVar(&f.wait, "timeout", 20*time.Second, "give up when a step waits longer")
	return cmd
}

// A benchPlan is what the flags of bench say.
type benchPlan struct {
	*benchFlags
	kind      ir.Kind // of a collective that is named
	named     bool
	dtype     executor.DType
	redop     executor.RedOp
	sizes     []int64
	tileBytes int64
	measuring bench.Measuring
	table     *choose.Table
	chosenBy  *choose.Table // --table's, or nil
}

func (f *benchFlags) plan(arg string) (*benchPlan, error) {
	p := &benchPlan{benchFlags: f}
	var ok bool
	if p.dtype, ok = executor.DTypeByName(f.dtype); !ok {
		return nil, usagef("%q is no type of elements; there are %s", f.dtype, list(dtypeNames()))
	}
	if p.redop, ok = executor.RedOpByName(f.redop); !ok {
		return nil, usagef("%q is no reduction; there are %s", f.redop, list(executor.RedOps[:]))
	}
	if _, err := os.Stat(arg); err != nil && choose.IsCollective(arg) {
		p.kind, _ = ir.KindByName(arg)
		p.named = true
	}
	if f.end == "" {
		if f.end = "1G"; f.device == "cpu" {
			f.end = "1M"
		}
	}
	first, err := parseBytes(f.begin)
	if err != nil {
		return nil, err
	}
	last, err := parseBytes(f.end)
	if err != nil {
		return nil, err
	}
	if f.tile != "" {
		if p.tileBytes, err = parseBytes(f.tile); err != nil {
			return nil, err
		}
	}
	if err := f.check(p, first, last); err != nil {
		return nil, err
	}
	p.sizes = bench.Sizes(first, last, f.factor)
	p.measuring = bench.Measuring{Launches: f.iters, Replays: f.replays, Warmup: f.warmup, Target: f.length, Plain: f.noGraph}
	return p, p.readTable()
}

// check says what of the flags makes no sense.
func (f *benchFlags) check(p *benchPlan, first, last int64) error {
	switch {
	case deviceTable[f.device] == nil:
		return usagef("%q is no device; there are %s", f.device, list(deviceNames()))
	case first < 1 || first > last || f.factor < 2:
		return usagef("bench takes -b from 1 up to -e, and -f from 2")
	case f.iters < 0 || f.warmup < 0 || f.replays < 1 || f.length <= 0 || f.wait < time.Millisecond:
		return usagef("bench takes --iters and --warmup from 0, --replays from 1, a --replay-time above 0 and --timeout from 1ms")
	case f.columns < 0 || f.threads < 0 || f.procs < 0 || f.ranks < 0 || f.ranks > choose.MostRanks:
		return usagef("bench takes --columns, --threads and --procs from 0, and --ranks up to %d", choose.MostRanks)
	case f.place != "both" && f.place != "in" && f.place != "out":
		return usagef("--place takes out, in or both, not %q", f.place)
	case f.vs != "" && f.vs != "nccl":
		return usagef("--vs takes nccl, not %q", f.vs)
	case f.vs != "" && p.named && nccl.Supports(p.kind) != nil:
		return usagef("NCCL is not measured with %v", p.kind)
	case f.vs != "" && f.device != "cuda":
		return usagef("NCCL runs on --device cuda only")
	case f.tune && !p.named:
		return usagef("--tune takes a collective: there are %s", list(collectiveNames()))
	case f.judge && (!p.named || f.tune || f.vs != "" || f.procs > 0 || f.plot != "" || f.columns > 0 || f.threads > 0 || f.tile != ""):
		return usagef("--judge takes a collective, and no --tune, --vs, --procs, --plot, --columns, --threads or --tile")
	case f.online < 0 || f.online > mostTries || f.online > 0 && (!p.named || f.tune || f.judge):
		return usagef("--online takes a collective and a number up to %d, and no --tune and --judge", mostTries)
	case f.judgeTime <= 0 || !f.judge && f.oneGiven("judge-time") != "":
		return usagef("--judge-time is of --judge, and above 0")
	case f.out != "" && !f.tune && !f.judge:
		return usagef("-o is where --tune writes its table, and --judge its times")
	case !p.named && (f.ranks > 0 || f.root > 0):
		return usagef("--ranks and --root are of a collective; an algorithm takes -p ranks=N")
	case f.tune && (f.columns > 0 || f.threads > 0 || f.tile != ""):
		return usagef("--tune finds --columns, --threads and --tile, and takes none")
	case f.plot != "" && !slices.Contains([]string{".svg", ".png"}, strings.ToLower(filepath.Ext(f.plot))):
		return usagef("--plot draws a .svg or a .png, not %s", f.plot)
	case f.tune && f.table != "":
		return usagef("--tune measures all variants; what -o has already it keeps, and --table it has no use for")
	case f.tune && (f.vs != "" || f.procs > 0):
		return usagef("--tune measures the catalog's variants, with one process: it takes no --vs and no --procs")
	case f.procs > 0 && gpuTable[f.device] == nil:
		return usagef("--procs are processes with a GPU each, and --device is %s", f.device)
	case f.columns > executor.DefaultMaxColumns && gpuTable[f.device] == nil:
		return usagef("--columns goes up to %d on %s", executor.DefaultMaxColumns, f.device)
	case f.threads > choose.MostThreads || f.threads%choose.WarpThreads != 0:
		return usagef("--threads takes a multiple of %d up to %d", choose.WarpThreads, choose.MostThreads)
	case f.threads > 0 && gpuTable[f.device] == nil:
		return usagef("--threads are a GPU's, and --device is %s", f.device)
	case f.tune && f.plot != "":
		return usagef("--plot draws what is measured without --tune")
	case !p.named && f.table != "":
		return usagef("--table chooses variants of a collective, not of a file")
	case f.ncclFlag != "" && f.vs == "":
		return usagef("--nccl is where --vs nccl finds it")
	case p.named:
		return f.chosenOnly("--ranks, --root, --place and the like")
	}
	return nil
}

// mostTries is how often a user may have a candidate tried.
const mostTries = 1000

func collectiveNames() []string {
	var names []string
	for _, k := range choose.Collectives() {
		names = append(names, k.String())
	}
	return names
}

func (p *benchPlan) readTable() error {
	f := p.benchFlags
	if f.table == "" {
		p.table = choose.DefaultTable()
		return nil
	}
	file, err := os.Open(f.table)
	if err != nil {
		return err
	}
	defer file.Close()
	if p.chosenBy, err = choose.ReadTable(f.table, file); err != nil {
		return err
	}
	p.table = choose.DefaultTable().With(p.chosenBy)
	return nil
}

// bench measures what arg names.
func (a *app) bench(ctx context.Context, arg string, f *benchFlags) error {
	a.file = arg
	plan, err := f.plan(arg)
	if err != nil {
		return err
	}
	job, err := jobOf(os.Getenv)
	switch {
	case err != nil:
		return err
	case !placeFor(f.out) || !placeFor(f.plot): // hours of measuring are not to be for nothing
		file := cmp.Or(f.plot, f.out)
		return diag.List{diag.New(diag.Io, fileSpan(file), "there is no folder %s to write it to", filepath.Dir(file))}
	case f.procs > 0 && os.Getenv(envIndex) == "":
		return a.startAll(ctx, f.procs)
	case (f.tune || f.judge) && job != nil:
		return usagef("--tune and --judge measure with one process")
	}
	world, err := plan.open(ctx, arg, job, a)
	if err != nil {
		return impossible(err)
	}
	defer world.close()
	if f.tune {
		return a.tuneAll(ctx, world)
	}
	if f.judge {
		return a.judgeAll(ctx, world)
	}
	return a.measureAll(ctx, world)
}

// placeFor says whether a file, if it is one, has a folder to be in.
func placeFor(file string) bool {
	info, err := os.Stat(filepath.Dir(file))
	return file == "" || err == nil && info.IsDir()
}

// abandon ends the process where an interrupted measurement does not come to an end by itself: a
// thread may be inside a driver, or a library, whose kernels wait for ever.
func (a *app) abandon() {
	time.Sleep(10 * time.Second)
	fmt.Fprintln(a.stderr, "mscclc: interrupted; the devices' work does not end, and is left alone")
	os.Exit(exitMachine)
}
