package simulatecmd

import (
	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"

	"github.com/spf13/cobra"
)

// Flags are those of simulate. Select simulates with some of them.
type Flags struct {
	compiling.Flags
	topology   string
	device     string // that the GPUs of the topology are, or ""
	Costs      string
	Begin, End string
	Factor     int64
	Dtype      string
	By         string
	ctas       cli.CTAs
	threads    int
	tile       string
	multicast  bool
	row        int
	exhaustive bool
	trace, svg string
}

// Command returns mscclc simulate.
func Command(a *cli.App) *cobra.Command {
	var f Flags
	cmd := &cobra.Command{
		Use:   "simulate FILE|COLLECTIVE",
		Short: "Say how long an algorithm or a program would take on a topology",
		Long: `Say how long an algorithm or a program would take on a topology. An algorithm is compiled first. It is an event
simulation of the program's steps. Messages share links, each of which has a latency and a bandwidth. mscclc help topo
says what a topology is. The topology's device has the costs of launches, steps and signals. --costs FILE replaces them,
in the form of simulate/devices/*.json.

Ranks fill one node of the topology after the other, unless the algorithm says how many a node has (ranks_per_node), or
--nodes how they lie. One-sided programs are compiled for these nodes. A compiled program is refused if it reaches
memory of another node in a way that the network does not carry, such as packets.

Of a collective, such as allreduce, the fastest program of the catalog is chosen for each size, as mscclc select chooses
it. The row names it: swing:rows=4 is the algorithm swing with -p rows=4. All GPUs of the topology take part.

A row has two times. Latency is the time of one call alone: from its begin on all ranks to its end on the last. Interval
is the time from the end of a call to the end of the next, where calls follow each other. A rank begins the next call
when it has ended this one, so the interval of a chain is a small part of its latency. nccl-tests and mscclc bench
measure the interval. It is - where the program is too large for several calls to be simulated.

Bandwidths are nccl-tests'. --by says which of the two times they are of, and the replicas and the link too; it is the
latency unless --by interval is given. The link is the one that was occupied longest, with the part of the time that it
was. A low value means that latency limits the call. The bound is the least time that the topology's links allow any
algorithm, without latencies: the cut is the links that limit it (mscclc topo MACHINE --bound). A rank that is alone
moves nothing: its times and its bandwidths are 0.

--trace writes when each step of the last size began and ended, as JSON for Perfetto (ui.perfetto.dev); --svg draws it.
- is stdout, and the rows go to stderr. Both show one call alone, which takes its latency. Their colours tell copies
from reductions, and a GPU's memory, the links of a node and the network from each other; signals are thin, and waiting
is pale. Of a long call they show the first tile iterations. The drawing says at its top what is left out.`,
		Example: `  mscclc simulate allreduce/ring --topology h200 -b 1K -e 1G
  mscclc simulate allreduce --topology h200 -b 1M -e 1M
  mscclc simulate allreduce/hierarchical -p nodes=4 --topology ndv4:nodes=4
  mscclc simulate broadcast/chain -t h200 --by interval
  mscclc simulate ring.xml --topology mine.topo -b 1M -e 1M --svg ring.svg`,
		Args: cli.Exactly(1, "a file or a collective to simulate"),
		RunE: func(_ *cobra.Command, args []string) error { return simulateSizes(a, cli.Collective(args[0]), &f) },
	}
	flags := cmd.Flags()
	f.AddFlags(flags, "program")
	f.AddNodes(flags, "compile a one-sided program")
	f.AddRanks(flags)
	flags.StringVarP(&f.topology, "topology", "t", "h200", "run on `T`: a machine, or a file, as mscclc topo takes it")
	flags.StringVar(&f.device, "device", "", "the GPUs of the topology are `NAME`, as h100: what costs are of")
	flags.StringVar(&f.Costs, "costs", "", "take the costs of a device from `FILE`")
	flags.StringVarP(&f.Begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&f.End, "end", "e", "1G", "the last size: `N` bytes")
	flags.Int64VarP(&f.Factor, "factor", "f", 4, "each size is `N` times the one before")
	cli.DtypeFlag(flags, &f.Dtype, "", "bf16")
	cli.ByFlag(flags, &f.By, "replicas and bandwidths are")
	f.ctas.Flags(flags, "launch up to `N` CTAs per rank, a multiple of a rank's thread blocks, with up to 256 replicas (default: the fastest number; of programs of more than 65,536 steps what the executor would take)")
	flags.IntVar(&f.threads, "threads", 0, "run blocks of `N` threads, from 1 to 1024, instead of what is chosen")
	flags.StringVar(&f.tile, "tile", "", "move `N` bytes of a chunk in a tile iteration, instead of what is chosen")
	flags.BoolVar(&f.multicast, "multicast", false,
		"have switches add up and spread what is via = switch, instead of ranks one by one")
	flags.IntVar(&f.row, "row", 0, "rows of `N` elements, of a program with an epilogue: sizes are whole rows")
	choosing.ExhaustiveFlag(flags, &f.exhaustive, "of a collective, ")
	flags.StringVar(&f.trace, "trace", "", "write a trace of the last size to `FILE`.json")
	flags.StringVar(&f.svg, "svg", "", "draw the last size to `FILE`.svg")
	return cmd
}

// A Document is what simulate --json prints.
type Document struct {
	Schema   int             `json:"schema"`
	File     string          `json:"file"`
	Topology string          `json:"topology"`
	Device   string          `json:"device"`
	Ranks    int             `json:"ranks"`
	Guessed  bool            `json:"unmeasured,omitempty" doc:"nobody measured the device's costs: times are estimates"`
	By       string          `json:"by" doc:"latency or interval: what us, algbw, busbw, replicas, ctas, link and occupied are of"`
	Sizes    []simulatedSize `json:"sizes"`
	cli.Noted
}

// A simulatedSize is one row.
type simulatedSize struct {
	Bytes    int64   `json:"bytes"`
	Micros   float64 `json:"us" doc:"the time that by names"`
	Latency  float64 `json:"latency_us" doc:"of one call alone"`
	Interval float64 `json:"interval_us,omitempty" doc:"of calls one after the other; absent where it is not known"`
	AlgBW    float64 `json:"algbw" doc:"GB/s, as nccl-tests has it"`
	BusBW    float64 `json:"busbw" doc:"GB/s"`
	Replicas int     `json:"replicas,omitempty" doc:"of a one-sided program's thread blocks, unless the executor chooses them"`
	CTAs     int     `json:"ctas,omitempty" doc:"of the rank that has most: thread blocks times replicas"`
	Passes   int64   `json:"passes" doc:"tile iterations"`
	Link     string  `json:"link,omitempty" doc:"the link that was occupied longest"`
	Occupied float64 `json:"occupied" doc:"the part of the time that link was occupied"`
	Program  string  `json:"program,omitempty" doc:"of a collective, the fastest of the catalog"`

	choosing.Beside
}

// How many replicas and threads of a block a GPU may have: blocks of all replicas run at once.
const (
	mostReplicas = 256
	mostThreads  = 1024
)

// checkLaunch returns the error of a flag that says how programs are launched, or nil.
func (f *Flags) checkLaunch() error {
	if err := f.ctas.Check(); err != nil {
		return err
	}
	if f.threads < f.least("threads") || f.threads > mostThreads {
		return cli.Usagef("simulate takes --threads from 1 to %d", mostThreads)
	}
	return nil
}

// least returns the least number that a flag takes: 0 is what it has where it is not given.
func (f *Flags) least(flag string) int {
	if f.Given.Changed(flag) {
		return 1
	}
	return 0
}

// Sizes returns what the flags say, and the call that is the same for all.
func (f *Flags) Sizes() (_ []int64, call simulate.Call, err error) {
	first, err := cli.ParseBytes(f.Begin)
	if err != nil {
		return nil, call, err
	}
	last, err := cli.ParseBytes(f.End)
	if err != nil {
		return nil, call, err
	}
	if f.Given != nil && !f.Given.Changed("end") {
		last = max(first, last)
	}
	if f.tile != "" {
		if call.Tile, err = cli.ParseBytes(f.tile); err != nil {
			return nil, call, err
		}
	}
	if call.Figure, err = cli.FigureOf(f.By); err != nil {
		return nil, call, err
	}
	dtype, ok := data.DTypeByName(f.Dtype)
	if !ok {
		return nil, call, cli.Unknown("type", f.Dtype, cli.DtypeNames())
	}
	if err := cli.CheckSizes(first, last, f.Factor); err != nil {
		return nil, call, err
	}
	if err := sizing.CheckRow(f.row); err != nil {
		return nil, call, err
	}
	call.DType, call.Threads, call.Multicast, call.Row = dtype, f.threads, f.multicast, f.row
	return bench.Sizes(first, last, f.Factor), call, nil
}

// CostsOf returns the costs that the flags name, or else those of the topology's device. It notes it if nobody measured
// these.
func (f *Flags) CostsOf(a *cli.App, t *topology.Topology) (*devices.Costs, error) {
	if f.Costs != "" {
		file, err := cli.OpenOf("--costs", f.Costs)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return devices.ReadCosts(f.Costs, file)
	}
	if t.Device == "" {
		_, err := devices.CostsOf("")
		return nil, diag.List{diag.New(diag.Undefined, diag.Span{}, "topology %s: %v", t.Name,
			err).WithHint("--device NAME says what the GPUs are; --costs FILE has others")}
	}
	c, err := devices.CostsOf(t.Device)
	switch {
	case err != nil:
		c = devices.StandIn(t.Device)
		a.Note("", "nobody measured what launches, steps and signals take on %s: the costs of %s are taken, and times are "+
			"guesses (--costs FILE has others)", diag.Printable(t.Device), devices.Measured)
	case c.Unmeasured:
		a.Note("", "nobody measured what launches, steps and signals take on %s: the costs are estimates, and so are the "+
			"times (docs/simulation.md#machines)", t.Device)
	}
	return c, nil
}

// oneStdout refuses flags that want stdout together.
func (f *Flags) oneStdout(json bool) error {
	drawn, traced := f.svg == "-", f.trace == "-"
	switch {
	case json && drawn:
		return cli.Usagef("--json and --svg - both want stdout: give --svg a file")
	case json && traced:
		return cli.Usagef("--json and --trace - both want stdout: give --trace a file")
	case drawn && traced:
		return cli.Usagef("--svg - and --trace - both want stdout: give one a file")
	}
	return nil
}

func simulateSizes(a *cli.App, arg string, f *Flags) error {
	arg = a.About(arg)
	if err := f.oneStdout(a.JSON); err != nil {
		return err
	}
	sizes, call, err := f.Sizes()
	if err != nil {
		return err
	}
	if err := f.checkLaunch(); err != nil {
		return err
	}
	if err := a.Claims(cli.Named{"--trace": f.trace, "--svg": f.svg}, arg, topology.File(f.topology), f.Costs); err != nil {
		return err
	}
	t, err := a.TopologyOf(f.topology, f.device)
	if err != nil {
		return err
	}
	costs, err := f.CostsOf(a, t)
	if err != nil {
		return err
	}
	of, err := f.programs(a, arg, t, costs, sizes, call)
	if err != nil {
		return err
	}
	rows := []simulatedSize{}
	var p *either.Program
	var divided *split // the first size that a smaller tile makes faster
	var limit *choosing.Bound
	bar := a.Progress(len(sizes), "simulate")
	stop := bar.Watch()
	defer stop()
	for _, bytes := range sizes {
		call.Bytes = bytes
		var name string
		if p, name, err = of(&call); err != nil {
			return err
		}
		if err := f.wholeRows(p, &call); err != nil {
			return err
		}
		latency, interval, err := simulate.Both(p, t, costs, call)
		if err != nil {
			return f.notSimulated(arg, t, costs, p, call, err)
		}
		row := rowOf(t, p, call, latency, interval, costs.OneSided.Shares)
		row.Program = name
		if limit == nil {
			is := boundOf(t, p, call)
			limit = &is
		}
		row.Beside = limit.Beside(call.Bytes, call.DType, row.Micros)
		rows = append(rows, row)
		if name == "" && divided == nil {
			divided = f.splitOf(p, t, costs, call, latency)
		}
		bar.Step()
	}
	if f.trace+f.svg != "" { // of the last size
		if err := drawSimulated(a, arg, f, p, t, costs, call); err != nil {
			return err
		}
	}
	stop()
	if rows[0].Program == "" { // else each size has its own
		sizing.NoteOutside(a, arg, p, sizes)
	}
	if divided != nil {
		divided.note(a, arg)
	}
	f.suggest(a, t, p.Coll, rows)
	noteEmpty(a, arg, call, rows)
	if f.svg == "-" || f.trace == "-" { // stdout is that, and the rows are talk
		a = a.Talking()
	}
	return printSimulated(a, arg, t, costs, p, call.Figure, rows, *limit)
}

// programs returns what has the program of a call, by its bytes, says how it is launched, and names it where it was
// chosen: that of a file or of an algorithm, or of a collective the fastest of the catalog.
func (f *Flags) programs(a *cli.App, arg string, t *topology.Topology, costs *devices.Costs, sizes []int64,
	call simulate.Call) (of func(call *simulate.Call) (*either.Program, string, error), err error) {
	if !cli.Exists(arg) && choose.IsCollective(arg) {
		return f.chosen(a, arg, t, costs, sizes, call)
	}
	p, err := f.program(a, arg, t, sizes[len(sizes)-1])
	if err != nil {
		return nil, err
	}
	replicas, note, err := f.ctas.Replicas(p, mostReplicas, costs.OneSided.Shares)
	if err != nil {
		return nil, err
	}
	if note != "" {
		a.Note("", "%s", note)
	}
	node, err := f.Nodes.Of(p.Coll.Ranks)
	if err != nil {
		return nil, err
	}
	return func(call *simulate.Call) (*either.Program, string, error) {
		call.Nodes = node
		if call.Replicas = replicas; replicas == 0 && p.OneSided != nil {
			call.Replicas = widest(p, t, costs, *call)
		}
		return p, "", nil
	}, nil
}

// manySteps are those of a program above which a size is not simulated in several widths.
const manySteps = 1 << 16

// widest returns how many replicas are fastest, or 0, the executor's own choice, of large programs.
func widest(p *either.Program, t *topology.Topology, costs *devices.Costs, call simulate.Call) int {
	if len(p.Steps) > manySteps {
		return 0
	}
	call.Trace, call.Rough = false, true
	return simulate.Widest(t.Device, call.Bytes, p.Coll.Ranks, func(n int) (float64, error) {
		call.Replicas = n
		r, err := simulate.Run(p, t, costs, call)
		if err != nil {
			return 0, err
		}
		return r.Micros, nil
	})
}
