package benchcmd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate"
)

// The words that flags of bench take.
var (
	placeNames = []string{"out", "in", "both"}
	rivalNames = []string{"nccl", besideTwo}
)

// A benchPlan is what the flags of bench say.
type benchPlan struct {
	*benchFlags
	kind      ir.Kind // of a collective that is named
	named     bool
	dtypes    []data.DType // all that are measured, and reductions
	redops    []data.RedOp
	dtype     data.DType // the one that is measured now
	redop     data.RedOp
	sizes     []int64
	stepBytes int64           // -i's, or 0
	figure    simulate.Figure // --by's
	tileBytes int64
	// arenaBytes is --arena.
	arenaBytes int64
	measuring  bench.Measuring
	table      *selection.Table
	chosenBy   *selection.Table    // --table's, or nil
	own        choose.UserPrograms // the files beside a collective
	measured   *bundle.Measured    // of --rules, or nil
}

// measuresCollective reports whether arg is a collective, and no file.
func measuresCollective(arg string) bool { return !cli.Exists(arg) && choose.IsCollective(arg) }

func (f *benchFlags) plan(a *cli.App, arg string, files []string) (*benchPlan, error) {
	p := &benchPlan{benchFlags: f}
	err := p.parseTypes()
	if err != nil {
		return nil, err
	}
	p.figure = simulate.Interval // which a search measures
	if f.task != toSearch {
		if p.figure, err = cli.FigureOf(f.by); err != nil {
			return nil, err
		}
	}
	if p.named = measuresCollective(arg); p.named {
		p.kind, _ = ir.KindByName(arg)
	} else if of := cli.AlgorithmsOf(arg); !cli.Exists(arg) && len(of) > 0 {
		return nil, cli.Usagef("%q is a folder of custom collectives: mscclc bench %s measures one. bench has %s", arg, of[0], cli.List(cli.CollectiveNames()))
	}
	if !p.named && f.ranks > 0 {
		f.RanksSetting = "ranks=" + strconv.Itoa(f.ranks)
	}
	if f.nodes, err = f.Nodes.Count(); err != nil {
		return nil, err
	}
	open := f.end == ""
	if open {
		switch f.end = "1G"; {
		case f.device == "cpu":
			f.end = "1M"
		case f.row > 0: // the host makes and checks the data
			f.end = "16M"
		}
	}
	first, err := cli.ParseBytes(f.begin)
	if err != nil {
		return nil, err
	}
	last, err := cli.ParseBytes(f.end)
	if err != nil {
		return nil, err
	}
	if open {
		last = max(first, last)
	}
	if f.tile != "" {
		if p.tileBytes, err = cli.ParseBytes(f.tile); err != nil {
			return nil, err
		}
	}
	if f.arena != "" {
		if p.arenaBytes, err = cli.ParseBytes(f.arena); err != nil {
			return nil, err
		} else if err := cli.From("arena", p.arenaBytes, 1); err != nil {
			return nil, err
		}
	}
	if err := f.check(p, first, last); err != nil {
		return nil, err
	}
	if p.sizes, p.stepBytes, err = f.sizesOf(first, last); err != nil {
		return nil, err
	}
	p.measuring = bench.Measuring{Launches: f.iters, Replays: f.replays, Warmup: f.warmup, Target: f.length,
		Plain: f.noGraph}
	f.testsFlags.measuring(f, &p.measuring)
	if p.own, err = choosing.ReadUserPrograms(a, files, &f.Reading); err != nil {
		return nil, err
	}
	if f.rules != "" {
		if p.measured, err = openMeasured(f.rules); err != nil {
			return nil, err
		}
	}
	p.table, p.chosenBy, err = choosing.ReadTables(f.table, p.own)
	return p, err
}

// Check says what of the flags makes no sense.
func (f *benchFlags) check(p *benchPlan, first, last int64) error {
	if devices.Table[f.device] == nil {
		return cli.Unknown("device", f.device, devices.Names())
	}
	if err := cmp.Or(f.checkSizes(first, last), f.below()); err != nil {
		return err
	}
	switch {
	case f.ranks > choose.MostRanks:
		return cli.Usagef("--ranks takes a number up to %d, not %d", choose.MostRanks, f.ranks)
	case !slices.Contains(placeNames, f.place):
		return cli.Usagef("--place takes out, in or both, not %q", f.place)
	case f.nodes > 1 && f.table == "" && p.named:
		return cli.Usagef("--nodes says for which nodes a file is compiled, or which entries of --table count")
	case f.vs == "nccl" && f.device != "cuda":
		return cli.Usagef("NCCL runs on --device cuda only")
	case f.ncclFlag != "" && f.vs != "nccl":
		return cli.Usagef("--nccl is where --vs nccl finds it")
	case f.task != toMeasure && !p.named:
		return cli.Usagef("%s takes a collective: there are %s", f.task, cli.List(cli.CollectiveNames()))
	case f.task == toCompare:
		return f.checkCompare()
	case f.task == toSearch:
		return f.checkSearch(p)
	}
	return cmp.Or(f.testsFlags.check(f), f.checkMeasure(p), f.checkChosen(p))
}

// checkMeasure is check of bench alone.
func (f *benchFlags) checkMeasure(p *benchPlan) error {
	switch {
	case f.vs != "" && !slices.Contains(rivalNames, f.vs):
		return cli.Usagef("--vs takes nccl or two, not %q", f.vs)
	case f.vs == besideTwo && (p.named || !f.Lowered()):
		return cli.Usagef("--vs two measures a two-sided program beside what it is lowered to: give a file, and --sided lowered")
	case f.online < 0 || f.online > mostTries || f.online > 0 && !p.named:
		return cli.Usagef("--online takes a collective and a number up to %d", mostTries)
	case f.threads > limits.Threads || f.threads%limits.Warp != 0:
		return cli.Usagef("--threads takes a multiple of %d up to %d", limits.Warp, limits.Threads)
	case f.threads > 0 && devices.GPUs[f.device] == nil:
		return cli.Usagef("--threads are a GPU's, and --device is %s", f.device)
	}
	if err := f.checkRow(p); err != nil {
		return err
	}
	return f.checkRules(p.named, p.kind)
}

// checkChosen refuses flags of bench by whether a collective's programs are chosen.
func (f *benchFlags) checkChosen(p *benchPlan) error {
	switch {
	case !p.named && f.OneGiven("by") != "":
		return cli.Usagef("--by says how a collective's variants are chosen")
	case !p.named && f.table != "":
		return cli.Usagef("--table chooses variants of a collective, not of a file")
	case p.plans() && f.chosenOtherwise() != "":
		return cli.Usagef("the fastest plans of MSCCL++ are chosen by simulation, and have the thread blocks that they name: "+
			"--target mscclpp does not go with %s", f.chosenOtherwise()).Hint(
			"mscclc bench ALGORITHM --target mscclpp measures one plan")
	case p.plans():
		return f.ChosenOnly("--ranks, --root, --place and the like", "import-path", "limit", "target")
	case p.named:
		return f.ChosenOnly("--ranks, --root, --place and the like", "import-path", "limit", "staged", "nodes")
	}
	return nil
}

// plans reports whether a collective is measured by execution plans of MSCCL++.
func (p *benchPlan) plans() bool { return p.named && p.Target == "mscclpp" }

// chosenOtherwise names a flag that is given and says how variants are chosen or launched, which plans have no use for,
// or "".
func (f *benchFlags) chosenOtherwise() string {
	return f.OneGiven("online", "rules", "staged", "windows", "table", "ctas", "threads", "tile", "nodes")
}

// checkSizes says what sizes make no sense. Size 0 is one where no program is searched for.
func (f *benchFlags) checkSizes(first, last int64) error {
	least, factor := int64(0), f.factor
	if f.task != toMeasure || f.online > 0 || f.rules != "" {
		least = 1
	}
	if factor == 0 || factor == 1 { // the sizes go by steps
		factor = 2
	}
	if first < least {
		return cli.CheckSizes(first, last, factor)
	}
	return cli.CheckSizes(max(first, 1), max(last, 1), factor)
}

// below returns the error of a number that is too small, or nil.
func (f *benchFlags) below() error {
	leastRanks := 0
	if f.OneGiven("ranks") != "" {
		leastRanks = 1
	}
	return cmp.Or(cli.From("iters", f.iters, 0), cli.From("warmup", f.warmup, 0), cli.From("replays", f.replays, 1),
		cli.From("replay-time", f.length, 1), cli.From("timeout", f.wait, time.Millisecond),
		cli.From("ranks", f.ranks, leastRanks), f.ctas.Check(), f.ctas.UpTo(limits.CTAs), cli.From("threads", f.threads, 0),
		cli.From("procs", f.procs, 0))
}

// wrongOutput returns the error of an -o whose ending is none of some, or that is nccl-tests' -o, the reduction.
func (f *benchFlags) wrongOutput(endings []string) error {
	if _, reduction := data.RedOpByName(f.out); reduction || strings.EqualFold(f.out, "all") {
		return cli.Usagef("-o names the output file; --op is the reduction, one of %s", cli.List(data.RedOps[:]))
	}
	return cli.WrongEnding("-o", f.out, endings, "")
}

// mostTries is how often a user may have a candidate tried.
const mostTries = 1000
