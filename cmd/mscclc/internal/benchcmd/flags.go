package benchcmd

import (
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor/data"

	"github.com/spf13/pflag"
)

// This file has the flags of bench, compare and search, in the groups that several of these share.

// A task is what a command does with the calls that its flags name.
type task uint8

const (
	toMeasure task = iota // bench
	toCompare             // compare
	toSearch              // search
)

// String names the command.
func (t task) String() string { return [...]string{"bench", "compare", "search"}[t] }

// benchFlags are the flags of the three commands. Those that a command has not are as nobody sets them.
type benchFlags struct {
	task task
	compiling.Flags
	callFlags
	timeFlags
	choiceFlags
	testsFlags
	device       string
	vs, ncclFlag string
	plot         string
	online       int
	limit        time.Duration // of --time: how long a size is searched
	out          string
	arena, rules string
	windows      bool
	procs        int
	arguments    []processes.Argument
}

// callFlags say which calls there are.
type callFlags struct {
	begin, end   string
	factor       int64
	step         string // -i, of nccl-tests
	dtype, redop string
	ranks, root  int
	rootText     string // of --root
	allRoots     bool
	nodes        int // that --nodes says
	place        string
	row          int // elements of a row, of programs with an epilogue; else 0
}

// add defines them.
func (c *callFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&c.begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&c.end, "end", "e", "", "the last size: `N` bytes (default 1G, on the CPU 1M)")
	flags.Int64VarP(&c.factor, "factor", "f", 4, "each size is `N` times the one before; 0 and 1 are for -i")
	flags.StringVarP(&c.step, "stepbytes", "i", "", "each size is `N` bytes above the one before, unless -f says a factor")
	cli.DtypeFlag(flags, &c.dtype, "d", "bf16")
	flags.IntVarP(&c.ranks, "ranks", "g", 0,
		"run on `N` ranks (default: the GPUs that there are; on the CPU 4; for a file its own)")
	cli.WordFlag(flags, &c.place, "place", "", "both", "measure calls of `PLACE`: out (of place), in (place) or both",
		placeNames)
}

// addOp defines --op, with nccl-tests' letter for it where no output file has it, and --root.
func (c *callFlags) addOp(flags *pflag.FlagSet, short string) {
	cli.WordFlag(flags, &c.redop, "op", short, "sum", "reduce by `OP`: "+cli.List(data.RedOps[:]), data.RedOps[:])
	all := ""
	if short != "" {
		all = "; all or -1 is each in turn"
	}
	flags.StringVarP(&c.rootText, "root", "r", "0", "a collective's root `N`, of those that have one"+all)
}

// timeFlags say how a call is timed.
type timeFlags struct {
	iters   int
	warmup  int
	replays int
	length  time.Duration
	noGraph bool
	wait    time.Duration
}

// add defines them, but for --no-graph.
func (t *timeFlags) add(flags *pflag.FlagSet) {
	flags.IntVarP(&t.iters, "iters", "n", 0, "launches of a replay (default: as many as take --replay-time)")
	flags.IntVarP(&t.warmup, "warmup", "w", 2, "replays that do not count")
	flags.IntVar(&t.replays, "replays", 7, "replays that count")
	flags.DurationVar(&t.length, "replay-time", 2*time.Millisecond, "what a replay takes, roughly")
	t.wait = 20 * time.Second
	flags.VarP(wait{&t.wait}, "timeout", "T", "give up when a step waits longer: a time, or seconds")
}

// choiceFlags say what runs a call of a collective.
type choiceFlags struct {
	by      string
	table   string
	ctas    cli.CTAs
	threads int
	tile    string
}

// add defines those that say how a program is chosen.
func (c *choiceFlags) add(flags *pflag.FlagSet) {
	cli.ByFlag(flags, &c.by, "where no table has a variant, the simulation chooses")
	flags.StringVar(&c.table, "table", "",
		"choose variants by the table in `FILE`, where it has some, before the one that is built in")
}

// addWidth defines those that change how wide it is.
func (c *choiceFlags) addWidth(flags *pflag.FlagSet) {
	c.ctas.Flags(flags, "launch up to `N` CTAs per rank, a multiple of a rank's thread blocks, instead of what is chosen")
	flags.IntVar(&c.threads, "threads", 0, "run blocks of `N` threads, instead of what is chosen")
	flags.StringVar(&c.tile, "tile", "", "move `N` bytes of a chunk in a tile iteration, instead of what is chosen")
}

// addDevice defines --device.
func (f *benchFlags) addDevice(flags *pflag.FlagSet) {
	cli.WordFlag(flags, &f.device, "device", "", "cpu", "run on `D`: "+cli.List(devices.Names()), devices.Names())
}

// addJob defines --procs.
func (f *benchFlags) addJob(flags *pflag.FlagSet) {
	flags.IntVar(&f.procs, "procs", 0, "start `N` processes, with a rank each, or on the CPU with several")
}

// addNCCL defines --nccl.
func (f *benchFlags) addNCCL(flags *pflag.FlagSet) {
	flags.StringVar(&f.ncclFlag, "nccl", "",
		"NCCL is at `PATH`, a file or a folder (default: libnccl.so.2 of the library path)")
}

// addCollective defines what compare and search share. They have no arguments of nccl-tests', which keep the values
// that bench has when nobody says them.
func (f *benchFlags) addCollective(flags *pflag.FlagSet) {
	f.testsFlags.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	testsWords(flags)
	f.AddBeside(flags)
	f.addDevice(flags)
	f.callFlags.add(flags)
	f.addOp(flags, "")
	f.timeFlags.add(flags)
}
