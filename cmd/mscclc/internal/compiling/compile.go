package compiling

import (
	"fmt"
	"io"
	"os"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/diag"
	"mscclc/ir/either"

	"github.com/spf13/cobra"
)

type compileFlags struct {
	Flags
	out      string
	dump     string
	pipeline string
	to       bool // a target is named, by --target or -o
}

// Command returns mscclc compile.
func Command(a *cli.App) *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile FILE",
		Short: "Compile an algorithm to a program",
		Long: `Compile an algorithm to a program, prove it, and write it: XML for --target msccl and rccl, a plan of MSCCL++
in JSON for --target mscclpp, and mscclc's own program file for --target program. Without -o the program goes to stdout;
with --json and without -o it is compiled and proven only.

The target is msccl, or what the name after -o ends in: .xml msccl, .json mscclpp, .mprog program. With --target the
name may end in anything.

A FILE that is compiled already, XML of msccl or RCCL or a .mprog file, is rewritten for the target: with its own steps
where they fit, or else what they do is compiled anew, with other thread blocks and channels. What the target lacks is
an error. --protocol, --inplace and --sizes go with it.

The line on stderr names the sizes of calls that the program is for: those of the file's line "sizes", or of --sizes.
Without either, a program for msccl is for calls below 128 MiB, msccl's default. The line after it loads the file in the
target's runtime. The folder docs has a page for each runtime.

--dump writes the text forms of what happens in between next to the output: NAME.00-chunks, NAME.01-lower of two-sided
programs, a file for each pass, and NAME.NN-program at the end.`,
		Example: `  mscclc compile ring.mscl -p ranks=8 -o ring.xml
  mscclc compile allreduce/hierarchical -p nodes=4 -p gpus=8 --target rccl -o hierarchical.xml
  mscclc compile allreduce/allpairs -p ranks=8 --protocol LL --target mscclpp -o allpairs.json
  mscclc compile ring.xml --target rccl -o ring.rccl.xml
  mscclc compile ring.mscl --dump all -o ring.mprog`,
		Args: cli.Exactly(1, "an algorithm to compile"),
		RunE: func(cmd *cobra.Command, args []string) error {
			target := cli.TargetOf[cli.Ending(f.out)]
			f.to = target != "" || cmd.Flags().Changed("target")
			if target != "" && !cmd.Flags().Changed("target") {
				f.Target = target
			}
			return compileFile(a, args[0], &f)
		},
	}
	f.AddFlags(cmd.Flags(), "msccl")
	f.AddRanks(cmd.Flags())
	f.AddNodes(cmd.Flags(), "compile a one-sided program, or a plan of MSCCL++,")
	f.addSizes(cmd.Flags())
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the program to `FILE`; - is stdout")
	cmd.Flags().StringVar(&f.pipeline, "pipeline", "",
		"have thread blocks go through the chunks `BYTES` at a time, each with a part of the work (--target mscclpp, protocol Simple)")
	cmd.Flags().StringVar(&f.dump, "dump", "",
		"write the text form of what `PASS`, or all, leaves: chunks, a pass (mscclc help passes), program")
	return cmd
}

// wrongEnding returns an error of usage if -o has an ending that names no target, where no flag does.
func (f *compileFlags) wrongEnding() error {
	if f.OneGiven("target") != "" { // which says what the file is
		return nil
	}
	texts := make([]string, len(cli.OutputEndings))
	for i, e := range cli.OutputEndings {
		texts[i] = fmt.Sprintf("%s for --target %s", e, cli.TargetOf[e])
	}
	return cli.WrongEnding("-o", f.out, cli.OutputEndings, cli.List(texts)+"; "+cli.TargetsFor)
}

func compileFile(a *cli.App, arg string, f *compileFlags) error {
	arg = a.About(arg)
	if a.JSON && f.out == "-" {
		return cli.Usagef("with --json stdout is the document: the program needs a file after -o")
	}
	target, err := f.FindTarget()
	if err != nil {
		return err
	}
	unit, err := f.pipelineUnit(target)
	if err != nil {
		return err
	}
	if f.out == "" && !a.JSON && target.Format == codegen.FormatProgram && cli.IsTerminal(a.Stdout) {
		return cli.Usagef("a program file is binary, and stdout is a terminal: give -o FILE")
	}
	if err := a.Claims(cli.Named{"-o": f.out}, arg); err != nil {
		return err
	}
	if err := f.wrongEnding(); err != nil {
		return err
	}
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := f.program(a, s, arg, target)
	if err != nil {
		return err
	}
	var warned diag.List
	what := summary(p)
	product := func(w io.Writer) error { return mscclc.WriteProgram(w, p, target, cli.Ending(f.out)) }
	if target.Format == codegen.FormatMSCCLPP {
		if f.Channels != nil && unit > 0 {
			return cli.Usagef("%s says itself which thread block does what: its pipelines are its own", arg)
		}
		var plan *mscclpp.Plan
		if plan, warned, err = f.ExecutionPlan(p, unit); err != nil {
			return err
		}
		if note := f.PlanNote(s, p, plan); note != "" {
			a.Note(s.Name, "%s", note)
		}
		what, p.Sizes = planSummary(p, plan), plan.Sizes()
		product = func(w io.Writer) error { return mscclpp.Write(w, plan) }
	}
	if f.out != "" || !a.JSON {
		if err := a.WriteProgram(f.out, product); err != nil {
			return err
		}
	}
	return reportCompiled(a, s.Name, f, what, target, p, warned)
}

// program makes the program that s asks for.
func (f *compileFlags) program(a *cli.App, s *cli.Source, arg string, target *codegen.Target) (*either.Program, error) {
	if err := f.fitLowered(target); err != nil {
		return nil, err
	}
	switch {
	case s.Kind != codegen.KindSource && f.Lowered():
		return f.lowerFile(a, s)
	case s.Kind != codegen.KindSource && !f.to:
		return nil, cli.Usagef("%s is compiled already", diag.Printable(arg)).Hint(
			"--target T rewrites it for another runtime, and --sided lowered makes a one-sided program of a two-sided one")
	case s.Kind != codegen.KindSource:
		return f.rewriteFile(a, s, target)
	}
	d, err := newDumper(a, f)
	if err != nil {
		return nil, err
	}
	f.Unproven = target.Format == codegen.FormatMSCCLPP // what is written is proven, once
	f.FileNodes()
	return compileSource(a, s, &f.Flags, d)
}

// pipelineUnit returns how many bytes a turn of a pipeline moves, or 0.
func (f *compileFlags) pipelineUnit(target *codegen.Target) (int64, error) {
	switch {
	case f.pipeline == "":
		return 0, nil
	case target.Format != codegen.FormatMSCCLPP:
		return 0, cli.Usagef("--pipeline is for --target mscclpp")
	}
	unit, err := cli.ParseBytes(f.pipeline)
	if err == nil && unit == 0 {
		err = cli.Usagef("--pipeline takes the bytes of a loop iteration, from 16 on, not 0")
	}
	return unit, err
}

// reportCompiled reports what was compiled, and how to use it.
func reportCompiled(a *cli.App, name string, f *compileFlags, what string, t *codegen.Target, p *either.Program,
	warned diag.List) error {
	use := ""
	if info, err := os.Stat(f.out); !cli.IsStdout(f.out) && err == nil && info.Mode().IsRegular() {
		use = t.UseLine(f.out)
		if len(p.Then) > 0 {
			use += " --row 1024" // which run wants of such programs
		}
		noteFolder(a, f.out, t)
	}
	a.Show(warned)
	noteDefault(a, name, f.declared, t)
	if a.JSON {
		return a.WriteJSON(Document{a.Noted(cli.NewReport(name, warned, p)), f.out, t.Name, use})
	}
	if use == "" {
		a.Say("%s: %s; proven", name, what)
	} else {
		a.Say("%s: %s; proven\nuse it: %s", f.out, what, use)
	}
	return nil
}

// A Document is what compile --json prints.
type Document struct {
	cli.Report
	Output string `json:"output,omitempty" doc:"the file that it was written to"`
	Target string `json:"target"`
	Use    string `json:"use,omitempty" doc:"the line that loads the file in the target's runtime"`
}
