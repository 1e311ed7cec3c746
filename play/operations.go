package play

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
)

// operationsOf returns of each step of p the operations of x that it is a part of, the one that it is named after
// first. What a step reads and writes says which they are: passes change steps, fuse them and have them in another
// order, but not which sums they make. Where no operation has these sums, as in a wrong program, the source position
// counts.
func operationsOf(p *either.Program, x *Algorithm) [][]int32 {
	m := &matcher{p: p, of: make([][]int32, len(p.Steps))}
	direct := len(x.Ops) > 0
	for i := range x.Ops {
		if step := x.Ops[i].Step; step < 0 {
			direct = false
		} else {
			m.of[step] = []int32{int32(i)}
		}
	}
	if !direct {
		clear(m.of)
		m.index(x)
		m.steps()
	}
	m.sends()
	return m.of
}

// firstOf returns the operation that a step is named after, or -1.
func firstOf(operations []int32) int {
	if len(operations) == 0 {
		return -1
	}
	return int(operations[0])
}

// A sum identifies what a chunk holds, however the sum was grouped: it adds up a random number for each input.
type sum uint64

// A piece is one chunk of an operation: what it read and wrote.
type piece struct {
	op      int32 // of the algorithm
	pos     int32
	sources []sum
	reads   []int   // of each source: its cell of input or output, or -1 for scratch
	makers  []int32 // and the piece that wrote it, or -1
	result  sum
	dests   []ir.Ref
	writes  []int // cells as in reads
	first   bool  // of the operation's chunks
}

// pieces runs x and returns what each chunk of each operation read and wrote.
func pieces(x *Algorithm) (list []piece) {
	mem, own := x.Memory(), ir.NewMemory(x.Coll, nil)
	base, _ := x.Bases()
	cell := func(r *ir.Ref, k int) (at, known int) {
		if r.Buf >= ir.Scratch {
			return mem.Cell(int(r.Rank), ir.Scratch, base[r.Buf-ir.Scratch]+int(r.Index)+k), -1
		}
		return mem.Cell(int(r.Rank), r.Buf, int(r.Index)+k), own.Cell(int(r.Rank), r.Buf, int(r.Index)+k)
	}
	holds, maker := make([]sum, mem.Len()), slices.Repeat([]int32{-1}, mem.Len())
	for r := range x.Coll.Ranks {
		for i := range x.Coll.InChunks(r) {
			holds[mem.Cell(r, ir.Input, i)] = leaf(r, i)
		}
	}
	for i := range x.Ops {
		op := &x.Ops[i]
		for k := range op.Count {
			w := piece{op: int32(i), pos: op.Pos, dests: op.Dests, first: k == 0}
			for s := range op.Sources {
				at, known := cell(&op.Sources[s], k)
				w.sources, w.reads, w.makers = append(w.sources, holds[at]), append(w.reads, known), append(w.makers, maker[at])
				w.result += holds[at]
			}
			for d := range op.Dests {
				at, known := cell(&op.Dests[d], k)
				holds[at], maker[at] = w.result, int32(len(list))
				w.writes = append(w.writes, known)
			}
			list = append(list, w)
		}
	}
	return list
}

// leaf returns the sum of one input: the finaliser of SplitMix64 makes numbers that do not add up to each other.
func leaf(rank, index int) sum {
	z := uint64(rank)<<32 + uint64(index) + 1
	z *= 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return sum(z ^ z>>31)
}

// A sumAt is a sum that a rank gets.
type sumAt struct {
	rank int32
	sum  sum
}

// A matcher finds of which operations the steps of a compiled program are.
type matcher struct {
	p     *either.Program
	of    [][]int32
	list  []piece // of the algorithm
	makes map[sumAt][]int32
	takes map[sumAt][]int32    // by the rank that writes what it makes of the sum
	at    map[[2]int32][]int32 // by position and rank that is written
	used  map[[2]int32]int     // by piece, and whether it is made (1) or taken (0)
}

func (m *matcher) index(x *Algorithm) {
	m.list = pieces(x)
	m.makes, m.takes = map[sumAt][]int32{}, map[sumAt][]int32{}
	m.at, m.used = map[[2]int32][]int32{}, map[[2]int32]int{}
	for i := range m.list {
		w := &m.list[i]
		for _, to := range w.dests {
			made := sumAt{to.Rank, w.result}
			m.makes[made] = append(m.makes[made], int32(i))
			for _, s := range w.sources {
				taken := sumAt{to.Rank, s}
				m.takes[taken] = append(m.takes[taken], int32(i))
			}
			m.at[[2]int32{w.pos, to.Rank}] = append(m.at[[2]int32{w.pos, to.Rank}], int32(i))
		}
	}
}

// steps finds the operations of the steps that write, in an order in which they may end.
func (m *matcher) steps() {
	for _, w := range m.done() {
		for d := range w.dests {
			m.dest(w.op, &w, d)
		}
		if w.first {
			m.name(w.op, &w)
		}
	}
}

// done returns what each chunk of each step read and wrote. The steps are the pieces' operations.
func (m *matcher) done() []piece {
	if m.p.OneSided == nil {
		return messagePieces(m.p)
	}
	y := OfMoves(m.p, orderOf(m.p))
	list := pieces(y)
	for i := range list {
		list[i].op = y.Ops[list[i].op].Step
	}
	return list
}

// dest adds the operations of what a step writes to one of its destinations.
func (m *matcher) dest(step int32, w *piece, d int) {
	rank := w.dests[d].Rank
	best, most, makes := int32(-1), 0, int32(0)
	consider := func(list []int32, is int32) {
		for _, i := range list {
			score := score(&m.list[i], w, d, is == 1)
			if best < 0 || score > most || score == most && m.used[[2]int32{i, is}] < m.used[[2]int32{best, makes}] {
				best, most, makes = i, score, is
			}
		}
	}
	consider(m.makes[sumAt{rank, w.result}], 1)
	consider(m.takes[sumAt{rank, w.result}], 0)
	if best < 0 {
		consider(m.at[[2]int32{w.pos, rank}], 0)
	}
	if best < 0 {
		return
	}
	m.used[[2]int32{best, makes}]++
	m.add(step, m.list[best].op)
	for k, s := range m.list[best].sources {
		if makes == 1 || s == w.result {
			m.fused(step, w, best, k)
		}
	}
}

// score says how much alike a piece and what a step does are. A fused step has one position of several: the chunk that
// it writes says more, where it makes what the piece makes.
func score(x, w *piece, d int, makes bool) (score int) {
	if makes {
		score++
	}
	if x.pos == w.pos {
		score += 16
	}
	if w.writes[d] >= 0 && slices.Contains(x.writes, w.writes[d]) {
		score += 4
		if makes {
			score += 32
		}
	}
	for _, from := range w.reads {
		if from >= 0 && slices.Contains(x.reads, from) {
			return score + 8
		}
	}
	return score
}

// fused adds the operations that made source k of a piece, where the step makes that itself of what it reads.
func (m *matcher) fused(step int32, w *piece, i int32, k int) {
	maker := m.list[i].makers[k]
	if maker < 0 {
		return
	}
	x := &m.list[maker]
	if slices.Contains(w.sources, m.list[i].sources[k]) {
		m.copies(step, w, maker)
		return
	}
	m.add(step, x.op)
	for k := range x.sources {
		m.fused(step, w, maker, k)
	}
}

// copies adds copies of copies, the last of which is piece i, where the step reads what the first of them reads.
func (m *matcher) copies(step int32, w *piece, i int32) {
	var chain []int32
	for i >= 0 && len(m.list[i].sources) == 1 {
		x := &m.list[i]
		chain = append(chain, x.op)
		if from := x.reads[0]; from >= 0 && slices.Contains(w.reads, from) {
			for _, op := range chain {
				m.add(step, op)
			}
			return
		}
		i = x.makers[0]
	}
}

func (m *matcher) add(step, op int32) {
	if !slices.Contains(m.of[step], op) {
		m.of[step] = append(m.of[step], op)
	}
}

// name has an operation first that reads a chunk that the step reads.
func (m *matcher) name(step int32, w *piece) {
	list := m.of[step]
	for k, op := range list {
		if m.reads(op, w.reads) {
			list[0], list[k] = list[k], list[0]
			return
		}
	}
}

// reads reports whether an operation reads one of some cells.
func (m *matcher) reads(op int32, cells []int) bool {
	i, _ := slices.BinarySearchFunc(m.list, op, func(w piece, op int32) int { return int(w.op - op) })
	for ; i < len(m.list) && m.list[i].op == op; i++ {
		for _, from := range m.list[i].reads {
			if from >= 0 && slices.Contains(cells, from) {
				return true
			}
		}
	}
	return false
}

// sends has a step that sends be of the operations that the receiver of its message is of: of those that read what it
// sends, where there are such.
func (m *matcher) sends() {
	if m.p.OneSided != nil {
		return
	}
	own := ir.NewMemory(m.p.Coll, nil)
	for i, mate := range eval.Wire(m.p.Fifo).Mate {
		if mate < 0 || len(m.of[mate]) > 0 {
			continue
		}
		m.of[mate] = slices.Clone(m.of[i])
		if s := &m.p.Steps[mate]; s.SrcBuf <= ir.Output && len(m.list) > 0 {
			rank, _, _ := m.p.Place(mate)
			m.name(mate, &piece{reads: []int{own.Cell(rank, s.SrcBuf, int(s.Src))}})
		}
	}
}
