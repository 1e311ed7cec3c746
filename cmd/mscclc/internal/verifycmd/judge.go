package verifycmd

import (
	"cmp"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// A verdict is what verify says of one file.
type verdict struct {
	file    string
	listed  bool // it was found in a folder, and not named itself
	found   diag.List
	misused error // of usage: the file is none for the flags
	code    int   // exit code
	took    time.Duration
	line    string          // of a file that is good
	note    string          // of it, or ""
	warned  diag.List       // what a runtime does wrong with it
	judged  verify.Report   // where there is a program
	order   *bitwise.Order  // of its sums, where that is asked
	sums    []bundleSums    // of the programs of a bundle
	orders  []programOrders // where they are asked
	program *either.Program // where something is still to be said of it
	last    *either.Program // of --ranks, that was judged
	counts  *countsReport   // of --ranks
	report  Report          // where it is asked
}

func (d *verdict) rejected() bool { return len(d.found) > 0 }

// judge reads, or compiles, the file of t, and judges it. Several may run at
// once. A fault of mscclc is a verdict too.
func judge(a *cli.App, t cli.Task, f *verifyFlags) (d *verdict) {
	d = &verdict{file: t.Name, listed: t.Found}
	start := time.Now()
	defer func() {
		if r := recover(); r != nil {
			if os.Getenv("MSCCLC_STACK") != "" {
				a.Stderr.Write(debug.Stack())
			}
			d = &verdict{file: t.Name, code: cli.ExitInternal, found: diag.List{cli.Panicked(r)}}
			d.report.Report = cli.NewReport(t.Name, d.found, nil)
		}
		d.took = time.Since(start)
	}()
	p, err := (*either.Program)(nil), t.Err
	if err == nil {
		p, err = judgeFile(a, t.Name, f, d)
	}
	if errors.As(err, new(cli.UsageError)) {
		d.misused = err
		return d
	}
	if err != nil {
		d.found = cli.Placed(cli.Problems(err), t.Name).Sort()
		d.code = cli.ExitCode(d.found)
	}
	d.warned = cli.Placed(d.warned, t.Name)
	if p != nil {
		describeProgram(a, d, p, f)
	} else if err == nil && d.line == "" {
		d.line = "library"
	}
	if a.JSON || f.sarif != "" {
		d.reportOn(cmp.Or(p, d.last), f)
	}
	d.last = nil
	if !d.wants(f) {
		d.program, d.judged.Counterexamples = nil, nil
	}
	return d
}

// describeProgram notes what there is to say of p besides its problems.
func describeProgram(a *cli.App, d *verdict, p *either.Program, f *verifyFlags) {
	d.program = p
	if d.rejected() {
		return
	}
	d.line = text.Proven(p) + overNodes(f.Nodes)
	f.NoteTogether(a, d.file, p)
	if f.slots > 0 && p.OneSided != nil && !f.Lowered() {
		d.note = "--slots is ignored: a one-sided program has no connections"
	}
	if f.bits == bitsOrder {
		d.noteOrder(p, "")
		if f.explicit && f.Target != "program" || cli.Ending(d.file) == ".xml" || cli.Ending(d.file) == ".json" {
			d.note = cmp.Or(d.note, "--bits order is about mscclc's executor: other runtimes may round elsewhere")
		}
	}
	if f.bitwise {
		order := bitwise.OrderOf(p)
		if d.order = &order; !order.Same() {
			d.code = max(d.code, cli.ExitInput)
		}
	}
}

// wants reports whether the program is needed after its verdict.
func (d *verdict) wants(f *verifyFlags) bool {
	return d.order != nil || f.replay && d.rejected()
}

// judgeFile makes the program that arg names, and judges it. A library gives
// none.
func judgeFile(a *cli.App, arg string, f *verifyFlags, d *verdict) (*either.Program, error) {
	if text, err := a.ReadBundle(arg); text != nil || err != nil {
		if err == nil {
			err = d.judgeBundle(arg, text, f)
		}
		return nil, err
	}
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.Kind == codegen.KindSource {
		text, err := s.ReadSource(&f.Limits)
		if err == nil && f.counts != nil {
			return nil, judgeRanks(a, s, text, f, d)
		} else if err != nil {
			return nil, err
		}
		return judgeOrFix(a, s, text, f, d)
	}
	if flag := f.fixed(s.Kind); flag != "" {
		return nil, compiling.CompiledAlready(arg, flag)
	}
	read, check := f.Limits.Read, f.Limits.Check
	if read.Target, err = f.judgedTarget(s); err != nil {
		return nil, err
	}
	read.Warn = func(w diag.Diagnostic) { d.warned = append(d.warned, w) }
	if s.Kind == codegen.KindMSCCLPP {
		p, err := d.judgeChannels(s, read, check, f)
		if p != nil && err == nil {
			return f.Called(s, p)
		}
		return p, err
	}
	p, err := compiling.ReadProgram(s, read)
	if err != nil {
		return nil, err
	}
	if t := read.Target; t != nil {
		p.Sizes = t.Limits.Sized(p.Sizes)
	}
	flags := f.Flags // files are judged in parallel
	flags.Limits.Check.Slots = f.slots
	if p, err = f.Called(s, p); err == nil {
		p, err = flags.Lower(p)
	}
	if err != nil {
		return nil, err
	}
	return p, d.prove(p, check, f)
}

// fixed names a flag that is given and that cannot change what is compiled already, or is "". With a --target,
// --fused-receives says what that runs.
func (f *verifyFlags) fixed(kind codegen.FileKind) string {
	if f.explicit {
		return f.UnfitProgram(kind, "ranks")
	}
	return f.UnfitProgram(kind, "ranks", "fused-receives")
}

// judgedTarget returns the runtime of XML that the program in s must fit, or nil for none. A program that is none for
// the target is an error of usage.
func (f *verifyFlags) judgedTarget(s *cli.Source) (*codegen.Target, error) {
	t, err := f.FindTarget()
	switch {
	case !f.explicit || err != nil:
		return nil, err
	case !t.Takes(s.Kind):
		return nil, cli.Usagef("%s holds %s, which --target %s does not run; leave --target out, or name %s",
			diag.Printable(s.Name), s.Kind, t.Name, cli.List(targetsOf(s.Kind)))
	case t.Format != codegen.FormatXML:
		return nil, nil
	}
	return t, nil
}

// targetsOf names the targets that run programs of a kind.
func targetsOf(kind codegen.FileKind) []string {
	var names []string
	for _, t := range codegen.Targets {
		if t.Takes(kind) {
			names = append(names, t.Name)
		}
	}
	return names
}

// prove judges p.
func (d *verdict) prove(p *either.Program, check verify.Options, f *verifyFlags) error {
	check.Slots = f.slots
	var err error
	if check.Nodes, err = f.Nodes.Of(p.Coll.Ranks); err != nil {
		return err
	}
	var found diag.List
	d.judged, found = verify.Check(p, check)
	return found.Err()
}

// judgeText judges a text as that of a .mscl file.
func judgeText(a *cli.App, s *cli.Source, text []byte, f *verifyFlags, d *verdict) (*either.Program, error) {
	flags := f.Flags // files are judged in parallel
	if f.forPlan() {
		flags.FileNodes()
	}
	opt, err := flags.Options(s)
	if err == nil {
		err = compiling.ShareRanks(a, s, text, &flags, &opt)
	}
	if err != nil {
		return nil, err
	}
	tree, err := syntax.ParseLimited(s.Name, text, opt.Lang.Limits)
	if err != nil {
		return nil, err
	}
	if lang.IsLibrary(tree) {
		return nil, lang.CheckLibrary(tree, text, opt.Lang)
	}
	opt.Unproven, opt.Check.Slots = true, f.slots // proven here
	var channels *ir.ChannelProgram
	opt.Stage = func(value any) error {
		if c, ok := value.(*ir.ChannelProgram); ok {
			channels = c
		}
		return nil
	}
	p, err := mscclc.CompileFile(tree, opt)
	switch {
	case channels != nil && opt.Target.Format != codegen.FormatXML: // which has no words for them
		p, err = d.judgeLevel(channels, opt.Check, f)
	case err != nil:
		return nil, err
	case f.forPlan():
		p, err = d.judgePlanOf(s, p, &flags)
	default:
		if err = d.prove(p, opt.Check, f); err == nil {
			err = mscclc.Fits(p, opt.Target).Err()
		}
	}
	var found diag.List
	if errors.As(err, &found) {
		lang.Backtrace(tree, opt.Lang, found)
	}
	return p, err
}
