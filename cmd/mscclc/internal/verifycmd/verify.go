package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/codegen"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

type verifyFlags struct {
	compiling.Flags
	explicit bool // a target is named
	slots    int
	ranks    string // as it is given
	counts   []int  // that it names, or nil
	sarif    string
	bitwise  bool
	bits     string // bitsOrder or ""
	replay   bool
	fix      bool // write files with the hints done that are certain
}

// endings are those of the files that verify looks for in folders.
var endings = append(slices.Clip(cli.ProgramEndings), cli.BundleEndings...)

// compiledEndings are those of files that are compiled already.
var compiledEndings = slices.DeleteFunc(slices.Clone(endings), func(e string) bool { return e == ".mscl" })

// mostSlots is more than any FIFO has.
const mostSlots = 1 << 30

// Command returns mscclc verify.
func Command(a *cli.App) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE|FOLDER...",
		Short: "Prove that programs are right, whoever made them",
		Long: `Prove that programs are right, whoever made them, and show what is wrong with the others. A .mscl file is
compiled first, with the defaults of its parameters unless -p sets them. An execution plan of MSCCL++ is unrolled. Of a
bundle, all programs are proven, and compared with their tables in it. In a folder, verify checks all .mscl, .xml,
.mprog, .json and .bundle files below it, several at once, and skips files that are not programs. It prints one
line for each file, in order: ok or FAIL. The exit code is 1 if any file is rejected.

A proof holds for every timing, every size that the file is for, and any number of launches:
  form      every rank, channel, buffer, offset, count and wait is in range and coherent
  matching  the n-th send of a connection has the n-th receive, with an equal count
  liveness  no steps wait for each other, with the slots that connections have; counts split at the largest size
  races     accesses of two thread blocks to one chunk, one of them a write, are ordered by flags, messages or packets
  result    every output chunk holds exactly what the collective says, and nothing is read before it is written;
            XML of coll="custom" does not say what must hold, and its line says so
  nodes     with --nodes, what a step accesses of another node has arrived there (mscclc explain across-nodes)
Not checked: whether a program is fast, whether the machine has its links, and what a network or a runtime does wrong.

A rejection has a code (mscclc explain CODE), the step, and a counterexample. That is the waits of a deadlock, the two
accesses of a race, or the first wrong chunk: what it holds, what it should hold, and which step wrote it. --replay runs
counterexamples on the CPU. Of other problems, such as unmatched, it says why they have none.

In execution plans of MSCCL++, pipelines are proven for any number of loop iterations. A warning names what MSCCL++'s
executor is known to do wrong with a plan that is right. A port may copy at any time, also after the launch has ended: a
put completes at the next flush (pwsf), or when a signal that depends on it arrives. A flush alone is assumed to work,
with a warning. Pushes to one port are unordered unless a block barrier separates them.

--target also checks what one runtime's reader and limits allow, and takes its range of sizes where a file has none.
msccl and rccl run XML, mscclpp runs execution plans of MSCCL++, and program runs all programs. A .mprog file may
become XML. Any other file that is named is an error of usage, and is skipped in a folder. So is a program where a flag
is given that only a compilation follows, such as --ranks.`,
		Example: `  mscclc verify ring.xml
  mscclc verify algorithms/ --sarif results.sarif
  mscclc verify algorithms/ --ranks 2-17,64
  mscclc verify ring.xml --slots 4
  mscclc verify allreduce/ring -p ranks=8 --target rccl
  mscclc verify allreduce/ring -p ranks=5 --bitwise
  mscclc verify allreduce/onephase allreduce/recursive_multiplying -p ranks=4 --bits order`,
		Args: cli.AtLeast(1, "files or folders to verify"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.explicit = cmd.Flags().Changed("target")
			if cmd.Flags().Changed("slots") && (f.slots < 1 || f.slots > mostSlots) {
				return cli.Usagef("--slots takes a number from 1 to %d", mostSlots)
			}
			ctx, stop := cli.EndsBy(cmd.Context(), os.Interrupt)
			defer stop()
			return verifyAll(ctx, a, args, &f)
		},
	}
	flags := cmd.Flags()
	f.AddFlags(flags, "program")
	flags.IntVar(&f.slots, "slots", 0,
		"connections of two-sided programs hold `N` messages, instead of as many as the protocol has (Simple 2, others 8)")
	flags.StringVar(&f.ranks, "ranks", "",
		"prove algorithms for each of `COUNTS` ranks, as in 2-17,64: by their parameter ranks, or nodes and gpus in all ways with up to 16 GPUs a node")
	cli.AddRoot(flags, &f.RootSetting)
	cli.SARIFFlag(flags, &f.sarif)
	cli.StrictFlag(flags, &f.Limits)
	f.AddNodes(flags, "prove one-sided programs, and check plans of MSCCL++,")
	bitwiseFlag(flags, &f.bitwise)
	bitsFlag(flags, &f.bits)
	flags.BoolVar(&f.fix, "fix", false, "write .mscl files with the hints done that are certain: the error goes, and none comes")
	flags.BoolVar(&f.replay, "replay", false, "run the counterexample of each rejection on the CPU")
	return cmd
}

// Check refuses flags that fit no file.
func (f *verifyFlags) check(a *cli.App, args []string) error {
	if _, err := f.Options(&cli.Source{}); err != nil {
		flag := f.fixed(codegen.KindProgram)
		if flag != "" && len(args) == 1 && slices.Contains(compiledEndings, cli.Ending(args[0])) {
			return compiling.CompiledAlready(args[0], flag)
		}
		return err
	}
	switch {
	case f.fix && f.ranks != "":
		return cli.Usagef("--fix and --ranks do not go together: a hint is certain for one number of ranks")
	case a.JSON && f.sarif == "-":
		return cli.Usagef("--json and --sarif - both want stdout: give --sarif a file")
	case f.bits != "" && f.bits != bitsOrder:
		return cli.Usagef("--bits takes %s, not %q", bitsOrder, f.bits)
	case f.checkRanks() != nil:
		return f.checkRanks()
	case f.replay && !devices.HasCPU:
		return diag.List{diag.New(diag.Unavailable, diag.Span{},
			"--replay needs the CPU device, which a build without cgo does not have")}
	}
	return nil
}

func verifyAll(ctx context.Context, a *cli.App, args []string, f *verifyFlags) error {
	if err := f.check(a, args); err != nil {
		return err
	}
	v := &verifying{App: a, out: a, flags: f, reports: []Report{}, start: time.Now()}
	if f.sarif == "-" { // stdout is the document, and the lines are talk
		v.App = a.Talking()
	}
	var target *codegen.Target
	if f.explicit {
		target, _ = f.FindTarget() // check has found it
	}
	tasks := a.ProgramsOnly(cli.Expand(args, endings...), target, f.fixed(codegen.KindProgram))
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	if err := a.Claims(cli.Named{"--sarif": f.sarif}, names...); err != nil {
		return err
	}
	v.bar = a.Progress(len(tasks), "verify")
	err := inOrder(ctx, len(tasks), func(i int) int64 { return weightOf(tasks[i].Name) },
		func(i int) *verdict { return judge(v.App, tasks[i], f) },
		func(_ int, d *verdict) error { return v.take(d) }, v.bar.Draw)
	v.bar.Clear()
	if err != nil {
		return err
	}
	return v.end()
}

// A verifying is a run of verify, whose verdicts come one after the other.
type verifying struct {
	*cli.App
	out      *cli.App // has the real stdout
	flags    *verifyFlags
	bar      *cli.Progress
	reports  []Report
	warned   diag.List // of all files
	orders   []programOrders
	rejected int
	worst    int // exit code
	start    time.Time
}

// time returns how long something took, where there are several files, so that it matters which.
func (v *verifying) time(d time.Duration) string {
	if v.bar.Total < 2 {
		return ""
	}
	return fmt.Sprintf("    %.2fs", d.Seconds())
}

// take reports one verdict.
func (v *verifying) take(d *verdict) error {
	v.bar.Clear()
	if d.misused != nil {
		return d.misused
	}
	if d.rejected() {
		v.rejected++
	}
	v.worst = max(v.worst, d.code)
	v.warned = append(v.warned, d.warned...)
	v.orders = append(v.orders, d.orders...)
	var err error
	switch {
	case !v.JSON:
		err = v.print(d)
	case v.flags.replay:
		err = d.replayed()
	}
	if v.JSON {
		v.noteOf(d)
	}
	if v.JSON || v.flags.sarif != "" {
		v.reports = append(v.reports, d.report)
	}
	v.bar.Step()
	return v.fault(err, d.file)
}

// fault reports that a counterexample did not show, or could not be run; the other
// files are judged all the same.
func (v *verifying) fault(err error, file string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	found := cli.Placed(cli.Problems(err), file)
	v.worst = max(v.worst, cli.ExitCode(found))
	v.Show(found)
	return nil
}

func (v *verifying) noteOf(d *verdict) {
	if d.note != "" {
		v.Note(d.file, "%s", d.note)
	}
}

// print prints one verdict: its line on stdout, what is wrong on stderr.
func (v *verifying) print(d *verdict) error {
	if d.rejected() {
		fmt.Fprintf(v.Stdout, "FAIL  %s    %s%s\n", diag.Printable(diag.Shorten(d.file)), d.found.Summary(),
			v.time(d.took))
		v.Show(d.found)
		if v.flags.fix {
			v.noteOf(d)
		}
		if v.flags.replay {
			v.noReplay(d)
		}
		if v.flags.replay && d.program != nil && len(d.judged.Counterexamples) > 0 {
			return printReplays(v.App, d.program, d.judged)
		}
		return nil
	}
	fmt.Fprintf(v.Stdout, "ok    %s    %s%s\n", diag.Printable(d.file), d.line, v.time(d.took))
	v.noteOf(d)
	if d.order != nil {
		printBitwise(v.App, "", d.program, *d.order)
	}
	for _, s := range d.sums {
		printBitwise(v.App, s.of, s.program, s.order)
	}
	for i := range d.orders {
		printOrders(v.App, &d.orders[i])
	}
	return nil
}

// whyNoReplay says of codes why nothing of them runs.
var whyNoReplay = map[diag.Code]string{
	diag.Unmatched:   "the counts differ before anything runs: what is left over of a launch would be there in the next, so that no one run is of this program",
	diag.AcrossNodes: "the CPU that replays is one node, where data need not arrive",
	diag.Undecided:   "it is not known to go wrong, so that there is no run that shows it",
}

// noReplay says, once for each code, why a problem has no replay.
func (v *verifying) noReplay(d *verdict) {
	said := map[diag.Code]bool{}
	for _, w := range d.judged.Counterexamples {
		said[w.Problem.Code] = w.Problem.Code.Replayable()
	}
	for _, p := range d.found {
		if said[p.Code] || p.Code.Warning() {
			continue
		}
		said[p.Code] = true
		why, known := whyNoReplay[p.Code]
		if !known {
			why = "what is wrong is no deadlock, race or result"
		}
		fmt.Fprintf(v.Stdout, "no replay of %s: %s\n", p.Code, why)
	}
}

// End prints what the verdicts come to.
func (v *verifying) end() error {
	v.ShowFiles(v.warned)
	v.compareOrders()
	if v.flags.sarif != "" {
		reports := make([]cli.Report, len(v.reports))
		for i := range v.reports {
			reports[i] = v.reports[i].Report
		}
		err := v.out.WriteTo(v.flags.sarif, func(w io.Writer) error { return cli.WriteSARIF(w, reports, v.Text) })
		if err != nil {
			return err
		}
	}
	if v.JSON {
		if len(v.reports) > 0 {
			v.reports[0].Report = v.Noted(v.reports[0].Report)
		}
		if err := v.WriteJSON(v.reports); err != nil {
			return err
		}
	} else if n := v.bar.Total; n > 1 {
		fmt.Fprintf(v.Stdout, "%s: %d ok, %d rejected%s\n", diag.Counted(n, "file"), n-v.rejected, v.rejected,
			v.time(time.Since(v.start)))
	}
	if v.worst > cli.ExitGood {
		return cli.ReportedError{Code: v.worst}
	}
	return nil
}
