package selectcmd

import (
	"errors"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/simulatecmd"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/cmd/mscclc/internal/synthcmd"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/simulate"

	"github.com/spf13/cobra"
)

type selectFlags struct {
	topology, costs string
	begin, end      string
	dtype, by       string
	target          string
	inplace, placed bool // --inplace, and whether it is given
	staged          bool
	emit            string
	root            string // --root's setting
	factor          int64
	device          string
	ranges          int
	exhaustive      bool
	cli.Reading
}

// Command returns mscclc select.
func Command(a *cli.App) *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:   "select COLLECTIVE|FILE [FILE...]",
		Short: "Say which algorithm, of the catalog or your own, is the fastest for which sizes on a topology",
		Long: `Say which algorithm of the catalog is the fastest for which sizes on a topology, and why each range begins
where it does. The times are simulated (mscclc simulate), and all GPUs of the topology take part.

` + choosing.OwnUsage + `
Files of a custom collective are given alone, and compared with each other: they have the same lines collective and
require, and their ranks are the topology's.
A program with parameters of shape is named with these, as swing:rows=4. They are the rows of a torus, or groups of GPUs
that lie near each other. Programs are simulated in the order of the least times that their links and rounds allow, up
to the time of the best so far. --exhaustive simulates all, which takes longer.

A second list says how files stand beside the fastest. A table that --emit writes names them, and mscclc run and bench
take the same files with it.

Both times of a call are printed. Latency is the time of one call alone. Interval is the time from the end of a call to
the end of the next, where calls follow each other. The fastest program has the least latency, or with --by interval the
least interval, which nccl-tests and mscclc bench measure. Calls of a long chain overlap, so that its interval is short
and its latency long. Of two programs as fast as each other, the one whose ranks end with the same bits comes first.

Programs are one-sided, for mscclc's own executor, in several widths. With --target msccl or rccl they are XML, and with
--target mscclpp execution plans, in several instances: "x4" is --instances 4. Plans have ports between the topology's
nodes: mscclc compile makes the same plan with --nodes N. They are simulated as mscclc's executor would run them.

The sizes are -b and -f times as much again and again, up to -e. What is fastest at -b is taken for all smaller sizes
too, and what is fastest at the last size for all larger ones. For msccl the last range ends at -e, since that runtime
makes memory for calls up to there.

--emit FOLDER writes what a runtime reads. It keeps what the folder has for other collectives and placements, and
replaces what select wrote there before for the same ones, if nobody has changed it since.
  mscclc  FOLDER/COLLECTIVE.table, which bench and run take by --table. Its times are intervals. Its device is --device
          NAME, as the driver names it. Of a topology of several nodes its entry has "nodes": N, for bench --nodes N.
          With --staged it writes FOLDER/COLLECTIVE.rules instead, and keeps the table.
  msccl   an XML file a range, and msccl.xml, which MSCCL_CONFIG=FOLDER/msccl.xml names. The runtime reads at most 4
          algorithms, of all collectives, so ranges are joined where that costs least; --ranges 2 leaves room for
          others. Sizes go from minbytes to below maxbytes. It needs NCCL_ALGO=MSCCL,RING,TREE.
  rccl    an XML file a range, for MSCCL_ALGO_DIR=FOLDER. The runtime takes the first that fits, in the order in which
          the folder lists them.
  mscclpp an execution plan a range, for the range's sizes. Its library of NCCL's functions takes, of the plans that a
          process has registered, one whose sizes the call has (docs/mscclpp.md).

With --staged, programs are staged, as bundles have them: ranks reach scratch, packets and flags of other ranks only.
Their launches have at most 32 CTAs, and -e is 4M by default. --emit writes FOLDER/COLLECTIVE.rules, which mscclc bundle
--rules takes: one candidate for each range of sizes up to 4M, with the replicas that suit the range's largest calls. It
replaces the candidates for the same collective and ranks that the file has, and keeps measured rules. In a job, the
library learns which candidates are faster than NCCL (docs/bundle.md, Candidates). Ranks are 2 to 16, of one node.

A gap is a range of sizes that run the library's own algorithms: for msccl and rccl the sizes that a program's chunks do
not divide, and for msccl those above -e. An overlap is a range of sizes that several files in FOLDER are for.`,
		Example: `  mscclc select allreduce --topology h200:gpus=4
  mscclc select allreduce --topology ndv4 --target msccl -b 1M -e 4M --emit algos
  mscclc select allreduce --topology h200:gpus=8 --target mscclpp -e 64M --emit plans
  mscclc select allgather -t dgx_h100:nodes=1 --device "NVIDIA H100 80GB HBM3" --staged --emit rules
  mscclc select allgather --topology mine.topo -b 1M -e 64M
  mscclc select allreduce ring.mscl --topology ndv4:nodes=2
  mscclc select scan/chain scan/recursive_doubling --topology h200:gpus=8`,
		Args: cli.AtLeast(1, "a collective"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.placed = cmd.Flags().Changed("inplace")
			if f.staged && !cmd.Flags().Changed("end") {
				f.end = stagedEnd
			}
			return selectFor(a, cli.Collective(args[0]), args[1:], &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.topology, "topology", "t", "h200", "run on `T`: a machine, or a file, as mscclc topo takes it")
	flags.StringVar(&f.costs, "costs", "", "take the costs of a device from `FILE`")
	flags.StringVarP(&f.begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&f.end, "end", "e", "1G", "the last size: `N` bytes")
	flags.Int64VarP(&f.factor, "factor", "f", 2, "each size is `N` times the one before")
	cli.AddRoot(flags, &f.root)
	cli.DtypeFlag(flags, &f.dtype, "", "bf16")
	cli.ByFlag(flags, &f.by, "what is fastest is so")
	cli.WordFlag(flags, &f.target, "target", "", "program", "programs are for `T`: "+cli.List(cli.TargetNames()), cli.TargetNames())
	flags.BoolVar(&f.inplace, "inplace", false, "calls have input and output in one memory")
	flags.BoolVar(&f.staged, "staged", false,
		"choose among staged programs, which bundles take; --emit writes rules for mscclc bundle")
	flags.StringVar(&f.emit, "emit", "", "write what the runtime reads into `FOLDER`")
	f.Reading.Flags(flags, cli.LimitNames())
	flags.IntVar(&f.ranges, "ranges", 0,
		"make at most `N` ranges; 0 is as many as there are, of msccl those that it has room for")
	choosing.ExhaustiveFlag(flags, &f.exhaustive, "")
	flags.StringVar(&f.device, "device", "", "the table or the rules of --emit are for devices of `NAME` (default: the topology's), and so are GPUs of a topology that does not say what they are")
	return cmd
}

// noCollective says why nothing is selected for a name, and what there is.
func noCollective(name string) error {
	kinds := cli.CollectiveNames()
	if of := cli.AlgorithmsOf(name); len(of) > 0 {
		return cli.Usagef("%q is a custom collective: runtimes have no call of that name, for which a program could be selected. mscclc simulate %s says what one takes; select has %s", name, of[0], cli.List(kinds))
	}
	wrong := cli.Usagef("%q is no collective of the catalog, which has %s", name, cli.List(kinds))
	if near := cli.MeantCollective(name); near != "" {
		return wrong.Hint("did you mean %s?", near)
	}
	return wrong
}

// selector makes what the flags ask for.
func (f *selectFlags) selector(a *cli.App, arg string) (*choose.Selector, []int64, error) {
	if !choose.IsCollective(arg) && arg != custom {
		return nil, nil, noCollective(arg)
	}
	sim := simulatecmd.Flags{Begin: f.begin, End: f.end, Factor: f.factor, Dtype: f.dtype, Costs: f.costs, By: f.by}
	sizes, call, err := sim.Sizes()
	if err != nil {
		return nil, nil, err
	}
	t, err := a.TopologyOf(f.topology, "")
	if f.device != "" && (err != nil || t.Device == "") { // which says what the GPUs are, too
		t, err = a.TopologyOf(f.topology, f.device)
	}
	if err != nil {
		return nil, nil, err
	}
	costs, err := sim.CostsOf(a, t)
	if err != nil {
		return nil, nil, err
	}
	target, err := codegen.TargetByName(f.target)
	if err != nil {
		return nil, nil, cli.Usagef("select takes --target %s, not %q", cli.List(cli.TargetNames()), f.target)
	}
	if f.ranges < 0 {
		return nil, nil, cli.Usagef("--ranges is from 1, or 0 for any number")
	}
	root, given := cli.Root(f.root)
	s, err := choosing.Selector(strings.ToLower(arg), t, costs, call, target, f.inplace, root)
	if err == nil {
		err = cli.CheckRoot(s.Call.Kind, s.Call.Ranks, root, given)
	}
	if err != nil {
		return nil, nil, err
	}
	s.Most, s.OwnWidth, s.Exhaustive = f.ranges, f.device == "cpu", f.exhaustive
	return s, sizes, f.boundStaged(s)
}

func selectFor(a *cli.App, arg string, files []string, f *selectFlags) error {
	if !choose.IsCollective(arg) && namesFile(arg) {
		arg, files = custom, append([]string{arg}, files...)
	}
	s, sizes, err := f.selector(a, arg)
	if err != nil {
		return err
	}
	if arg == custom && len(files) == 0 {
		return cli.Usagef("select of a custom collective needs files that have it")
	}
	if s.Own, err = choosing.ReadUserPrograms(a, files, &f.Reading); err != nil {
		return err
	}
	if err := f.checkOwn(s.Own); err != nil {
		return err
	}
	if err := choosing.PlaceOf(a, s.Own, &s.Call, f.placed); err != nil { // a file that was named is to be looked at
		return err
	}
	coll, err := f.collective(s)
	if err != nil {
		return err
	}
	if err := codegen.CheckHeader(&ir.Header{Coll: coll}, s.Target).Err(); err != nil {
		return err
	}
	measure := sizing.MeasureOf(coll, s.DType, false)
	kept, err := sizing.WithData(sizes, measure, "-b %[1]d -e %[1]d")
	if err != nil {
		return err
	}
	measure.NoteEmpty(a, sizes, kept)
	sizes = kept
	last, err := cli.ParseBytes(f.end)
	if err != nil {
		return err
	}
	out := &emission{app: a, flags: f, selector: s, end: last + 1, notes: []string{}}
	if err := out.prepare(); err != nil {
		return err
	}
	bar := a.Progress(len(sizes), "simulate")
	stop := bar.Watch()
	defer stop()
	s.Stepped = bar.Step
	list, err := s.Sizes(sizes)
	if none := s.NoRing(); none != "" {
		a.Note("", "%s", none)
	}
	if errors.Is(err, choose.ErrNothing) || errors.Is(err, simulate.ErrNoWay) {
		return choosing.Nothing(s, f.topology, err)
	}
	if err != nil {
		return err
	}
	stop()
	out.bound(list)
	if skipped := s.Skipped(); len(skipped) > 0 {
		a.Note("", "not looked at, as they move so many chunks that they take long to compile, and others fewer: %s",
			strings.Join(skipped, ", "))
	}
	gaps, err := out.gaps(list)
	if err != nil {
		return err
	}
	overlaps, err := out.Write(list)
	if err != nil {
		return err
	}
	for _, r := range list {
		if n := choosing.DifferNote(r.Program, s.Differs(r.Form), s.DType); n != "" && !slices.Contains(out.notes, n) {
			out.notes = append(out.notes, n)
		}
	}
	var own []choose.Standing
	for i := range list {
		at, err := s.Standings(&list[i])
		if err != nil {
			return err
		}
		own = append(own, at...)
	}
	limit := choosing.BoundOn(s.Topology, coll, nil)
	f.suggest(a, s, list, limit)
	return printSelected(a, s, &selected{list, own, gaps, overlaps, out.notes, limit})
}

// suggest notes a program of trees that is faster than what was selected for mscclc's executor, if there is one.
func (f *selectFlags) suggest(a *cli.App, s *choose.Selector, list []choose.Stretch, limit choosing.Bound) {
	if f.costs != "" || f.device != "" || len(s.Own) > 0 || s.Target.Format != codegen.FormatProgram {
		return
	}
	var chosen []synthcmd.Chosen
	for _, r := range list {
		share := limit.Beside(r.At, s.DType, r.Micros).Share
		chosen = append(chosen, synthcmd.Chosen{Call: s.Call, Bytes: r.At, Micros: r.Latency, Share: share})
	}
	synthcmd.Suggest(a, s.Topology, f.topology, chosen)
}

// A selected is what select has found.
type selected struct {
	list                  []choose.Stretch
	own                   []choose.Standing // of the user's files
	gaps, overlaps, notes []string
	limit                 choosing.Bound
}
