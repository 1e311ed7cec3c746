package main

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
)

var showStages = []string{"chunks", "insts", "program", "json", "dot", "channels"}

func (a *app) showCommand() *cobra.Command {
	var c compiling
	var out string
	cmd := &cobra.Command{
		Use:   "show FILE [chunks|insts|program|json|dot|channels]",
		Short: "Show an algorithm as text at a stage of compilation",
		Long: `Show an algorithm as text: chunks is which chunk goes where, insts the instructions as they were lowered, program the
steps of each thread block (and what is shown where nothing is said), json the same for scripts, dot the program as a graph for
Graphviz. Of a .xml or .plan file there are program, json and dot only, of a plan of MSCCL++ channels, its operations with what
their ids stand for, and json. Of an algorithm that says itself which thread block does what there are channels, and the one-sided
program that they mean. compile --dump shows what each pass leaves.`,
		Example: `  mscclc show allreduce/ring -p ranks=4
  mscclc show ring.xml dot | dot -Tsvg -o ring.svg`,
		Args: between(1, 2, "a file, and perhaps a stage"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return showStages, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			stage := "" // the kind's usual one
			if len(args) > 1 {
				stage = args[1]
			}
			return a.showStage(args[0], stage, out, &c)
		},
	}
	c.flags(cmd.Flags(), "plan")
	cmd.Flags().Var(ranksFlag{&c.ranksSetting}, "ranks", "compile for `N` ranks: the same as -p ranks=N")
	c.complete(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`; - is stdout")
	return cmd
}

func (a *app) showStage(arg, stage, out string, c *compiling) error {
	a.file = arg
	if err := a.guard.output("-o", out); err != nil {
		return err
	}
	s, err := a.open(arg)
	if err != nil {
		return err
	}
	defer s.Close()
	switch {
	case stage == "" && s.kind == codegen.KindMSCCLPP:
		stage = "channels"
	case stage == "":
		stage = "program"
	}
	text, p, err := a.stageText(s, arg, stage, c)
	if err != nil {
		return err
	}
	if a.json && out == "" {
		return a.writeJSON(struct {
			report
			Stage string `json:"stage"`
			Text  string `json:"text"`
		}{newReport(arg, nil, p), stage, string(text)})
	}
	return a.writeTo(out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (a *app) stageText(s *source, arg, stage string, c *compiling) ([]byte, *ir.Program, error) {
	var text bytes.Buffer
	var p *ir.Program
	var err error
	switch {
	case !slices.Contains(showStages, stage):
		return nil, nil, unknown("stage", stage, showStages)
	case s.kind == codegen.KindMSCCLPP:
		err := c.showChannels(&text, s, stage)
		return text.Bytes(), nil, err
	case stage == "channels" && s.kind != codegen.KindSource:
		return nil, nil, noChannels(arg, "program, json or dot")
	case s.kind == codegen.KindSource:
		p, err = a.sourceStage(&text, s, stage, c)
	case stage == "chunks" || stage == "insts":
		return nil, nil, usagef("%s is a program: it has no %s; show program, json or dot", arg, stage)
	case c.unfit(compiledShow...) != "":
		return nil, nil, usagef("%s is compiled already: %s cannot change it", arg, c.unfit(compiledShow...))
	default:
		p, err = c.read(s)
	}
	if err != nil {
		return nil, nil, err
	}
	switch stage {
	case "program":
		err = ir.WriteProgram(&text, p)
	case "json":
		err = codegen.WritePlanJSON(&text, p)
	case "dot":
		err = writeDot(&text, p)
	}
	return text.Bytes(), p, err
}

// noChannels says that name has no channels to show, and what it has.
func noChannels(name, has string) error {
	return usagef("%s has no channels, which plans of MSCCL++ have and algorithms that say which thread block does what; "+
		"show %s", name, has)
}

// compiledShow are the flags that show ignores of what is compiled, beside compileOnly.
var compiledShow = []string{"target", "fused-receives", "protocol", "inplace"}

// tooLate are the flags that a stage which is shown comes before.
var tooLate = map[string][]string{
	"chunks": {"instances", "target", "optimise", "opt", "fuse", "fused-receives"},
	"insts":  {"optimise", "opt", "fuse"},
}

func (a *app) sourceStage(w io.Writer, s *source, stage string, c *compiling) (*ir.Program, error) {
	src, err := s.readSource(c.limits.file())
	if err != nil {
		return nil, err
	}
	opt, err := c.options(s)
	if err != nil {
		return nil, err
	}
	if flag := c.oneGiven(tooLate[stage]...); flag != "" {
		return nil, usagef("%s does not change %s, which are before it; compile --dump shows what each pass leaves", flag, stage)
	}
	if opt.OneSided && stage == "insts" {
		return nil, usagef("one-sided programs have no insts; show chunks, program, json or dot")
	}
	opt.Stage = func(value any) error {
		switch v := value.(type) {
		case *ir.ChunkDAG:
			if stage == "channels" {
				return noChannels(s.name, "chunks, insts, program, json or dot")
			}
			if stage == "chunks" {
				return ir.WriteChunks(w, v)
			}
		case *ir.InstDAG:
			if stage == "insts" {
				return ir.WriteInsts(w, v)
			}
		case *ir.ChannelProgram:
			switch stage {
			case "channels":
				return ir.WriteChannels(w, v)
			case "chunks", "insts":
				return usagef("%s says itself which thread block does what: it has no %s; "+
					"show channels, program, json or dot", s.name, stage)
			}
		}
		return nil
	}
	return mscclc.Compile(s.name, src, opt)
}
