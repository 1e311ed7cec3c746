package ir

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"

	"mscclc/ir/diag"
)

// An InstDAG is a program as instructions that are not placed yet, or placed
// and ordered but not yet frozen. Its slice order means nothing: executing the
// instructions by Seq, each receive right after its send, defines the result,
// and Deps, Block and Step say what the passes have decided so far.
type InstDAG struct {
	Header
	Hints   []Hint
	Scratch []int32 // chunks of scratch, for each rank
	Insts   []Inst

	// Even says that operands of different classes meet, so that a run must have
	// chunks of one length.
	Even bool

	Deps   Edges   // Deps of i: the instructions of its rank that must come first
	Waits  Edges   // from pass sync on: those whose flag i waits for
	Blocks []Block // from pass place on; sorted by rank
}

// An Inst is one instruction. Buffers are Input, Output and Scratch; chunk
// counts and indices are those of the header's collective.
type Inst struct {
	Op             Op
	SrcBuf, DstBuf Buf // NoBuf where the operation has none
	Rank           int32
	Src, Dst       int32
	Count          int32
	Class          int32 // of the first chunk moved; chunk i has class (Class+i) mod Chunks

	SendPeer, RecvPeer int32 // ranks, or -1
	SendMate           int32 // the instruction that receives what this sends, or -1
	RecvMate           int32 // the instruction that sends what this receives, or -1

	// Seq is this instruction's place in the source order. SendSeq is the place
	// of the send that was fused into it, where it receives and sends; else Seq.
	Seq, SendSeq int32

	Part int32 // the part of parallelize or instances; parts share no channel
	Hint int32 // index in Hints, of the transfer received or of the local operation
	Pos  int32 // index in Spans

	Channel int32 // -1 until placed
	Block   int32 // index in Blocks; -1 until placed
	Step    int32 // place within the block; -1 until ordered
}

// A Block is a thread block: the steps of one rank that run one after the
// other, with at most one peer to send to and one to receive from.
type Block struct {
	Rank, SendPeer, RecvPeer, Channel int32 // peers are -1 where there is none
}

// Edges are the edges of a graph as compressed rows.
type Edges struct {
	Start []int32 // of node i: To[Start[i]:Start[i+1]]
	To    []int32
}

// Of returns the nodes that i's edges lead to.
func (e *Edges) Of(i int) []int32 {
	if len(e.Start) == 0 {
		return nil
	}
	return e.To[e.Start[i]:e.Start[i+1]]
}

// Reverse returns the edges turned round. Each row is in ascending order.
func (e *Edges) Reverse() Edges {
	n := len(e.Start) - 1
	r := Edges{Start: make([]int32, n+1), To: make([]int32, len(e.To))}
	for _, t := range e.To {
		r.Start[t+1]++
	}
	for i := range n {
		r.Start[i+1] += r.Start[i]
	}
	next := append([]int32(nil), r.Start[:n]...)
	for i := range n {
		for _, t := range e.Of(i) {
			r.To[next[t]] = int32(i)
			next[t]++
		}
	}
	return r
}

// Memory lays out the cells of d.
func (d *InstDAG) Memory() *Memory { return NewMemory(d.Coll, d.Scratch) }

// BySeq returns the instructions' indices in source order.
func (d *InstDAG) BySeq() []int32 {
	order := make([]int32, len(d.Insts))
	top, sorted := int32(-1), true
	for i := range d.Insts {
		seq := d.Insts[i].Seq
		sorted = sorted && seq > top
		top = max(top, seq)
		order[i] = int32(i)
	}
	if sorted { // as it mostly is
		return order
	}
	if int(top) > 16*len(d.Insts)+1024 { // sparse: no array of places
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(d.Insts[a].Seq, d.Insts[b].Seq) })
		return order
	}
	at := make([]int32, top+1)
	for i := range at {
		at[i] = -1
	}
	for i := range d.Insts {
		if seq := d.Insts[i].Seq; seq >= 0 {
			at[seq] = int32(i)
		}
	}
	order = order[:0]
	for _, i := range at {
		if i >= 0 {
			order = append(order, i)
		}
	}
	return order
}

// Permute moves instruction i to place to[i] and renames it everywhere.
func (d *InstDAG) Permute(to []int32) {
	deps := InBackground(func() Edges { return d.Deps.permute(to) })
	insts := make([]Inst, len(d.Insts))
	name := func(i int32) int32 {
		if i < 0 {
			return i
		}
		return to[i]
	}
	for i := range d.Insts {
		in := d.Insts[i]
		in.SendMate, in.RecvMate = name(in.SendMate), name(in.RecvMate)
		insts[to[i]] = in
	}
	d.Insts, d.Waits = insts, d.Waits.permute(to)
	d.Deps = deps()
}

func (e *Edges) permute(to []int32) Edges {
	if len(e.Start) == 0 {
		return Edges{}
	}
	p := Edges{Start: make([]int32, len(e.Start)), To: make([]int32, 0, len(e.To))}
	from := make([]int, len(to))
	for i, t := range to {
		from[t] = i
	}
	for t, i := range from {
		for _, d := range e.Of(i) {
			p.To = append(p.To, to[d])
		}
		p.Start[t+1] = int32(len(p.To))
	}
	return p
}

// Shuffle permutes d's instructions at random; no pass may behave differently.
func (d *InstDAG) Shuffle(rnd *rand.Rand) {
	to := make([]int32, len(d.Insts))
	for i, p := range rnd.Perm(len(to)) {
		to[i] = int32(p)
	}
	d.Permute(to)
}

// Label names instruction i for a message: "i5 (rank 2 rrcs)".
func (d *InstDAG) Label(i int32) string {
	if i < 0 || int(i) >= len(d.Insts) {
		return fmt.Sprintf("i%d", i)
	}
	return fmt.Sprintf("i%d (rank %d %v)", i, d.Insts[i].Rank, d.Insts[i].Op)
}

// Problem returns a diagnostic at instruction i.
func (d *InstDAG) Problem(i int32, code diag.Code, format string, args ...any) diag.Diagnostic {
	in := &d.Insts[i]
	g := diag.New(code, d.Span(in.Pos), format, args...)
	g.Rank, g.Block, g.Step = int(in.Rank), int(in.Block), int(in.Step)
	return g
}
