package benchcmd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"

	"github.com/spf13/pflag"
)

// This file knows nccl-tests' arguments.

// testsFlags are the arguments of nccl-tests that bench has no other flag for, by their numbers there.
type testsFlags struct {
	perProcess int    // -t
	group      int    // -m
	cycles     int    // -N
	blocking   int    // -z
	null       int    // -y
	graphs     int    // -G
	cpuTime    int    // -C
	stamps     int    // -S
	document   string // -J
	of         int    // -a
	unalign    int64  // -u
	spread     int    // -I
	skip       int    // -K
	parallel   int    // --parallel_init
	foreign    [5]int // those of foreignTests
}

// testsNames are nccl-tests' long names of flags that have another one here.
var testsNames = map[string]string{"minbytes": "begin", "maxbytes": "end", "stepfactor": "factor", "ngpus": "ranks",
	"warmup-iters": "warmup", "datatype": "dtype"}

// A foreignTest is an argument of nccl-tests that has no meaning here: it is of NCCL, or of a part of nccl-tests.
type foreignTest struct {
	name, short  string
	preset, most int
	usage, here  string // here says what does the same
}

var foreignTests = [...]foreignTest{
	{"local-register", "R", 0, 2, "registration of NCCL's buffers",
		"programs of mscclc reach buffers without registration, and --windows measures calls between NCCL's windows"},
	{"cta-policy", "x", 0, 2, "NCCL's policy of CTAs",
		"--ctas N says how many CTAs our programs have, and NCCL_CTA_POLICY is NCCL's policy"},
	{"device-implementation", "D", 0, 1 << 20, "number of a kernel of nccl-tests'",
		"a FILE or --table says which program is measured"},
	{"device-cta-count", "V", 16, 1 << 20, "CTAs of a kernel of nccl-tests'", "--ctas N says how many CTAs our programs have"},
	{"memory", "M", 0, 1, "report of a GPU's memory", "nvidia-smi shows the memory that a process takes"},
}

// testsWords has flags be known by nccl-tests' names, too.
func testsWords(flags *pflag.FlagSet) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		return pflag.NormalizedName(cmp.Or(testsNames[name], name))
	})
}

// flags defines them.
func (t *testsFlags) flags(flags *pflag.FlagSet) {
	flags.IntVarP(&t.perProcess, "nthreads", "t", 1, "run on `N` times as many ranks as --ranks says, or on N")
	flags.IntVarP(&t.group, "agg-iters", "m", 1, "an iteration is of `N` launches, one after another")
	flags.IntVarP(&t.cycles, "run-cycles", "N", 1, "measure and print all sizes `N` times; 0 is without end")
	flags.IntVarP(&t.blocking, "blocking", "z", 0,
		"have the host wait: `N` is 1 for each launch of all ranks, 2 for each launch, 3 for each iteration of all ranks")
	flags.IntVarP(&t.null, "stream-null", "y", 0, "`N` is 1: launch one by one in the driver's null stream")
	flags.IntVarP(&t.graphs, "cudagraph", "G", -1, "`N` replays of a graph count, as --replays N; 0 is --no-graph")
	flags.Lookup("cudagraph").DefValue = "7"
	flags.IntVarP(&t.cpuTime, "report-cputime", "C", 0, "`N` is 1: print the time that the host takes for a launch")
	flags.IntVarP(&t.stamps, "report-timestamps", "S", 0, "`N` is 1: print the time of day after each row")
	flags.StringVarP(&t.document, "output-file", "J", "", "write the document of --json to `FILE`, too")
	flags.IntVarP(&t.of, "average", "a", 3, "which time of the ranks counts: `N` is 0 for rank 0's, 1 the mean, 2 the least, 3 the most")
	flags.Int64VarP(&t.unalign, "unalign", "u", 0, "have buffers lie `N` elements after aligned addresses")
	flags.IntVarP(&t.spread, "per-iter-timing", "I", 0,
		"`N` is 1: a replay is one iteration, -n replays count (default 20), and columns have their spread")
	flags.IntVarP(&t.skip, "per-iter-skip", "K", 0, "leave the first `N` replays out of the spread of -I 1")
	flags.IntVar(&t.parallel, "parallel-init", 0, "taken as nccl-tests takes it: nothing here is made one after the other")
	for i, f := range foreignTests {
		flags.IntVarP(&t.foreign[i], f.name, f.short, f.preset, "taken as nccl-tests takes it, for "+f.usage)
	}
}

// mostUnalign bounds -u.
const mostUnalign = 1 << 20

// check returns the error of a number that an argument cannot have, or of arguments that do not go together.
func (t *testsFlags) check(f *benchFlags) error {
	within := func(flag string, value, least, most int) error {
		if value < least || value > most {
			return cli.Usagef("%s takes a number from %d to %d, not %d", flag, least, most, value)
		}
		return nil
	}
	const many = 1 << 20
	leastGraphs := -1 // which stands for no -G
	if f.OneGiven("cudagraph") != "" {
		leastGraphs = 0
	}
	err := cmp.Or(within("-t", t.perProcess, 1, many), within("-m", t.group, 1, many), within("-N", t.cycles, 0, many),
		within("-z", t.blocking, 0, int(bench.NumBlocking)-1), within("-y", t.null, 0, 1),
		within("-G", t.graphs, leastGraphs, many),
		within("-C", t.cpuTime, 0, 1), within("-S", t.stamps, 0, 1), within("-a", t.of, 0, 3),
		within("-u", int(t.unalign), 0, mostUnalign), within("-I", t.spread, 0, 1),
		within("-K", t.skip, 0, many), within("--parallel_init", t.parallel, 0, 1))
	for i, foreign := range foreignTests {
		err = cmp.Or(err, within("-"+foreign.short, t.foreign[i], 0, foreign.most))
	}
	switch {
	case err != nil:
		return err
	case t.skip > 0 && t.spread == 0:
		return cli.Usagef("-K leaves iterations out of what -I 1 prints: give both")
	case t.skip > 0 && t.skip >= f.eachIteration():
		return cli.Usagef("-K %d leaves out all %d iterations of -I 1", t.skip, f.eachIteration()).Hint(
			"-n says how many iterations there are; -K takes fewer")
	case t.graphs > 0 && f.noGraph:
		return cli.Usagef("-G %d launches graphs, and --no-graph launches none: leave one of them out", t.graphs)
	case t.graphs > 0 && f.OneGiven("replays") != "":
		return cli.Usagef("-G and --replays both say how many replays count")
	case t.graphs > 0 && (t.spread > 0 || t.null > 0 || t.blocking > 0):
		return cli.Usagef("-G launches graphs, and -I, -y and -z launch one by one: leave -G out")
	case t.blocking > 0 && f.vs == besideTwo, t.spread > 0 && f.OneGiven("replays") != "":
		return cli.Usagef("--replays and --vs two do not go with -I and -z")
	case t.spread > 0 && f.eachIteration()+f.warmup > mostQueued:
		return cli.Usagef("-I 1 takes up to %d iterations with the warm-up (-n, -w)", mostQueued)
	case t.cycles == 0 && (f.plot != "" || t.document != ""):
		return cli.Usagef("-N 0 measures without end, and nothing would be written to --plot and -J")
	}
	return t.checkOnline(f)
}

// mostQueued bounds the replays that -I puts into a stream's queue.
const mostQueued = 400

// checkOnline refuses what changes how bench measures where it tries variants in its own way.
func (t *testsFlags) checkOnline(f *benchFlags) error {
	if f.online == 0 {
		return nil
	}
	given := f.OneGiven("agg-iters", "run-cycles", "blocking", "stream-null", "cudagraph", "report-cputime",
		"report-timestamps", "output-file", "average", "unalign", "per-iter-timing", "per-iter-skip")
	if given != "" {
		return cli.Usagef("--online measures in its own way, and takes no %s", given)
	}
	return nil
}

// eachIteration returns how many iterations -I measures.
func (f *benchFlags) eachIteration() int { return cmp.Or(f.iters, 20) }

// note says what does here what arguments ask for that have no meaning here.
func (t *testsFlags) note(a *cli.App) {
	for i, f := range foreignTests {
		if t.foreign[i] != f.preset {
			a.Note("", "-%s %d is of NCCL and nccl-tests, and changes nothing here: %s", f.short, t.foreign[i], f.here)
		}
	}
}

// measuring changes m as the arguments say.
func (t *testsFlags) measuring(f *benchFlags, m *bench.Measuring) {
	m.Group, m.Blocking = t.group, bench.Blocking(t.blocking)
	m.Of = [...]bench.Of{bench.RankZero, bench.MeanOfRanks, bench.FastestRank, bench.SlowestRank}[t.of]
	if t.graphs > 0 {
		m.Replays = t.graphs
	}
	if t.graphs == 0 || t.null > 0 || t.blocking > 0 {
		m.Plain = true
	}
	if t.spread > 0 {
		m.Plain, m.Launches, m.Replays = true, 1, f.eachIteration()
	}
}

// dropParallel takes out of -p what nccl-tests' user means by it: -p 1 makes communicators in parallel.
func (f *benchFlags) dropParallel(param *pflag.Flag) {
	f.Params = slices.DeleteFunc(f.Params, func(p string) bool { return p == "0" || p == "1" })
	param.Changed = len(f.Params) > 0
}

// meant gives flags the values that nccl-tests' user means by them, before anything looks at them: -t and -g count the
// ranks of one process.
func (f *benchFlags) meant(processes int) error {
	n, err := strconv.Atoi(f.rootText)
	switch f.allRoots = strings.EqualFold(f.rootText, "all") || err == nil && n == -1; {
	case f.allRoots:
	case err == nil && n >= 0:
		f.root = n
	default:
		return cli.Usagef("--root takes a rank, or all or -1 for each in turn, not %q", f.rootText)
	}
	if f.OneGiven("nthreads") != "" && f.perProcess > 0 {
		f.ranks = max(f.ranks, 1) * f.perProcess
	}
	if f.ranks == 1 && processes > 1 {
		f.ranks = processes
	}
	return nil
}

// A wait is a time-out: a duration, or seconds as nccl-tests has them, of which 0 changes nothing.
type wait struct{ *time.Duration }

// String implements pflag.Value.
func (w wait) String() string {
	if w.Duration == nil {
		return ""
	}
	return w.Duration.String()
}

// Type implements pflag.Value.
func (wait) Type() string { return "duration" }

// Set implements pflag.Value.
func (w wait) Set(s string) error {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n >= 0 {
		if n > 0 {
			*w.Duration = time.Duration(n) * time.Second
		}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err == nil {
		*w.Duration = d
	}
	return err
}

// nullStream reports whether launches go into the driver's null stream, of which a CPU has none.
func (w *benchWorld) nullStream() bool { return w.null > 0 && devices.GPUs[w.device] != nil }
