package showcmd

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"mscclc"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/picture"
	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/lang"
	"mscclc/play"

	"github.com/spf13/cobra"
)

type showFlags struct {
	compiling.Flags
	out, svg  string
	html      string
	topology  string // of html
	after     string // a pass; the stage is then afterPass
	drawn     string // what the picture shows
	rejected  bool   // what is shown is of a program that is rejected
	positions bool
}

// Command returns mscclc show.
func Command(a *cli.App) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show FILE [" + strings.Join(stageNames(), "|") + "]",
		Short: "Show an algorithm at a stage of compilation, as text or as a picture",
		Long: `Show an algorithm, or a program, at a stage of compilation:

` + cli.Table(stageRows()...) + `

A .xml or .mprog file has program, json and dot. An execution plan of MSCCL++ has channels, json and svg. An algorithm
that says itself which thread block does what has channels, svg, and the one-sided program that they mean. With --target
mscclpp, any other algorithm has the channels of the execution plan that compile writes. --after PASS shows what a pass
leaves (mscclc help passes). compile --dump writes it for all passes.

Of a bundle, show prints the rules, the programs with their memory, and the images.

Of an algorithm that is rejected, show prints the stage too, as far as the algorithm comes, and then what is wrong.

-o FILE ends in .txt for text, .json for json, .dot or .gv for dot, and .svg for svg.

svg draws the table of an algorithm, as papers do: a panel for each step, in which rows are ranks and columns are
chunks. A cell says whose inputs its chunk holds, and its colour whether the step copied or reduced it. --svg FILE and
-o FILE.svg write this picture. Large algorithms are cut, with a note at the top: -p ranks=4 draws a small one.
Execution plans, and .mprog files of one-sided programs, are drawn as the algorithms that they carry out.

--html FILE writes one file that plays the program in a browser: its chunks move over the links of a machine, a table
fills, and a timeline shows a simulated call of 1 MiB. It shows why a rejected program is wrong. mscclc play serves the
same page with an editor.`,
		Example: `  mscclc show allreduce/ring -p ranks=4
  mscclc show allreduce/ring -p ranks=4 --svg ring.svg
  mscclc show allreduce/ring --html ring.html
  mscclc show allreduce/allpairs -p ranks=4 --sided one --after fuse
  mscclc show ring.xml dot | dot -Tsvg -o blocks.svg`,
		Args: cli.Between(1, 2, "a file, and perhaps a stage"),
		RunE: func(_ *cobra.Command, args []string) error {
			stage := "" // the kind's usual one
			if len(args) > 1 {
				stage = args[1]
			}
			if f.html != "" && (stage != "" || f.svg != "" || f.out != "") {
				return cli.Usagef("--html writes a page of the program, and no stage: leave out the stage, --svg and -o")
			}
			if f.topology != "" && f.html == "" {
				return cli.Usagef("--topology is the machine that --html shows: give --html")
			}
			if f.html != "" {
				return showHTML(a, args[0], &f)
			}
			if err := f.pictured(&stage); err != nil {
				return err
			}
			if f.after != "" && stage != "" {
				return cli.Usagef("--after shows what a pass leaves, and not %s: give one", stage)
			} else if f.after != "" {
				stage = afterPass
			}
			return showStage(a, args[0], stage, &f)
		},
	}
	f.AddFlags(cmd.Flags(), "program")
	f.AddNodes(cmd.Flags(), "compile a one-sided program")
	f.AddRanks(cmd.Flags())
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write to `FILE`; - is stdout")
	cmd.Flags().StringVar(&f.svg, "svg", "", "draw the algorithm's table to `FILE`.svg; - is stdout")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page that plays the program to `FILE`.html; - is stdout")
	cmd.Flags().StringVarP(&f.topology, "topology", "t", "", "show it on `T`: a machine, or a .topo file (--html)")
	cmd.Flags().StringVar(&f.after, "after", "", "show what `PASS` leaves (mscclc help passes)")
	cmd.Flags().BoolVar(&f.positions, "positions", false,
		"write source positions too: an operation with pos N is from the N-th span, from 0")
	return cmd
}

// pictured sets the stage to svg for --svg FILE, and for -o FILE.svg where no stage is named.
func (f *showFlags) pictured(stage *string) error {
	switch {
	case f.svg != "" && f.out != "":
		return cli.Usagef("--svg and -o are both where the picture goes: give one")
	case f.svg != "" && *stage != "" && *stage != "svg":
		return cli.Usagef("--svg draws the stage svg, and not %s", *stage)
	case f.svg != "" || *stage == "" && cli.Ending(f.out) == ".svg":
		*stage = "svg"
	}
	return nil
}

func showStage(a *cli.App, arg, stage string, f *showFlags) error {
	arg = a.About(arg)
	flag, out := "-o", f.out
	if f.svg != "" {
		flag, out = "--svg", f.svg
	}
	if err := a.Claims(cli.Named{flag: out}, arg); err != nil {
		return err
	}
	if text, err := a.ReadBundle(arg); err != nil {
		return err
	} else if text != nil {
		return showBundle(a, arg, stage, text, f)
	}
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return err
	}
	defer s.Close()
	switch {
	case stage == "" && s.Kind == codegen.KindMSCCLPP:
		stage = "channels"
	case stage == "":
		stage = "program"
	}
	if err := wrongShown(flag, out, stage); err != nil {
		return err
	}
	b, p, err := stageText(a, s, arg, stage, f)
	var failure error
	if err != nil {
		if failure = err; !f.showRejected(a, s, arg, stage, err, &b, &p) {
			return err
		}
	}
	doc := Document{Report: a.Noted(cli.NewReport(arg, found(arg, failure), p)), Stage: cmp.Or(f.after, stage)}
	if a.JSON && cli.IsStdout(out) {
		doc.Text = string(b)
		return cmp.Or(a.WriteJSON(doc), reported(failure))
	}
	err = a.WriteTo(out, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err == nil && f.drawn != "" && !cli.IsStdout(out) {
		a.Say("%s: %s", out, f.drawn)
	}
	if err == nil && a.JSON {
		doc.Output = out
		return cmp.Or(a.WriteJSON(doc), reported(failure))
	}
	return cmp.Or(err, failure)
}

// A Document is what show --json prints.
type Document struct {
	cli.Report
	Stage  string `json:"stage" doc:"or the pass of --after"`
	Text   string `json:"text,omitempty" doc:"where it went to no file"`
	Output string `json:"output,omitempty" doc:"the file that it was written to"`

	Bundle *bundle.Info `json:"bundle,omitempty" doc:"of a bundle; stage is bundle"`
}

func stageText(a *cli.App, s *cli.Source, arg, stage string, c *showFlags) ([]byte, *either.Program, error) {
	var b bytes.Buffer
	var p *either.Program
	var err error
	switch {
	case stage == afterPass && s.Kind != codegen.KindSource:
		return nil, nil, compiling.CompiledAlready(arg, "--after")
	case stage != afterPass && !slices.Contains(stageNames(), stage):
		return nil, nil, cli.Unknown("stage", stage, stageNames())
	case s.Kind == codegen.KindMSCCLPP:
		err := c.showChannels(&b, s, stage)
		return b.Bytes(), nil, err
	case stage == "channels" && s.Kind != codegen.KindSource:
		return nil, nil, noChannels(arg, "program, json or dot")
	case s.Kind == codegen.KindSource:
		p, err = sourceStage(a, &b, s, stage, c)
	case stage == "chunks" || stage == "insts" || stage == "wrong":
		return nil, nil, cli.Usagef("%s is a program: it has no %s; show program, json or dot", arg, stage)
	case c.UnfitProgram(s.Kind, compiledShow...) != "":
		return nil, nil, compiling.CompiledAlready(arg, c.UnfitProgram(s.Kind, compiledShow...))
	default:
		if p, err = compiling.ReadProgram(s, c.Limits.Read); err == nil {
			p, err = c.Lower(p)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	switch stage {
	case "program":
		shown := p
		if !c.positions {
			shown = text.BareProgram(p)
		}
		err = text.WriteProgram(&b, shown)
	case "json":
		err = program.WriteJSON(&b, p)
	case "dot":
		err = picture.WriteDot(&b, p)
	case "svg":
		if s.Kind != codegen.KindSource { // which is drawn already
			err = c.drawProgram(&b, arg, p)
		}
	}
	return b.Bytes(), p, err
}

// noChannels says that name has no channels to show, and what it has.
func noChannels(name, has string) error {
	return cli.Usagef("%s has no channels, which plans of MSCCL++ have and algorithms that say which thread block does what; "+
		"show %s", name, has)
}

// compiledShow are the flags that show ignores of what is compiled, beside compileOnly.
var compiledShow = []string{"target", "fused-receives", "protocol", "inplace", "nodes"}

// tooLate are the flags that a stage which is shown comes before.
var tooLate = map[string][]string{
	"chunks": chunkNeutral,
	"insts":  compiling.PassFlags,
	"svg":    chunkNeutral,
	"wrong":  chunkNeutral,
}

// chunkNeutral are the flags that change nothing of which chunk goes where.
var chunkNeutral = slices.Concat([]string{"instances", "target", "fused-receives", "nodes"}, compiling.LaneFlags,
	compiling.PassFlags)

func sourceStage(a *cli.App, w io.Writer, s *cli.Source, stage string, c *showFlags) (*either.Program, error) {
	if stage == "insts" {
		c.TwoSidedFor = "stage insts"
	}
	src, err := s.ReadAlgorithm(&c.Limits)
	if err != nil {
		return nil, err
	}
	opt, err := c.Options(s)
	if err == nil {
		err = compiling.ShareRanks(a, s, src, &c.Flags, &opt)
	}
	if err != nil {
		return nil, err
	}
	if flag := c.OneGiven(tooLate[stage]...); flag != "" {
		return nil, cli.Usagef("%s does not change stage %s, which comes before it; --after PASS shows what a pass leaves",
			flag, stage)
	}
	if opt.OneSided && stage == "insts" {
		return nil, cli.Usagef("one-sided programs have no insts; show chunks, program, json or dot, or --after PASS")
	}
	if stage == afterPass {
		return c.afterPass(w, s.Name, src, &opt)
	}
	ofPlan := stage == "channels" && c.Target == "mscclpp" // those of the plan that would be written
	opt.Unproven = ofPlan || c.rejected
	if c.rejected {
		opt.Lang.Facts = lang.NewFacts()
	}
	opt.Stage = func(value any) error {
		switch v := value.(type) {
		case *ir.ChunkDAG:
			if stage == "channels" && !ofPlan {
				has := "chunks, insts, program, json or dot"
				if c.Sided == "one" || c.Target == "mscclpp" {
					has = "chunks, program, json or dot"
				}
				return noChannels(s.Name, has+", or, with --target mscclpp, the plan's channels")
			}
			switch stage {
			case "wrong":
				return writeWrong(w, v)
			case "chunks":
				if !c.positions {
					v = text.BareChunks(v)
				}
				return text.WriteChunks(w, v)
			case "svg":
				c.drawn, err = picture.DrawTable(w, s.Name, play.OfChunks(v))
				return err
			}
		case *ir.InstDAG:
			if stage == "insts" {
				if !c.positions {
					v = text.BareInsts(v)
				}
				return text.WriteInsts(w, v)
			}
		case *ir.ChannelProgram:
			c.Channels = v
			switch stage {
			case "channels":
				return text.WriteChannels(w, v)
			case "chunks", "insts", "wrong":
				return cli.Usagef("%s says itself which thread block does what: it has no %s; "+
					"show channels, program, json, dot or svg", s.Name, stage)
			}
		}
		return nil
	}
	p, err := mscclc.Compile(s.Name, src, opt)
	ofChunks := slices.Contains([]string{"chunks", "svg", "wrong"}, stage)
	if made := madeBy(&opt); err != nil && c.rejected && made != nil && ofChunks {
		return nil, opt.Stage(made)
	}
	switch {
	case err != nil:
	case ofPlan && c.Channels == nil:
		err = c.writePlanChannels(w, p)
	case stage == "svg" && c.Channels != nil:
		err = c.drawChannels(w, s.Name, c.Channels)
	}
	return p, err
}
