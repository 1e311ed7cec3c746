package lang

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file judges whether the outputs hold what the collective says.

// A judge compares values with what is wanted. A sum is flattened once. Where
// ranks make the same sum each for itself, as in recursive doubling, that would
// take time ranks x ranks x chunks: from some effort on, sums that differ only
// in the order of operands are one class, and a class is flattened once.
type judge struct {
	p      *expansion
	class  []int32 // of each node, where classes are known: the first node that is the same
	summed []int32 // of each node: 1 + the index whose complete sum it is known to be
	seen   []int32 // of each rank: the round in which it was last counted
	round  int32
	stack  []int32
	visits int64 // nodes and inputs looked at
}

// freeVisits is how many visits for each node are cheaper than making classes.
const freeVisits = 8

// checkResult reports an output that does not hold what it must.
func (m *machine) checkResult() {
	p := &m.prog
	j := &judge{p: p, summed: make([]int32, len(p.nodes)), seen: make([]int32, p.coll.Ranks)}
	var wrong ir.WrongList
	first, firstIndex := 0, 0
	piece := p.coll.Chunks // in a piece, what is wanted follows from what is wanted first
	if p.coll.Kind == ir.Custom {
		piece = 1
	}
	for r := 0; r < p.coll.Ranks && j.visits>>4 <= m.lim.Steps; r++ {
		var w ir.Want
		out, next := p.at(int32(r), ir.Output), 0
		for i, c := range p.cells[out.cell : out.cell+out.chunks] {
			if j.visits>>4 > m.lim.Steps {
				break
			}
			if w.Part.Index++; i == next {
				w = p.coll.Want(r, i)
				next += piece
			}
			if !j.holds(c.value, &w) {
				if wrong.N == 0 {
					first, firstIndex = r, i
				}
				wrong.Add(r, i)
			}
		}
	}
	if wrong.N == 0 && j.visits>>4 > m.lim.Steps {
		m.exhausted("steps", m.lim.Steps, &p.declaration, "judging the result takes more than %d evaluation steps")
	}
	if wrong.N > 0 {
		m.wrong(first, firstIndex, &wrong)
	}
}

// holds says whether value v is what is wanted.
func (j *judge) holds(v int32, w *ir.Want) bool {
	switch {
	case w.Any:
		return true
	case v <= 0:
		return false
	case w.Sum:
		return j.completeSum(v, w.Part.Index)
	case w.List != nil:
		return j.isList(v, w.List)
	}
	return v == j.p.leaf[w.Part.Rank]+w.Part.Index
}

// completeSum says whether v reduces chunk index of every rank's input, each
// once.
func (j *judge) completeSum(v, index int32) bool {
	p := j.p
	if v < p.first { // an input: complete if there is one rank
		return len(j.seen) == 1 && v == p.leaf[0]+index
	}
	if j.class == nil && j.visits > freeVisits*int64(len(p.nodes)) {
		j.classify()
	}
	if j.class != nil {
		v = p.first + j.class[v-p.first]
	}
	if known := j.summed[v-p.first]; known != 0 {
		return known == index+1
	}
	j.round++
	inputs := p.leaf[1] - p.leaf[0] // collectives that reduce have as many on every rank
	count := 0
	j.stack = append(j.stack[:0], v)
	for len(j.stack) > 0 {
		x := j.stack[len(j.stack)-1]
		j.stack = j.stack[:len(j.stack)-1]
		for j.visits++; x >= p.first; j.visits++ {
			n := p.nodes[x-p.first]
			j.stack = append(j.stack, n.b)
			x = n.a
		}
		rank := uint32(x-1) / uint32(inputs)
		if p.leaf[rank]+index != x || j.seen[rank] == j.round {
			return false
		}
		j.seen[rank] = j.round
		count++
	}
	if count == len(j.seen) {
		j.summed[v-p.first] = index + 1
	}
	return count == len(j.seen)
}

// classify finds for every node the first that is the same but for the order
// of operands. Operands come before what is made of them.
func (j *judge) classify() {
	p := j.p
	j.class = make([]int32, len(p.nodes))
	of := func(v int32) int32 {
		if v < p.first {
			return v
		}
		return p.first + j.class[v-p.first]
	}
	mask := uint64(1)
	for mask < 2*uint64(len(p.nodes)) {
		mask *= 2
	}
	mask--
	table := make([]int32, mask+1) // 1 + a node
	for i, n := range p.nodes {
		a, b := of(n.a), of(n.b)
		if a > b {
			a, b = b, a
		}
		p.nodes[i] = node{a, b}
		h := uint64(uint32(a))*0x9E3779B97F4A7C15 ^ uint64(uint32(b))*0xC2B2AE3D27D4EB4F
		at := (h ^ h>>29) & mask
		for table[at] != 0 && p.nodes[table[at]-1] != (node{a, b}) {
			at = (at + 1) & mask
		}
		if table[at] == 0 {
			table[at] = int32(i) + 1
		}
		j.class[i] = table[at] - 1
	}
}

// isList says whether v reduces exactly the parts of list.
func (j *judge) isList(v int32, list []ir.Part) bool {
	values := j.values(v, list)
	return len(values.left) == 0 && values.more == 0
}

// remains is what is left of a list after a value's inputs were taken out.
type remains struct {
	left map[int32]int // how often inputs are missing
	more int           // inputs that the list has not, or not so often
}

func (j *judge) values(v int32, list []ir.Part) remains {
	p := j.p
	r := remains{left: make(map[int32]int, len(list))}
	for _, part := range list {
		r.left[p.leaf[part.Rank]+part.Index]++
	}
	j.stack = append(j.stack[:0], v)
	for len(j.stack) > 0 && r.more == 0 {
		x := j.stack[len(j.stack)-1]
		j.stack = j.stack[:len(j.stack)-1]
		j.visits++
		switch {
		case x >= p.first:
			n := p.nodes[x-p.first]
			j.stack = append(j.stack, n.b, n.a)
		case r.left[x] == 0:
			r.more++
		case r.left[x] == 1:
			delete(r.left, x)
		default:
			r.left[x]--
		}
	}
	return r
}

// wrong reports the first wrong chunk, and all that there are.
func (m *machine) wrong(rank, index int, wrong *ir.WrongList) {
	p := &m.prog
	out := p.at(int32(rank), ir.Output)
	c := p.cells[int(out.cell)+index]
	w := p.coll.Want(rank, index)
	values, x := p.asValues(c.value)
	d := diag.New(diag.WrongResult, p.declaration, "output[%d] of rank %d must hold %s, but %s", index, rank, values.DescribeWant(w), values.Differs(x, w))
	if wrong.N > 1 {
		d.Text += fmt.Sprintf(" (%d output chunks are wrong)", wrong.N)
	}
	d.Rank = rank
	m.errs = append(m.errs, d)
	e := &m.errs[len(m.errs)-1]
	if c.writer > 0 {
		op := &p.ops[c.writer-1]
		m.wrote(e, c.writer)
		*e = e.WithNote(p.spans[op.Pos], "it was last written here")
	} else {
		*e = e.WithNote(diag.Span{}, "nothing writes it")
	}
	if wrong.N > 1 {
		*e = e.WithNote(diag.Span{}, "all that is wrong: %s", wrong.String())
	}
}

// asValues makes v, and what it consists of, a value of package ir, which can
// describe it.
func (p *expansion) asValues(v int32) (*ir.Values, ir.Value) {
	values := ir.NewValues(p.coll)
	if v <= 0 {
		return values, ir.None
	}
	known := map[int32]ir.Value{}
	stack := []int32{v}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		if _, done := known[x]; done {
			stack = stack[:len(stack)-1]
			continue
		}
		if x < p.first {
			known[x] = ir.Value(x - 1)
			continue
		}
		n := p.nodes[x-p.first]
		a, haveA := known[n.a]
		b, haveB := known[n.b]
		switch {
		case !haveA:
			stack = append(stack, n.a)
		case !haveB:
			stack = append(stack, n.b)
		default:
			known[x] = values.Sum(a, b)
		}
	}
	return values, known[v]
}
