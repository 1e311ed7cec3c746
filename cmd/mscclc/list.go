package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"

	"github.com/spf13/cobra"
)

func listCommand(a *cli.App) *cobra.Command {
	var from cli.Reading
	cmd := &cobra.Command{
		Use:   "list [COLLECTIVE|FOLDER|FILE...]",
		Short: "List the algorithms of the catalog, or of files and folders",
		Long: `List the algorithms of the catalog, or of files and folders, with their costs for the default parameters.
Rounds is the longest chain of transfers. Sent is what the busiest rank sends or receives, and scratch what a rank has,
both in buffers, as nccl-tests counts a call's bytes. A file at the level of channels has - there.`,
		Example: `  mscclc list
  mscclc list allreduce
  mscclc list examples/`,
		Args: cli.AtLeast(0, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listAll(a, catalog(), &from)
			}
			var tasks []cli.Task
			for _, arg := range args {
				if of := cli.AlgorithmsOf(cli.Collective(arg)); len(of) > 0 && !cli.Exists(arg) {
					for _, name := range of {
						tasks = append(tasks, cli.Task{Name: name, Found: true})
					}
					continue
				}
				tasks = append(tasks, a.Regular(cli.Expand([]string{arg}, cli.SourceEndings...))...)
			}
			return listAll(a, tasks, &from)
		},
	}
	from.Flags(cmd.Flags(), syntax.LimitNames())
	return cmd
}

// A listedDocument is what list --json prints.
type listedDocument struct {
	Schema     int            `json:"schema"`
	Algorithms []listing      `json:"algorithms"`
	Problems   []diag.Problem `json:"problems,omitempty" doc:"of files that could not be read"`
	cli.Noted
}

// A listing is what a file says of itself.
type listing struct {
	Name       string         `json:"name" doc:"what FILE may be"`
	File       string         `json:"file"`
	Algorithm  string         `json:"algorithm"`
	Collective string         `json:"collective"`
	Params     []listingParam `json:"params"`
	Protocol   string         `json:"protocol"`
	Doc        string         `json:"doc" doc:"the first sentence of its comment"`
	Shape      *listingShape  `json:"shape,omitempty" doc:"by its default parameters; absent where the file names no chunks"`
}

// A listingShape is what an algorithm costs by its default parameters; see choose.Shape.
type listingShape struct {
	Ranks   int     `json:"ranks"`
	Rounds  int     `json:"rounds" doc:"transfers that follow each other at most"`
	Sent    float64 `json:"sent" doc:"times a call's bytes, by the rank that sends or receives most"`
	Scratch float64 `json:"scratch" doc:"of a rank, times a call's bytes"`
}

type listingParam struct {
	Name    string `json:"name"`
	Default string `json:"default"`
}

func catalog() []cli.Task {
	var tasks []cli.Task
	for _, name := range algorithms.Names() {
		tasks = append(tasks, cli.Task{Name: name, Found: true}) // of a folder that holds libraries too
	}
	return tasks
}

// listAll lists the algorithms among the files of tasks. What cannot be read is
// reported, and the others are listed.
func listAll(a *cli.App, tasks []cli.Task, from *cli.Reading) error {
	found, wrong := []listing{}, diag.List{}
	for _, t := range tasks {
		l, ok, err := listingOf(a, t, from)
		if err != nil {
			wrong = append(wrong, cli.Placed(cli.Problems(err), t.Name)...)
		} else if ok {
			found = append(found, l)
		}
	}
	var err error
	if a.JSON {
		err = a.WriteJSON(listedDocument{cli.Schema, found, diag.Report("", wrong).Problems, a.Notes.List()})
	} else if len(found) > 0 || len(wrong) == 0 {
		err = printList(a, found)
	}
	if err != nil || len(wrong) == 0 {
		return err
	}
	a.Show(wrong)
	return cli.ReportedError{Code: cli.ExitCode(wrong)}
}

// listingOf returns the line of t's file. A library has none, which is an error where the user named it.
func listingOf(a *cli.App, t cli.Task, from *cli.Reading) (l listing, ok bool, err error) {
	if t.Err != nil {
		return l, false, t.Err
	}
	s, err := a.Open(t.Name, &from.Limits)
	if err != nil {
		return l, false, err
	}
	defer s.Close()
	if l, ok, err = inCatalog(s, from); err != nil {
		return l, false, err
	}
	l.Name = t.Name
	if err == nil && !ok && !t.Found {
		d := diag.New(diag.Declaration, cli.FileSpan(s.Name), "the file has no algorithm to list")
		if s.Kind != codegen.KindSource {
			d = d.WithHint("it holds %s, which mscclc show %s shows", s.Kind, diag.Printable(t.Name))
		}
		err = diag.List{d}
	}
	return l, ok, err
}

func printList(a *cli.App, found []listing) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCOLLECTIVE\tPARAMETERS\tPROTOCOL\tROUNDS\tSENT\tSCRATCH\tWHAT IT IS")
	for _, l := range found {
		params := make([]string, len(l.Params))
		for i, p := range l.Params {
			params[i] = p.Name + "=" + p.Default
		}
		shape := "-\t-\t-"
		if l.Shape != nil {
			shape = fmt.Sprintf("%d\t%.4gx\t%.4gx", l.Shape.Rounds, l.Shape.Sent, l.Shape.Scratch)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Collective, strings.Join(params, " "), l.Protocol, shape, l.Doc)
	}
	return w.Flush()
}

// describe reads what s says of itself; a library says nothing.
func describe(s *cli.Source, from *cli.Reading) (l listing, ok bool, err error) {
	if s.Kind != codegen.KindSource {
		return l, false, nil
	}
	text, err := s.ReadSource(&from.Limits)
	if err != nil {
		return l, false, err
	}
	f, err := syntax.ParseLimited(s.Name, text, from.Limits.Lang)
	if err != nil {
		return l, false, err
	}
	l = listing{File: filepath.ToSlash(s.Name), Protocol: "Simple", Params: []listingParam{},
		Doc: cli.FirstSentence(string(text))}
	for _, stmt := range f.Stmts {
		switch d := stmt.(type) {
		case *syntax.Algorithm:
			l.Algorithm, ok = d.Name, true
			for _, p := range d.Params {
				l.Params = append(l.Params, listingParam{p.Name, sourceOf(text, p.Default)})
			}
		case *syntax.Collective:
			l.Collective = d.Kind.Text
		case *syntax.Protocol:
			l.Protocol = d.Name.Text
		}
	}
	if ok {
		l.Shape = shapeOf(s, f, from)
	}
	return l, ok, nil
}

// shapeOf returns what f costs, nil where it says no chunks, or nothing by its default parameters.
func shapeOf(s *cli.Source, f *syntax.File, from *cli.Reading) *listingShape {
	x, err := lang.ExpandLevel(f, from.Imports(s))
	if err != nil || x.Chunks == nil {
		return nil
	}
	shape := choose.ShapeOf(x.Chunks)
	return &listingShape{x.Chunks.Coll.Ranks, shape.Rounds, shape.Volume, shape.Scratch}
}

// sourceOf returns the text of e, or nothing.
func sourceOf(text []byte, e *syntax.Expr) string {
	if e == nil || len(e.Tokens) == 0 {
		return ""
	}
	last := e.Tokens[len(e.Tokens)-1]
	line, _, _ := strings.Cut(string(text[e.Pos.Offset:last.Pos.Offset+len(last.Value)]), "#")
	return strings.Join(strings.Fields(line), " ")
}
