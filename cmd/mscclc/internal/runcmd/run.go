package runcmd

import (
	"cmp"
	"os"
	"time"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

type runFlags struct {
	compiling.Request
	device  string
	bytes   []string
	dtype   string
	redop   string
	iters   int
	threads int
	seed    uint64
	wait    time.Duration
	trace   string
	table   string
	procs   int
	row     int

	exhaustive bool

	team *team // or nil

	arguments []processes.Argument
}

// Command returns mscclc run.
func Command(a *cli.App) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE|COLLECTIVE [FILE...]",
		Short: "Run an algorithm or a program on random data, and compare every element",
		Long: `Run an algorithm, which is compiled first, or a program. Only proven programs run (mscclc help verify says what
proven means). The proof holds for the protocol, the slots and each size of the run. Proofs of large programs are kept
in a cache: MSCCLC_CACHE=FOLDER moves it, and MSCCLC_CACHE=off turns it off. --unproven runs any program.

Inputs are random, outputs are filled with a pattern, and guards surround every buffer. After the run every element is
compared with the collective computed directly: integers exactly, floats within the error bound of the summation.

Sizes are in bytes as nccl-tests counts them, of the larger of a rank's input and output, with a suffix K, M or G, and
several with commas. A program that needs sizes that divide runs the next smaller one that does. A run that has no
element to compare is not ok, except where the program requires nothing of its outputs.

The time is that of the fastest of --iters launches. It does not include making and comparing data. algbw is the bytes
divided by this time, and busbw the bandwidth of the bus as nccl-tests defines it. mscclc bench measures more carefully.
Of a COLLECTIVE the line also has the bound's share of the time. The bound is what the links of the known machine with
such devices allow any algorithm (mscclc topo MACHINE --bound), which the machine of the run may differ from.

--row N runs a program with an epilogue (mscclc list rows), whose rows have N elements. A size then counts the bytes of
whole rows of sums. Operands of the stages are random too. The output, updated residuals and scales are compared with
the epilogue computed directly, within what the roundings of f32 allow. Such programs run on the CPU and on GPUs.

Pipelines, of execution plans and of algorithms at the level of channels, run as many loop iterations as their bytes per
iteration ask for. They run fewer if the program would get too large; the line then says so.

A COLLECTIVE (allreduce and so on; --ranks N and --root N) has 4 ranks, or one for each process of a launcher. For each
size a variant of the catalog is chosen: by --table FILE, by what mscclc search found on these hosts, by the tables that
are built in, or by a simulation. mscclc search and select --emit write tables. The executor chooses the number of
replicas. Processes on several nodes run variants that are compiled for these nodes.
Beside a COLLECTIVE, ` + choosing.OwnUsage + `
They are chosen among as mscclc bench does, and a table may name them.

--trace writes when each step began and ended, of the last of --iters, as JSON for Perfetto (ui.perfetto.dev) or
Chrome's about:tracing. A rank is a process there, and a replica of a block is a thread. A step is named by whether it
copies or reduces, and by what its data goes over; so the colours show these. Its arguments have its operands and its
line in the algorithm. A trace of a long run has its first tile iterations. GPUs' times count from each GPU's first
step: their clocks differ. Each of several processes writes a trace of its own ranks, to FILE.0.json and so on. Where
ranks are of several nodes, these have the messages that the network sent and received, too.

--procs N runs in N processes of this machine, to which the ranks are dealt in turn. On the CPU they share memory. run
also reads the variables of mpirun, torchrun and srun, as mscclc help bench says. Each process compares the outputs of
its ranks, and the first reports. The time is that of the slowest rank.`,
		Example: `  mscclc run allreduce/allpairs -p ranks=8 --bytes 512K
  mscclc run allreduce -p ranks=4 --bytes 1K,1M,64M
  mscclc run allreduce ring.mscl --bytes 64K
  mscclc run ring.xml --bytes 1K,1M,64M --dtype bf16 --op max --iters 10`,
		Args: cli.AtLeast(1, "a file or a collective to run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.EndsBy(cmd.Context(), os.Interrupt)
			defer stop()
			f.arguments = processes.Arguments(args, cmd.Flags())
			return runSizes(ctx, a, cli.Collective(args[0]), args[1:], &f)
		},
	}
	flags := cmd.Flags()
	f.AddFlags(flags, "program")
	f.AddNodes(flags, "compile and prove a one-sided program")
	f.AddRanks(flags)
	cli.WordFlag(flags, &f.device, "device", "", "cpu", "run on `D`: "+cli.List(devices.Names()), devices.Names())
	flags.StringSliceVarP(&f.bytes, "bytes", "b", []string{"1M"}, "run `N` bytes, or each of N,N,...")
	cli.DtypeFlag(flags, &f.dtype, "", "f32")
	cli.WordFlag(flags, &f.redop, "op", "", "sum", "reduce by `OP`: "+cli.List(data.RedOps[:]), data.RedOps[:])
	flags.IntVar(&f.row, "row", 0, "rows of `N` elements, of a program with an epilogue")
	flags.IntVar(&f.iters, "iters", 1, "run each size `N` times, and compare after each")
	flags.IntVar(&f.threads, "threads", 0, "threads of the host for all blocks (default: its processors)")
	flags.Uint64Var(&f.seed, "seed", 1, "the random data's seed")
	flags.IntVar(&f.procs, "procs", 0, "start `N` processes, with a rank each or several")
	flags.StringVar(&f.trace, "trace", "", "write a trace of the run to `FILE`.json")
	flags.StringVar(&f.table, "table", "",
		"choose a collective's variants by the table in `FILE`, where it has some, before the one that is built in")
	choosing.ExhaustiveFlag(flags, &f.exhaustive, "where no table has a collective's call, ")
	flags.BoolVar(&f.Unproven, "unproven", false,
		"run a program that is not proven: it may hang until --timeout, and compute anything")
	flags.DurationVar(&f.wait, "timeout", time.Minute, "give up when a step waits longer")
	return cmd
}

// A runResult is one size.
type runResult struct {
	Device   string  `json:"device"`
	Bytes    int64   `json:"bytes"`
	DType    string  `json:"dtype"`
	Op       string  `json:"op"`
	Inplace  bool    `json:"inplace"`
	Protocol string  `json:"protocol"`
	Row      int     `json:"row,omitempty" doc:"elements of a row, of a program with an epilogue"`
	Then     string  `json:"then,omitempty" doc:"what becomes of each row of a sum"`
	Iters    int     `json:"iters"`
	Turns    int     `json:"turns,omitempty" doc:"of loops of a program of channels, where it has some"`
	Seconds  float64 `json:"seconds" doc:"of the fastest iteration: of the launch alone"`
	AlgBW    float64 `json:"algbw" doc:"of that iteration, in GB/s"`
	BusBW    float64 `json:"busbw" doc:"as nccl-tests has it, in GB/s"`
	Checked  int64   `json:"checked" doc:"elements that were compared; 0 where outputs may hold anything"`
	Wrong    int64   `json:"wrong" doc:"elements that were wrong"`

	Problems []diag.Problem `json:"problems,omitempty" doc:"why it did not run, or not to its end"`

	choosing.Beside

	turns compiling.Turned // Turns, with those that were asked for
	ran   bool             // it came to its end, or to some steps that its trace has

	observed bool      // see request
	anything bool      // outputs may hold anything, so that there is nothing to compare
	fault    error     // what is wrong besides elements
	found    diag.List // Problems
}

// A runPlan is what the flags of run say.
type runPlan struct {
	flags *runFlags
	sizes []int64
	dtype data.DType
	redop data.RedOp
	trace executor.Trace
}

func (f *runFlags) plan() (*runPlan, error) {
	r := &runPlan{flags: f}
	var ok bool
	if r.dtype, ok = data.DTypeByName(f.dtype); !ok {
		return nil, cli.Unknown("type", f.dtype, cli.DtypeNames())
	}
	if r.redop, ok = data.RedOpByName(f.redop); !ok {
		return nil, cli.Unknown("reduction", f.redop, data.RedOps[:])
	}
	if _, ok := ir.ProtocolByName(f.Protocol); !ok && f.Protocol != "" {
		return nil, cli.Unknown("protocol", f.Protocol, ir.ProtocolNames())
	}
	if f.trace == "-" || f.trace != "" && len(f.bytes) > 1 {
		return nil, cli.Usagef("--trace is of one run, into a file: it takes one --bytes and FILE")
	}
	for _, s := range f.bytes {
		n, err := cli.ParseBytes(s)
		if err != nil {
			return nil, err
		}
		r.sizes = append(r.sizes, n)
	}
	switch {
	case devices.Table[f.device] == nil:
		return nil, cli.Unknown("device", f.device, devices.Names())
	case f.threads > 0 && devices.GPUs[f.device] != nil:
		return nil, cli.Usagef("--threads are the host's, and --device is %s", f.device)
	}
	return r, cmp.Or(cli.From("iters", f.iters, 1), cli.From("threads", f.threads, 0), cli.From("procs", f.procs, 0),
		sizing.CheckRow(f.row), cli.From("timeout", f.wait, time.Millisecond))
}
