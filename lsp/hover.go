package lsp

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// This file says what is at a place: the values of names and expressions, what chunks hold, and the steps that
// operations became.

// mostShown is how many loop iterations, and how many steps, a hover shows.
const mostShown = 8

// A held is an operation with what it leaves where it writes.
type held struct {
	op   int32
	text string
}

func hoverAt(d *snapshot, p *documentParams) (any, error) {
	at := d.offset(p.Position)
	if d.isMachine() {
		return d.hoverMachine(at), nil
	}
	if !d.isSource() {
		return nil, nil
	}
	a := d.analysis()
	w := a.wordAt(at)
	if w == nil {
		return nil, nil
	}
	var parts []string
	if u := a.names.useAt(w.Offset); u != nil && u.decl != nil {
		parts = append(parts, "```mscl\n"+u.decl.text()+"\n```")
		parts = append(parts, a.valuesText(u.at, u.decl.at)...)
	} else if text := wordText(w, a); text != "" {
		parts = append(parts, "```mscl\n"+text+"\n```")
		parts = append(parts, a.valuesText(a.callSpan(w), diag.Span{})...)
	}
	if w.Kind == syntax.NameWord {
		parts = append(parts, d.operations(w)...)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return hover{markup{"markdown", strings.Join(parts, "\n\n")}, d.between(w.Offset, w.Offset+len(w.Text))}, nil
}

// text says what a name is.
func (x *decl) text() string {
	if x.kind == aFunction {
		return "def " + x.header
	}
	return declWords[x.kind] + " " + x.name
}

// wordAt returns the word at an offset, or nil.
func (a *analysis) wordAt(offset int) *syntax.Word {
	words := a.names.words
	i, _ := slices.BinarySearchFunc(words, offset, func(w syntax.Word, at int) int { return w.Offset - at })
	for _, k := range []int{i, i - 1} {
		if k < 0 || k >= len(words) {
			continue
		}
		w := &words[k]
		if w.Offset <= offset && offset <= w.Offset+len(w.Text) && (k == i-1 || w.Offset == offset) {
			return w
		}
	}
	return nil
}

// wordText says how a word of the language is used, or returns "".
func wordText(w *syntax.Word, a *analysis) string {
	if w.Kind != syntax.NameWord {
		return ""
	}
	i, _ := slices.BinarySearchFunc(a.names.words, w.Offset, func(x syntax.Word, at int) int { return x.Offset - at })
	if i > 0 && a.names.words[i-1].Text == "collective" {
		if args := lang.CollectiveArguments()[w.Text]; args != nil {
			return "collective " + w.Text + "(" + strings.Join(args, ", ") + ")"
		}
	}
	list := lang.Names()
	if i > 0 && a.names.words[i-1].Text == "." {
		list = lang.Operations()
	}
	for _, n := range list {
		switch {
		case n.Name != w.Text:
		case n.Function:
			return n.Name + "(" + n.Arguments + ")"
		default:
			return n.Name
		}
	}
	return ""
}

// callSpan returns the operand that w begins, up to the call after it.
func (a *analysis) callSpan(w *syntax.Word) (span diag.Span) {
	if a.facts == nil {
		return span
	}
	for s := range a.facts.Values {
		if s.Pos == w.Pos && (span.Len == 0 || s.Len < span.Len) {
			span = s
		}
	}
	return span
}

// valuesText says which values the operand at a span had, or what is declared at another.
func (a *analysis) valuesText(at, declared diag.Span) []string {
	if a.facts == nil {
		return nil
	}
	for _, span := range []diag.Span{at, declared} {
		v := a.facts.Values[span]
		if v == nil {
			continue
		}
		text := strings.Join(v.Texts, ", ")
		if v.More {
			text += ", ..."
		}
		if len(v.Texts) == 1 && !v.More {
			return []string{"Value: " + text}
		}
		return []string{"Values: " + text}
	}
	return nil
}

// operations says what the operations hold and became that the call makes which a word names.
func (d *snapshot) operations(w *syntax.Word) (parts []string) {
	a := d.analysis()
	if a.chunks == nil {
		return nil
	}
	pos, total := int32(-1), 0
	for i := range a.chunks.Spans { // the shortest call on the word's line that it is in
		s := &a.chunks.Spans[i]
		inside := s.Filename == d.path && s.Offset <= w.Offset && w.Offset < s.Offset+s.Len
		if inside && *s != a.chunks.Declaration && (pos < 0 || s.Len < a.chunks.Spans[pos].Len) {
			pos = int32(i)
		}
	}
	list := d.heldAt(pos)
	if pos < 0 || len(list) == 0 {
		return nil
	}
	for i := range a.chunks.Ops {
		if a.chunks.Ops[i].Pos == pos {
			total++
		}
	}
	text := fmt.Sprintf("%s of %d:", diag.Counted(total, "operation"), len(a.chunks.Ops))
	for _, h := range list {
		text += fmt.Sprintf("\n* operation %d: %s", h.op+1, h.text)
	}
	if total > len(list) {
		text += "\n* ..."
	}
	parts = append(parts, text)
	if steps := d.steps(a.chunks.Spans[pos]); steps != "" {
		parts = append(parts, steps)
	}
	return parts
}

// heldAt returns the first operations of a position, with what they leave.
func (d *snapshot) heldAt(pos int32) []held {
	d.meaning.Do(func() { d.holds = heldBy(d.analysis().chunks) })
	return d.holds[pos]
}

// heldBy runs operations on symbolic chunks, and returns the first of each position.
func heldBy(c *ir.ChunkDAG) map[int32][]held {
	mem := ir.NewMemory(c.Coll, c.ScratchChunks())
	values, cells, base := eval.NewValues(c.Coll), eval.NewCells(mem.Len()), c.ScratchBase()
	cells.Fill(values, func(rank int) int { return mem.Cell(rank, ir.Input, 0) })
	cell := func(r *ir.Ref) int {
		if r.Buf >= ir.Scratch {
			return mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index))
		}
		return mem.Cell(int(r.Rank), r.Buf, int(r.Index))
	}
	list := map[int32][]held{}
	var total eval.Total
	for i := range c.Ops {
		op := &c.Ops[i]
		total.Reset()
		for _, src := range c.Sources(op) {
			total.Add(values, cells.Read(nil, cell(&src), int(op.Count)))
		}
		at := cell(&op.Dst)
		cells.Write(at, int(op.Count), int32(i), total.Runs())
		if len(list[op.Pos]) < mostShown {
			x, _ := cells.At(at)
			text := fmt.Sprintf("rank %d %s holds %s", op.Dst.Rank, refText(c, &op.Dst, op.Count), values.Describe(x))
			if op.Count > 1 {
				text += " and what follows"
			}
			list[op.Pos] = append(list[op.Pos], held{int32(i), text})
		}
	}
	return list
}

// refText names chunks as the file does.
func refText(c *ir.ChunkDAG, r *ir.Ref, count int32) string {
	name := r.Buf.String()
	if r.Buf >= ir.Scratch {
		name = c.Scratch[r.Buf-ir.Scratch].Name
	}
	if count == 1 {
		return fmt.Sprintf("%s[%d]", name, r.Index)
	}
	return fmt.Sprintf("%s[%d..%d]", name, r.Index, r.Index+count)
}

// steps says which steps the operations at a span became, or "" before the program is compiled.
func (d *snapshot) steps(span diag.Span) string {
	p := d.proofNow()
	if p == nil || p.program == nil {
		return ""
	}
	n, text := 0, ""
	for i := range p.program.Steps {
		if p.program.Span(p.program.Steps[i].Pos) != span {
			continue
		}
		if n++; n <= mostShown {
			text += "\n* " + p.program.StepName(int32(i))
		}
	}
	if n == 0 {
		return "It became no step of its own: another operation's steps do it, or no output needs it."
	}
	if n > mostShown {
		text += "\n* ..."
	}
	return diag.Counted(n, "step") + " of the program:" + text
}
