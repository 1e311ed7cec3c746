package explore

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// never is a position that no block reaches.
const never = math.MaxInt32

// A need is a position that a block must have reached.
type need struct{ block, pos int32 }

// An action is what a block does at once.
type action struct {
	block, step int32 // indices in the program's tables
	group       int32 // which message of the step, from 0
	needs       []need
	recv, send  int32 // connections, or -1
	mate        int32 // of one that receives: the action whose message it gets, or -1
	op          *ir.OpInfo
	src, dst    int32 // first cells, where op reads and writes them
	n           int32 // chunks; 0 for a nop
}

// A program is one whose steps are expanded into actions: those of block b
// are first[b] to first[b+1]. Every tile of every launch has cells of its own
// for values; for races, the tiles of one launch are those of the next.
type program struct {
	*fifo.Program
	opt     Options
	mem     *ir.Memory
	actions []action
	first   []int32
	conns   int
	sender  []int32 // by connection: its blocks, or -1
	taker   []int32
	values  *values
	start   []value // of the cells, before anything runs
	want    []output
}

// An output is a chunk of which the collective asks something.
type output struct {
	rank, index, cell int32
	want              value
}

// cells returns the number of cells of all tiles of one launch.
func (x *program) cells() int { return x.mem.Len() * x.opt.Tiles }

// place returns the cell for races of a cell for values: a launch uses the memory
// of the one before.
func (x *program) place(cell int32) int32 { return cell % int32(x.cells()) }

// expand makes the actions of p: for each launch, for each tile, for each step
// of a block, for each of its messages.
func expand(p *fifo.Program, opt Options, limit int) (*program, error) {
	if err := runnable(p); err != nil {
		return nil, err
	}
	x := &program{Program: p, opt: opt, mem: p.Memory(), values: newValues(p.Coll)}
	if limit <= maxEvents && len(p.Blocks) > maxBlocks {
		return nil, &TooLarge{fmt.Sprintf("%d blocks", len(p.Blocks))}
	}
	conn := x.connections()
	e := expander{program: x, begin: make([][]int32, len(p.Blocks)), end: make([][]int32, len(p.Blocks))}
	for b := range p.Blocks {
		x.first = append(x.first, int32(len(x.actions)))
		e.block(int32(b), conn[b])
		if len(x.actions) > limit {
			return nil, &TooLarge{fmt.Sprintf("more than %d actions", limit)}
		}
	}
	x.first = append(x.first, int32(len(x.actions)))
	e.waits()
	x.match()
	x.initial()
	return x, nil
}

// connections numbers them, and returns the two of each block.
func (x *program) connections() [][2]int32 {
	type end struct{ channel, src, dst int32 }
	number := map[end]int32{}
	of := func(k end) int32 {
		if _, ok := number[k]; !ok {
			number[k] = int32(x.conns)
			x.conns++
			x.sender, x.taker = append(x.sender, -1), append(x.taker, -1)
		}
		return number[k]
	}
	conn := make([][2]int32, len(x.Blocks))
	for b, t := range x.Blocks {
		conn[b] = [2]int32{-1, -1}
		if t.RecvPeer >= 0 {
			conn[b][0] = of(end{t.Channel, t.RecvPeer, t.Rank})
			x.taker[conn[b][0]] = int32(b)
		}
		if t.SendPeer >= 0 {
			conn[b][1] = of(end{t.Channel, t.Rank, t.SendPeer})
			x.sender[conn[b][1]] = int32(b)
		}
	}
	return conn
}

// An expander knows, of each block, the position at which each step of each
// round (a tile of a launch) begins and ends.
type expander struct {
	*program
	begin, end [][]int32
}

func (e *expander) block(b int32, conn [2]int32) {
	t := &e.Blocks[b]
	pos := int32(0)
	for round := range e.opt.Launches * e.opt.Tiles {
		for i := t.Steps.First; i < t.Steps.End; i++ {
			s := &e.Steps[i]
			e.begin[b] = append(e.begin[b], pos)
			for group, from := int32(0), int32(0); ; group++ {
				a := action{block: b, step: i, group: group, recv: -1, send: -1, mate: -1, op: s.Op.Info(), n: s.Count - from}
				switch {
				case s.Op == ir.Nop:
					a.n = 0
				case a.op.Receives || a.op.Sends:
					a.n = min(a.n, int32(e.opt.MessageChunks))
				}
				e.operands(&a, t, s, from, round)
				if a.op.Receives {
					a.recv = conn[0]
				}
				if a.op.Sends {
					a.send = conn[1]
				}
				e.actions = append(e.actions, a)
				pos++
				if from += a.n; from >= s.Count || s.Op == ir.Nop {
					break
				}
			}
			e.end[b] = append(e.end[b], pos)
		}
	}
}

func (e *expander) operands(a *action, t *ir.TB, s *ir.Step, from int32, round int) {
	tile := int32(round * e.mem.Len())
	if a.op.ReadsSrc {
		a.src = tile + int32(e.mem.Cell(int(t.Rank), s.SrcBuf, int(s.Src+from)))
	}
	if a.op.ReadsDst || a.op.Writes {
		a.dst = tile + int32(e.mem.Cell(int(t.Rank), s.DstBuf, int(s.Dst+from)))
	}
}

// waits gives each step's first action what the step waits for, and the first
// of a launch the end of all blocks of its rank in the launch before.
func (e *expander) waits() {
	for b := range e.Blocks {
		t := &e.Blocks[b]
		n := int(t.Steps.End - t.Steps.First)
		own := e.Rank[t.Rank]
		for k, at := range e.begin[b] {
			a := &e.actions[e.first[b]+at]
			if k > 0 && k%(n*e.opt.Tiles) == 0 {
				for o := own.First; o < own.End; o++ {
					steps := int(e.Blocks[o].Steps.End-e.Blocks[o].Steps.First) * e.opt.Tiles
					if steps > 0 {
						a.needs = append(a.needs, need{o, e.end[o][k/(n*e.opt.Tiles)*steps-1]})
					}
				}
			}
			if s := &e.Steps[a.step]; s.DepBlock >= 0 {
				o := own.First + s.DepBlock
				a.needs = append(a.needs, need{o, e.flag(o, k/n, s.DepStep)})
			}
		}
	}
}

// flag returns the position of block b from which on its flag is at least (tile,
// step), in the launch of that round.
func (e *expander) flag(b int32, round int, step int32) int32 {
	t := &e.Blocks[b]
	n := int(t.Steps.End - t.Steps.First)
	last := (round/e.opt.Tiles + 1) * e.opt.Tiles * n
	for k := round*n + int(step); k < last; k++ {
		if s := &e.Steps[int(t.Steps.First)+k%n]; s.Flags&ir.HasDep != 0 && s.Op != ir.Nop {
			return e.end[b][k]
		}
	}
	return never
}

// match finds the message that each receive gets: its connection's n-th.
func (x *program) match() {
	sent := make([][]int32, x.conns)
	for e := range x.actions {
		if c := x.actions[e].send; c >= 0 {
			sent[c] = append(sent[c], int32(e))
		}
	}
	for e := range x.actions {
		if c := x.actions[e].recv; c >= 0 && len(sent[c]) > 0 {
			x.actions[e].mate, sent[c] = sent[c][0], sent[c][1:]
		}
	}
}

// initial fills the cells of every round with the inputs, and finds what is
// wanted of each.
func (x *program) initial() {
	rounds := x.opt.Tiles * x.opt.Launches
	x.start = make([]value, x.mem.Len()*rounds)
	for r := range x.Coll.Ranks {
		for i := range x.Coll.InChunks(r) {
			cell, leaf := x.mem.Cell(r, ir.Input, i), x.values.leaf(r, i)
			for k := range rounds {
				x.start[k*x.mem.Len()+cell] = leaf
			}
		}
		for i := range x.Coll.OutChunks(r) {
			if want, ok := x.values.wanted(x.Coll, x.Coll.Want(r, i)); ok {
				x.want = append(x.want, output{int32(r), int32(i), int32(x.mem.Cell(r, ir.Output, i)), want})
			}
		}
	}
}

// name names an action.
func (x *program) name(e int32) string {
	a := &x.actions[e]
	t := &x.Blocks[a.block]
	return fmt.Sprintf("rank %d block %d step %d message %d", t.Rank, a.block-x.Rank[t.Rank].First,
		a.step-t.Steps.First, a.group)
}
