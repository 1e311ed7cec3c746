package showcmd

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"

	"mscclc/lang"
	"mscclc/lang/syntax"

	"github.com/spf13/cobra"
)

// TraceChunk returns mscclc trace-chunk.
func TraceChunk(a *cli.App) *cobra.Command {
	var f compiling.Flags
	cmd := &cobra.Command{
		Use:   "trace-chunk FILE RANK:BUFFER[INDEX]",
		Short: "Tell the history of a chunk: which operations wrote what it holds",
		Long: `Print which operations of an algorithm wrote a chunk, and which wrote what they read: where each stands in the
file, with which values of loops, and what it left. The algorithm may be wrong: operations before an error are told too.

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

// mostEvents bounds a history.
const mostEvents = 200

// wanted is a chunk as the command line names it.
var wanted = regexp.MustCompile(`^(\d{1,9}):([A-Za-z_][A-Za-z0-9_]*)\[(\d{1,9})\]$`)

func traceChunk(a *cli.App, arg, chunk string, f *compiling.Flags) error {
	if !wanted.MatchString(chunk) {
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

// historyOf tells the history of a chunk.
func historyOf(c *ir.ChunkDAG, chunk string, where func(ops []int32) [][]diag.Note) (*HistoryDocument, error) {
	ref, err := refOf(c, chunk)
	if err != nil {
		return nil, err
	}
	from := make([][]int32, len(c.Ops)) // the operations that wrote what each reads
	var wrote []int32                   // those that wrote the chunk
	var target int
	m := meaningOf(c, func(m *meaning, i int32) {
		op := &c.Ops[i]
		target = m.cell(&ref)
		for _, src := range c.Sources(op) {
			for k := range int(op.Count) {
				if _, by := m.cells.At(m.cell(&src) + k); by >= 0 && !slices.Contains(from[i], by) {
					from[i] = append(from[i], by)
				}
			}
		}
		if at := m.cell(&op.Dst); at <= target && target < at+int(op.Count) {
			wrote = append(wrote, i)
		}
	})
	target = m.cell(&ref)
	x, last := m.cells.At(target)
	doc := &HistoryDocument{Chunk: chunk, Holds: m.values.Describe(x), History: []Event{}}
	if ref.Buf == ir.Output {
		doc.Must = m.values.DescribeWant(c.Coll.Want(int(ref.Rank), int(ref.Index)))
	}
	leads := leadsTo(from, last)
	ops := slices.Concat(wrote, leads)
	slices.Sort(ops)
	ops = slices.Compact(ops)
	if doc.Cut = len(ops) > mostEvents; doc.Cut {
		ops = ops[len(ops)-mostEvents:]
	}
	doc.fill(c, ops, leads, where(ops))
	return doc, nil
}

// leadsTo returns operation last, or none where that is -1, and all that wrote what it needs.
func leadsTo(from [][]int32, last int32) (list []int32) {
	if last < 0 {
		return nil
	}
	seen := map[int32]bool{last: true}
	list = []int32{last}
	for i := 0; i < len(list); i++ {
		for _, by := range from[list[i]] {
			if !seen[by] {
				seen[by] = true
				list = append(list, by)
			}
		}
	}
	return list
}

// fill makes the events of ops, which ascend. What leads to the end is in leads.
func (doc *HistoryDocument) fill(c *ir.ChunkDAG, ops, leads []int32, where [][]diag.Note) {
	left := map[int32]string{}
	write := func(m *meaning, i int32) { // what the operation before left
		if i > 0 && slices.Contains(ops, i-1) {
			x, _ := m.cells.At(m.cell(&c.Ops[i-1].Dst))
			left[i-1] = m.values.Describe(x)
		}
	}
	m := meaningOf(c, write)
	write(m, int32(len(c.Ops)))
	for k, i := range ops {
		op := &c.Ops[i]
		e := Event{Operation: int(i) + 1, Pos: c.Span(op.Pos).Pos.String(), Writes: refName(c, &op.Dst, op.Count),
			Reads: []string{}, Holds: left[i], Overwritten: !slices.Contains(leads, i)}
		for _, src := range c.Sources(op) {
			e.Reads = append(e.Reads, refName(c, &src, op.Count))
		}
		for _, n := range where[k] {
			text := n.Text
			if n.Span.Line > 0 {
				text += ", " + n.Span.Pos.String()
			}
			e.Where = append(e.Where, text)
		}
		doc.History = append(doc.History, e)
	}
}

// refOf returns the chunk that a text names, or an error of usage.
func refOf(c *ir.ChunkDAG, chunk string) (r ir.Ref, err error) {
	part := wanted.FindStringSubmatch(chunk)
	rank, _ := strconv.Atoi(part[1]) // of at most nine digits
	index, _ := strconv.Atoi(part[3])
	if rank >= c.Coll.Ranks {
		return r, cli.Usagef("there is no rank %d: the algorithm has %d", rank, c.Coll.Ranks)
	}
	buf, chunks := ir.Input, c.Coll.InChunks(rank)
	switch name := part[2]; name {
	case "input":
	case "output":
		buf, chunks = ir.Output, c.Coll.OutChunks(rank)
	default:
		i := slices.IndexFunc(c.Scratch, func(s ir.ScratchDecl) bool { return s.Name == name })
		if i < 0 {
			names := []string{"input", "output"}
			for _, s := range c.Scratch {
				names = append(names, s.Name)
			}
			return r, cli.Unknown("buffer", name, names)
		}
		buf, chunks = ir.Scratch+ir.Buf(i), c.Scratch[i].Chunks
	}
	if index >= chunks {
		return r, cli.Usagef("%s of rank %d has %s, so no chunk %d", part[2], rank, diag.Counted(chunks, "chunk"), index)
	}
	return ir.Ref{Rank: int32(rank), Buf: buf, Index: int32(index)}, nil
}

// refName names chunks as the command line does.
func refName(c *ir.ChunkDAG, r *ir.Ref, count int32) string {
	name := r.Buf.String()
	if r.Buf >= ir.Scratch {
		name = c.Scratch[r.Buf-ir.Scratch].Name
	}
	if count == 1 {
		return fmt.Sprintf("%d:%s[%d]", r.Rank, name, r.Index)
	}
	return fmt.Sprintf("%d:%s[%d..%d]", r.Rank, name, r.Index, r.Index+count)
}

// print writes the history as text.
func (doc *HistoryDocument) print(a *cli.App) {
	fmt.Fprintf(a.Stdout, "%s holds %s\n", doc.Chunk, doc.Holds)
	if doc.Must != "" && doc.Must != doc.Holds {
		fmt.Fprintf(a.Stdout, "it must hold %s\n", doc.Must)
	}
	if doc.Cut {
		fmt.Fprintf(a.Stdout, "the last %d operations of its history:\n", mostEvents)
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
