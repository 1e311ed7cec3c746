package eval

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// A chunkMachine is a Machine that goes chunk by chunk, with values as texts in which operands of a sum are sorted:
// what a Machine, which goes by runs, must agree with.
type chunkMachine struct {
	*Machine
	text   []string
	writer []int32
	class  []int
	says   []string
	made   map[int32][]string
}

func newChunkMachine(m *Machine) *chunkMachine {
	n := m.Mem.Len()
	c := &chunkMachine{Machine: m, text: make([]string, n), writer: make([]int32, n), class: make([]int, n),
		made: map[int32][]string{}}
	for i := range n {
		c.writer[i], c.class[i] = -1, noClass
	}
	for r := range m.Coll.Ranks {
		for i := range m.Coll.InChunks(r) {
			c.text[m.Mem.Cell(r, ir.Input, i)] = fmt.Sprintf("%d.%d", r, i)
		}
	}
	return c
}

// textOf writes a value of a Machine as a chunkMachine has it.
func (m *Machine) textOf(x Value) string {
	switch {
	case x == None:
		return ""
	case !x.IsSum():
		p := m.Values.Part(x)
		return fmt.Sprintf("%d.%d", p.Rank, p.Index)
	}
	a, b := m.Values.Operands(x)
	return sumText(m.textOf(a), m.textOf(b))
}

func sumText(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	return "(" + min(a, b) + "+" + max(a, b) + ")"
}

// operand reads operand k of a, and reports on it.
func (c *chunkMachine) operand(id int32, a *Action, rank int, b ir.Buf, index int32) []string {
	at, n := c.Mem.Cell(rank, b, int(index)), int(a.Count)
	for k := range n {
		if c.text[at+k] == "" && c.writer[at+k] < 0 {
			c.says = append(c.says, fmt.Sprint("read ", id, rank, b, int(index)+k))
			break
		}
	}
	for k := range n {
		class := c.class[at+k]
		if b < ir.Scratch {
			class = c.Coll.Class(int(index) + k)
		}
		if class != noClass && class != c.Coll.Class(int(a.Class)+k) {
			c.says = append(c.says, fmt.Sprint("class ", id, rank, b, int(index)+k))
			break
		}
	}
	return slices.Clone(c.text[at : at+n])
}

func (c *chunkMachine) store(id int32, a *Action, rank int, b ir.Buf, index int32, list []string) {
	at := c.Mem.Cell(rank, b, int(index))
	said := false
	for k, x := range list {
		class := c.Coll.Class(int(a.Class) + k)
		c.text[at+k], c.writer[at+k] = x, id
		if b >= ir.Scratch {
			c.class[at+k] = class
		} else if class != c.Coll.Class(int(index)+k) && !said {
			said = true
			c.says = append(c.says, fmt.Sprint("class ", id, rank, b, int(index)+k))
		}
	}
}

func sumTexts(a, b []string) []string {
	for k := range a {
		a[k] = sumText(a[k], b[k])
	}
	return a
}

func (c *chunkMachine) exec(id int32, a *Action, in []string) (out []string) {
	info, rank := a.Op.Info(), int(a.Rank)
	if out = slices.Clone(in); info.ReadsSrc {
		if out = c.operand(id, a, rank, a.SrcBuf, a.Src); info.Receives {
			out = sumTexts(out, in)
		}
	}
	if info.ReadsDst {
		out = sumTexts(c.operand(id, a, rank, a.DstBuf, a.Dst), out)
	}
	if info.Writes {
		c.store(id, a, rank, a.DstBuf, a.Dst, out)
	}
	if info.Reduces {
		c.made[id] = slices.Clone(out)
	}
	return out
}

func (c *chunkMachine) moved(id int32, a *Action, sources, dests []onesided.Operand) {
	each := func(x onesided.Operand, f func(rank int)) {
		for r := range c.Coll.Ranks {
			if x.Rank == ir.AllRanks || int(x.Rank) == r {
				f(r)
			}
		}
	}
	var list []string
	for _, s := range sources {
		each(s, func(r int) {
			if x := c.operand(id, a, r, s.Buf, s.Index); list == nil {
				list = x
			} else {
				list = sumTexts(list, x)
			}
		})
	}
	for _, d := range dests {
		each(d, func(r int) { c.store(id, a, r, d.Buf, d.Index, list) })
	}
	if len(sources) > 1 || sources[0].Rank == ir.AllRanks {
		c.made[id] = list
	}
}

// leavesOf returns the leaves of a text, sorted.
func leavesOf(text string) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(+)", r) })
	slices.Sort(list)
	return list
}

// holds reports whether a text is what w asks for.
func (c *chunkMachine) holds(text string, w ir.Want) bool {
	var want []string
	switch {
	case w.Any:
		return true
	case w.Sum:
		for r := range c.Coll.Ranks {
			want = append(want, fmt.Sprintf("%d.%d", r, w.Part.Index))
		}
	case w.List == nil:
		want = []string{fmt.Sprintf("%d.%d", w.Part.Rank, w.Part.Index)}
	default:
		for _, p := range w.List {
			want = append(want, fmt.Sprintf("%d.%d", p.Rank, p.Index))
		}
	}
	slices.Sort(want)
	return slices.Equal(leavesOf(text), want)
}

// outputs are all output chunks.
func (c *chunkMachine) eachOutput(f func(rank, index int, text string, w ir.Want)) {
	for r := range c.Coll.Ranks {
		for i := range c.Coll.OutChunks(r) {
			f(r, i, c.text[c.Mem.Cell(r, ir.Output, i)], c.Coll.Want(r, i))
		}
	}
}
