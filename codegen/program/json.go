package program

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/form"
	"mscclc/ir/onesided"
)

// The JSON of a plan says what its binary form says, for people and scripts.
// Its schema is these types; version counts up when a field changes meaning.
const jsonVersion = 1

type jsonPlan struct {
	Format     string         `json:"format"`
	Version    int            `json:"version"`
	Name       string         `json:"name"`
	Collective jsonCollective `json:"collective"`
	Protocol   string         `json:"protocol"`
	Sizes      [2]int64       `json:"sizes"` // from, up to; up to 0 has no end
	RanksANode int            `json:"ranks_per_node"`
	Channels   int            `json:"channels"`
	Even       bool           `json:"even"`
	InPlace    bool           `json:"in_place"`
	OutOfPlace bool           `json:"out_of_place"`
	Depth      int32          `json:"depth,omitempty"` // of a one-sided program, and of no other
	OnePass    bool           `json:"one_pass,omitempty"`
	Then       string         `json:"then,omitempty"` // the epilogue
	Files      []string       `json:"files"`
	Spans      [][5]int       `json:"spans"` // file, line, column, length, offset
	Ranks      []jsonRank     `json:"ranks"`
}

type jsonCollective struct {
	Kind    string     `json:"kind"`
	Ranks   int        `json:"ranks"`
	Chunks  int        `json:"chunks"`
	Root    int        `json:"root,omitempty"`
	Inplace bool       `json:"inplace"`
	Peer    []int32    `json:"peer,omitempty"`
	In      int        `json:"in,omitempty"`
	Out     int        `json:"out,omitempty"`
	PerRank [][2]int32 `json:"per_rank,omitempty"`
	Require []jsonWant `json:"require,omitempty"`
}

type jsonWant struct {
	Rank  int32      `json:"rank"`
	Index int32      `json:"index"`
	Parts [][2]int32 `json:"parts"`
}

type jsonRank struct {
	Rank    int         `json:"rank"`
	Scratch int32       `json:"scratch"`
	Packets int32       `json:"packets,omitempty"`
	Flags   int32       `json:"flags,omitempty"`
	Blocks  []jsonBlock `json:"blocks"`
}

type jsonBlock struct {
	Send     int32      `json:"send"`
	Recv     int32      `json:"recv"`
	Channel  int32      `json:"channel"`
	Together int32      `json:"together,omitempty"`
	Steps    []jsonStep `json:"steps"`
}

type jsonStep struct {
	Op     string    `json:"op"`
	Src    *jsonRef  `json:"src,omitempty"`
	Dst    *jsonRef  `json:"dst,omitempty"`
	From   []jsonAt  `json:"from,omitempty"` // one-sided: sources
	To     []jsonAt  `json:"to,omitempty"`   // one-sided: destinations
	Count  int32     `json:"count,omitempty"`
	Class  int32     `json:"class,omitempty"`
	Wait   *[2]int32 `json:"wait,omitempty"` // block of the rank, step
	HasDep bool      `json:"hasdep,omitempty"`
	Final  bool      `json:"final,omitempty"`
	Joint  bool      `json:"joint,omitempty"`
	Enter  bool      `json:"enter,omitempty"`
	Leave  bool      `json:"leave,omitempty"`
	Relax  bool      `json:"relaxed,omitempty"`
	Loose  bool      `json:"loose,omitempty"`
	Pos    *int32    `json:"pos,omitempty"` // index in spans
}

type jsonRef struct {
	Buf   string `json:"buf"` // i, o or s, and one-sided p or f
	Index int32  `json:"index"`
}

// WriteJSON writes p as the JSON of a plan, one rank at a time.
func WriteJSON(w io.Writer, p *either.Program) error {
	if found := form.Check(p, form.Unbounded); len(found) > 0 {
		return found
	}
	j, err := json.Marshal(jsonHead(p))
	if err != nil {
		return codegen.WriteError(err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(j[:len(j)-len("null}")]) // the list of ranks follows
	for r := range p.Rank {
		b, err := json.Marshal(jsonOfRank(p, r))
		if err != nil {
			return codegen.WriteError(err)
		}
		out.WriteString(map[bool]string{true: "[\n", false: ",\n"}[r == 0])
		out.Write(b)
	}
	out.WriteString("\n]}\n")
	return codegen.WriteError(out.Flush())
}

func jsonHead(p *either.Program) *jsonPlan {
	c := p.Coll
	j := &jsonPlan{Format: codegen.ProgramFormat, Version: jsonVersion, Name: p.Name, Protocol: p.Protocol.String(),
		Sizes: [2]int64{p.Sizes.Min, p.Sizes.Max}, RanksANode: p.RanksPerNode, Channels: p.Channels(), Even: p.Even,
		InPlace: p.InPlace, OutOfPlace: p.OutOfPlace, Files: []string{}, Spans: [][5]int{}, Depth: depthOf(p),
		Then:    p.Then.String(),
		OnePass: p.OneSided != nil && p.OneSided.OnePass,
		Collective: jsonCollective{Kind: c.Kind.String(), Ranks: c.Ranks,
			Chunks: c.Chunks, Root: c.Root, Inplace: c.Inplace, Peer: c.Peer,
			In: c.In, Out: c.Out, PerRank: c.PerRank}}
	for _, out := range sortedWants(c) {
		want := jsonWant{Rank: out.Rank, Index: out.Index, Parts: [][2]int32{}}
		for _, part := range c.Require[out] {
			want.Parts = append(want.Parts, [2]int32{part.Rank, part.Index})
		}
		j.Collective.Require = append(j.Collective.Require, want)
	}
	file := map[string]int{}
	for i := range p.Spans {
		s := &p.Spans[i]
		at, ok := file[s.Filename]
		if !ok {
			at = len(j.Files)
			file[s.Filename] = at
			j.Files = append(j.Files, s.Filename)
		}
		j.Spans = append(j.Spans, [5]int{at, s.Line, s.Column, s.Len, s.Offset})
	}
	return j
}

var bufNames = [...]string{ir.Input: "i", ir.Output: "o", ir.Scratch: "s", ir.Packets: "p", ir.Flags: "f"}

func jsonOfRank(p *either.Program, r int) jsonRank {
	rank := jsonRank{Rank: r, Scratch: int32(p.ScratchOf(r)), Blocks: []jsonBlock{}}
	ref := func(b ir.Buf, index int32) *jsonRef {
		if b == ir.NoBuf {
			return nil
		}
		return &jsonRef{bufNames[b], index}
	}
	if o := p.OneSided; o != nil {
		rank.Packets, rank.Flags = int32(o.PacketsOf(r)), int32(o.FlagsOf(r))
	}
	for _, b := range p.TBsOf(r) {
		block := jsonBlock{Send: b.SendPeer, Recv: b.RecvPeer, Channel: b.Channel, Together: b.Together, Steps: []jsonStep{}}
		for _, s := range p.StepsOf(&b) {
			step := jsonStep{Op: s.Op.String(), Src: ref(s.SrcBuf, s.Src), Dst: ref(s.DstBuf, s.Dst), Count: s.Count,
				Class: s.Class, HasDep: s.Flags&ir.HasDep != 0, Final: s.Flags&ir.Final != 0, Joint: s.Flags&ir.Joint != 0,
				Enter: s.Flags&ir.Enter != 0, Leave: s.Flags&ir.Leave != 0, Relax: s.Flags&ir.Relaxed != 0,
				Loose: s.Flags&ir.Loose != 0}
			if o := p.OneSided; o != nil {
				step.From, step.To = jsonOperands(o.Sources(&s)), jsonOperands(o.Dests(&s))
			}
			if s.DepBlock >= 0 {
				step.Wait = &[2]int32{s.DepBlock, s.DepStep}
			}
			if s.Pos >= 0 {
				step.Pos = &s.Pos
			}
			block.Steps = append(block.Steps, step)
		}
		rank.Blocks = append(rank.Blocks, block)
	}
	return rank
}

// A jsonAt is an operand of a one-sided step.
type jsonAt struct {
	Rank  *int32 `json:"rank,omitempty"` // absent: all ranks, through the switch
	Buf   string `json:"buf"`
	Index int32  `json:"index"`
	Via   string `json:"via,omitempty"` // memory, port or switch
	Nth   int32  `json:"nth,omitempty"` // how often it is awaited; see ir.Operand
}

func depthOf(p *either.Program) int32 {
	if p.OneSided == nil {
		return 0
	}
	return p.OneSided.Depth
}

func jsonOperands(list []onesided.Operand) []jsonAt {
	var out []jsonAt
	for i := range list {
		x := &list[i]
		at := jsonAt{Buf: bufNames[x.Buf], Index: x.Index, Nth: x.Nth}
		if x.Rank != ir.AllRanks {
			at.Rank = &x.Rank
		}
		if x.Via != ir.ViaAny {
			at.Via = x.Via.String()
		}
		out = append(out, at)
	}
	return out
}

func bufByName(name string) (ir.Buf, error) {
	if k := slices.Index(bufNames[:], name); k >= 0 {
		return ir.Buf(k), nil
	}
	return 0, fmt.Errorf("buffer %q is none", name)
}
