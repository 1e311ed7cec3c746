package showcmd

import (
	"fmt"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/play"

	"github.com/spf13/cobra"
)

// TraceChunk returns mscclc trace-chunk.
func TraceChunk(a *cli.App) *cobra.Command {
	var f compiling.Flags
	cmd := &cobra.Command{
		Use:   "trace-chunk FILE RANK:BUFFER[INDEX]",
		Short: "Tell the history of a chunk: which operations wrote what it holds",
		Long: `Print which operations of an algorithm wrote a chunk, and which wrote what they read: where each stands in the
file, with which values of loops, and what it left. In a wrong algorithm, these are operations before the error.

BUFFER is input, output or a scratch buffer of the file. Operations come in the file's order, each with a number. What
it wrote and something later wrote over is marked. A list is cut after 200 operations.`,
		Example: `  mscclc trace-chunk allreduce/ring '2:output[1]' -p ranks=4
  mscclc trace-chunk allreduce/allpairs '0:gathered[3]' --json`,
		Args: cli.Between(2, 2, "a file and a chunk, as in 2:output[1]"),
		RunE: func(_ *cobra.Command, args []string) error { return traceChunk(a, args[0], args[1], &f) },
	}
	f.AddSource(cmd.Flags())
	return cmd
}

// A HistoryDocument is what trace-chunk --json prints.
type HistoryDocument struct {
	cli.Report
	Chunk   string  `json:"chunk" doc:"as it was asked for"`
	Holds   string  `json:"holds" doc:"what it holds at the end"`
	Must    string  `json:"must,omitempty" doc:"what an output must hold"`
	History []Event `json:"history" doc:"in the order of the file"`
	Cut     bool    `json:"cut,omitempty" doc:"there are more"`
}

// An Event is an operation of a chunk's history.
type Event struct {
	Operation   int      `json:"operation" doc:"its number, from 1"`
	Pos         string   `json:"pos"`
	Writes      string   `json:"writes" doc:"rank:buffer[index]"`
	Reads       []string `json:"reads"`
	Where       []string `json:"where,omitempty" doc:"values of loops, and calls"`
	Holds       string   `json:"holds" doc:"what it leaves"`
	Overwritten bool     `json:"overwritten,omitempty" doc:"it wrote the chunk, and what it left is not in the end"`
}

func traceChunk(a *cli.App, arg, chunk string, f *compiling.Flags) error {
	if !play.IsChunk(chunk) {
		return cli.Usagef("%q is no chunk: 2:output[1] is chunk 1 of rank 2's output", chunk)
	}
	arg = a.About(arg)
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Kind != codegen.KindSource {
		return cli.Usagef("%s is a program: trace-chunk follows the chunks of .mscl files", diag.Printable(arg))
	}
	src, err := s.ReadAlgorithm(&f.Limits)
	if err != nil {
		return err
	}
	opt, err := f.Options(s)
	if err != nil {
		return err
	}
	tree, err := syntax.ParseLimited(s.Name, src, opt.Lang.Limits)
	if err != nil {
		return err
	}
	opt.Lang.Facts = lang.NewFacts()
	_, failure := lang.ExpandLevel(tree, opt.Lang)
	made := opt.Lang.Facts.Made
	if made == nil && failure != nil {
		return failure
	} else if made == nil {
		return cli.Usagef("%s says itself which thread block does what: it has no chunks to follow", diag.Printable(arg))
	}
	doc, err := historyOf(made, chunk, func(ops []int32) [][]diag.Note { return lang.Where(tree, opt.Lang, ops) })
	if err != nil {
		return err
	}
	doc.Report = a.Noted(cli.NewReport(arg, found(arg, failure), nil))
	if a.JSON {
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
		return reported(failure)
	}
	doc.print(a)
	return failure
}

// historyOf returns the history of a chunk.
func historyOf(c *ir.ChunkDAG, chunk string, where func(ops []int32) [][]diag.Note) (*HistoryDocument, error) {
	x := play.OfChunks(c)
	ref, what, buffers := x.Find(chunk)
	switch {
	case buffers != nil && what != "":
		return nil, cli.Unknown("buffer", what, buffers)
	case what != "":
		return nil, cli.Usagef("%s", what)
	}
	h := play.HistoryOf(x, ref)
	doc := &HistoryDocument{Chunk: chunk, Holds: h.Holds, Must: h.Must, History: []Event{}, Cut: h.Cut}
	ops := make([]int32, len(h.Ops))
	for i := range h.Ops {
		ops[i] = h.Ops[i].Op
	}
	for k, notes := range where(ops) {
		step, op := &h.Ops[k], &x.Ops[ops[k]]
		e := Event{Operation: int(step.Op) + 1, Pos: c.Span(op.Pos).Pos.String(), Writes: x.RefName(&op.Dests[0], op.Count),
			Reads: []string{}, Holds: step.Holds, Overwritten: step.Overwritten}
		for i := range op.Sources {
			e.Reads = append(e.Reads, x.RefName(&op.Sources[i], op.Count))
		}
		for _, n := range notes {
			e.Where = append(e.Where, play.WhereText(n))
		}
		doc.History = append(doc.History, e)
	}
	return doc, nil
}

// print writes the history as text.
func (doc *HistoryDocument) print(a *cli.App) {
	fmt.Fprintf(a.Stdout, "%s holds %s\n", doc.Chunk, doc.Holds)
	if doc.Must != "" && doc.Must != doc.Holds {
		fmt.Fprintf(a.Stdout, "it must hold %s\n", doc.Must)
	}
	if doc.Cut {
		fmt.Fprintf(a.Stdout, "the last %d operations of its history:\n", len(doc.History))
	}
	for i := range doc.History {
		e := &doc.History[i]
		does := "copies " + strings.Join(e.Reads, ", ")
		if len(e.Reads) > 1 {
			does = "adds " + strings.Join(e.Reads, ", ")
		}
		over := ""
		if e.Overwritten {
			over = ", and is overwritten"
		}
		fmt.Fprintf(a.Stdout, "%6d  %s  %s: %s\n", e.Operation, e.Pos, e.Writes, does)
		fmt.Fprintf(a.Stdout, "        holds %s%s\n", e.Holds, over)
		for _, text := range e.Where {
			fmt.Fprintf(a.Stdout, "        %s\n", text)
		}
	}
	if len(doc.History) == 0 {
		fmt.Fprintln(a.Stdout, "no operation writes it")
	}
}
