package onesided

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/explore"
)

// A microKind is what a micro does.
type microKind uint8

const (
	readPlain microKind = iota
	readPacket
	writePlain
	writePacket
	raise // one flag
	await // one flag
	call  // what the caller does with a rank's memory between two launches
	land  // a write at another node arrives
	ring  // so does a raise
)

// A micro is an indivisible part of a step: one access of one chunk.
type micro struct {
	kind   microKind
	step   int32 // in p.Steps, or -1
	block  int32 // of call, the rank
	thread int32 // of raise and await: that of its block that does it
	alone  bool  // of raise and await: no other thread does the same to the flag in the group
	group  int32 // of its block
	member int32 // of its group: the step, from 0
	atom   int32 // the chunk of the step that it is of
	at     int32 // of a read, which source of its step; of a write, which destination
	place  int32 // cell, slot or flag
	pass   int32 // since the first launch; of steps that count launches, the launch
	launch int32
	needs  int32 // of await: signals
	rank   int32 // of writePlain and raise: whose memory
	of     int32 // of land and ring: the write or the raise
	lane   int32 // of those
	after  int32 // of land: the one of the block before it in the cell, or -1
}

// A atomState gathers what one chunk of a Move reads, before it is written.
type atomState struct {
	reads   int         // yet to come
	read    []cellValue // by source: the sum of what was read of it
	started [][]int32   // of the packets among them: what their senders knew
}

// A cellValue is a sum of hashes of chunks of input. It is not known where
// something was read that nothing wrote.
type cellValue struct {
	sum   uint64
	known bool
}

// A program is a one-sided program, as micros of some launches.
type program struct {
	p       *onesided.Program
	plan    []int // passes of each launch
	mem     *ir.Memory
	tiles   int
	last    int32 // the last pass
	micros  []micro
	reads   []int     // by atom: its reads
	blocks  [][]group // of each block
	calls   [][]int32 // of each rank, before each launch, and after the last
	packets []int32   // by rank: its first chunk
	flags   []int32   // by rank: its first flag
	signals []int32   // by flag: signals a pass, or a launch
	marked  []bool    // by flag: it counts launches
	raises  []int     // by flag: signals in all
	readers []int32   // of a chunk of packets: how often a pass reads it
	net     network
}

// A group is what a block does between two of its barriers.
type group struct {
	launch int
	micros []int32
}

// expand makes the micros of p for launches of a number of passes, and for ranks of these nodes, nil being one.
func expand(p *onesided.Program, node []int32, plan []int, most int) (*program, error) {
	x := &program{p: p, plan: plan, mem: p.Memory(), blocks: make([][]group, len(p.Blocks)),
		calls: make([][]int32, len(p.Rank))}
	for _, n := range plan {
		x.tiles = max(x.tiles, n)
	}
	x.layout()
	for b := range p.Blocks {
		pass := int32(0)
		for launch, n := range plan {
			for k := range n {
				x.last = max(x.last, pass)
				x.expandPass(int32(b), launch, pass, k == 0, k == n-1, int32(k))
				pass++
			}
		}
		if len(x.micros) > most {
			return nil, &explore.TooLarge{Text: fmt.Sprintf("more than %d accesses", most)}
		}
	}
	for r := range p.Rank {
		for launch := range len(plan) + 1 {
			x.calls[r] = append(x.calls[r], int32(len(x.micros)))
			x.micros = append(x.micros, micro{kind: call, step: -1, block: int32(r), launch: int32(launch)})
		}
	}
	x.connect(node)
	return x, nil
}

// layout numbers packets and flags, and counts who has to do with them.
func (x *program) layout() {
	o := x.p
	at, flag := int32(0), int32(0)
	for r := range x.p.Rank {
		x.packets, x.flags = append(x.packets, at), append(x.flags, flag)
		if o.Packets != nil {
			at += o.Packets[r]
		}
		if o.Flags != nil {
			flag += o.Flags[r]
		}
	}
	x.packets = append(x.packets, at)
	x.readers, x.signals, x.marked, x.raises = make([]int32, at), make([]int32, flag), make([]bool, flag),
		make([]int, flag)
	for i := range x.p.Steps {
		s := &x.p.Steps[i]
		for _, src := range o.Sources(s) {
			if src.Buf == ir.Packets {
				for k := range s.Count {
					x.readers[x.packets[src.Rank]+src.Index+k]++
				}
			}
		}
		for _, dst := range o.Dests(s) {
			if dst.Buf == ir.Flags {
				x.signals[x.flags[dst.Rank]+dst.Index]++
				x.marked[x.flags[dst.Rank]+dst.Index] = s.Flags&(ir.Enter|ir.Leave) != 0
			}
		}
	}
}

// expandPass makes the micros of one pass of block b.
func (x *program) expandPass(b int32, launch int, pass int32, first, last bool, tile int32) {
	member := int32(0)
	for i := x.p.Blocks[b].Steps.First; i < x.p.Blocks[b].Steps.End; i++ {
		s := &x.p.Steps[i]
		if s.Flags&ir.Enter != 0 && !first || s.Flags&ir.Leave != 0 && !last {
			continue
		}
		if s.Flags&ir.Joint == 0 {
			x.blocks[b] = append(x.blocks[b], group{launch: launch})
			member = 0
		} else {
			member++
		}
		m := micro{step: i, block: b, group: int32(len(x.blocks[b]) - 1), member: member, pass: pass, launch: int32(launch)}
		if s.Op.Moves() {
			x.expandMove(m, s, tile)
		} else {
			x.expandFlags(m, s)
		}
	}
}

// add adds m to its group.
func (x *program) add(m micro) {
	g := &x.blocks[m.block][m.group]
	m.alone = true
	for _, j := range g.micros {
		if n := &x.micros[j]; m.kind >= raise && n.kind == m.kind && n.place == m.place && n.thread != m.thread {
			m.alone, n.alone = false, false
		}
	}
	g.micros = append(g.micros, int32(len(x.micros)))
	x.micros = append(x.micros, m)
}

func (x *program) expandMove(m micro, s *ir.Step, tile int32) {
	o := x.p
	for k := range s.Count {
		m.atom = int32(len(x.reads))
		x.reads = append(x.reads, 0)
		for at, src := range o.Sources(s) {
			m.at = int32(at)
			for _, rank := range x.ranksOf(src.Rank) {
				m.kind, m.place = x.place(rank, &src, k, m.pass, tile, readPlain)
				x.add(m)
				x.reads[m.atom]++
			}
		}
		for at, dst := range o.Dests(s) {
			m.at = int32(at)
			for _, rank := range x.ranksOf(dst.Rank) {
				m.kind, m.place = x.place(rank, &dst, k, m.pass, tile, writePlain)
				m.rank = rank
				x.add(m)
			}
		}
	}
}

// result returns what write m writes, whose atom has read all of its sources.
func (w *world) result(m *micro) cellValue {
	sum := cellValue{known: true}
	for _, v := range w.atoms[m.atom].read {
		sum = sum.plus(v)
	}
	if s := &w.p.Steps[m.step]; w.finishes(s, m.at) {
		sum.sum = finished(sum.sum)
	}
	return sum
}

// finishes reports whether destination `at` of step s gets finished rows, made of raw ones.
func (x *program) finishes(s *ir.Step, at int32) bool {
	return len(x.p.Then) > 0 && x.p.Dests(s)[at].Buf == ir.Output && x.p.Sources(s)[0].Buf != ir.Output
}

// finished returns the hash of what an epilogue makes of a chunk whose hash is h. The hash of a sum is the sum of
// hashes, and this is none.
func finished(h uint64) uint64 { return leaf(int(h>>32), int(h&0xffffffff), -2, -2) }

func (v cellValue) plus(x cellValue) cellValue { return cellValue{v.sum + x.sum, v.known && x.known} }

func (x *program) ranksOf(rank int32) []int32 {
	if rank != ir.AllRanks {
		return []int32{rank}
	}
	var all []int32
	for r := range x.p.Rank {
		all = append(all, int32(r))
	}
	return all
}

// place returns where chunk k of an operand lies in a pass: user memory of its
// tile, or the pass's copy. Plain is what is done there if it is no packet.
func (x *program) place(rank int32, o *onesided.Operand, k, pass, tile int32, plain microKind) (microKind, int32) {
	copies := pass % x.p.Depth
	if o.Buf == ir.Packets {
		return plain + 1, copies*x.packets[len(x.p.Rank)] + x.packets[rank] + o.Index + k
	}
	cell := int32(x.mem.Cell(int(rank), o.Buf, int(o.Index+k)))
	if o.Buf == ir.Scratch {
		tile = int32(x.tiles) + copies
	}
	return plain, tile*int32(x.mem.Len()) + cell
}

func (x *program) expandFlags(m micro, s *ir.Step) {
	o := x.p
	for k, dst := range o.Dests(s) {
		m.kind, m.place, m.thread, m.rank = raise, x.flags[dst.Rank]+dst.Index, int32(k), dst.Rank
		x.raises[m.place]++
		x.add(m)
	}
	for k, src := range o.Sources(s) {
		m.kind, m.place, m.thread = await, x.flags[src.Rank]+src.Index, int32(k)
		passes := m.pass
		if x.marked[m.place] {
			passes = m.launch
		}
		m.needs = passes*x.signals[m.place] + src.Nth
		x.add(m)
	}
}
