package codegen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// The JSON of a plan says what its binary form says, for people and scripts.
// Its schema is these types; version counts up when a field changes meaning.
const (
	jsonFormat  = "mscclc-plan"
	jsonVersion = 1
)

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
	Blocks  []jsonBlock `json:"blocks"`
}

type jsonBlock struct {
	Send    int32      `json:"send"`
	Recv    int32      `json:"recv"`
	Channel int32      `json:"channel"`
	Steps   []jsonStep `json:"steps"`
}

type jsonStep struct {
	Op     string    `json:"op"`
	Src    *jsonRef  `json:"src,omitempty"`
	Dst    *jsonRef  `json:"dst,omitempty"`
	Count  int32     `json:"count,omitempty"`
	Class  int32     `json:"class,omitempty"`
	Wait   *[2]int32 `json:"wait,omitempty"` // block of the rank, step
	HasDep bool      `json:"hasdep,omitempty"`
	Final  bool      `json:"final,omitempty"`
	Pos    *int32    `json:"pos,omitempty"` // index in spans
}

type jsonRef struct {
	Buf   string `json:"buf"` // i, o or s
	Index int32  `json:"index"`
}

// WritePlanJSON writes p as the JSON of a plan, one rank at a time.
func WritePlanJSON(w io.Writer, p *ir.Program) error {
	if found := checkForm(p, trusted); len(found) > 0 {
		return found
	}
	j, err := json.Marshal(jsonHead(p))
	if err != nil {
		return writeError(err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(j[:len(j)-len("null}")]) // the list of ranks follows
	for r := range p.Rank {
		b, err := json.Marshal(jsonOfRank(p, r))
		if err != nil {
			return writeError(err)
		}
		out.WriteString(map[bool]string{true: "[\n", false: ",\n"}[r == 0])
		out.Write(b)
	}
	out.WriteString("\n]}\n")
	return writeError(out.Flush())
}

func jsonHead(p *ir.Program) *jsonPlan {
	c := p.Coll
	j := &jsonPlan{Format: jsonFormat, Version: jsonVersion, Name: p.Name, Protocol: p.Protocol.String(), Sizes: [2]int64{p.Sizes.Min, p.Sizes.Max},
		RanksANode: p.RanksPerNode, Channels: p.Channels, Even: p.Even, InPlace: p.InPlace, OutOfPlace: p.OutOfPlace,
		Files: []string{}, Spans: [][5]int{},
		Collective: jsonCollective{Kind: c.Kind.String(), Ranks: c.Ranks, Chunks: c.Chunks, Root: c.Root, Inplace: c.Inplace, Peer: c.Peer,
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

var bufNames = [...]string{ir.Input: "i", ir.Output: "o", ir.Scratch: "s"}

func jsonOfRank(p *ir.Program, r int) jsonRank {
	rank := jsonRank{Rank: r, Scratch: int32(scratchOf(p, r)), Blocks: []jsonBlock{}}
	ref := func(b ir.Buf, index int32) *jsonRef {
		if b == ir.NoBuf {
			return nil
		}
		return &jsonRef{bufNames[b], index}
	}
	for _, b := range p.TBsOf(r) {
		block := jsonBlock{Send: b.SendPeer, Recv: b.RecvPeer, Channel: b.Channel, Steps: []jsonStep{}}
		for _, s := range p.StepsOf(&b) {
			step := jsonStep{Op: s.Op.String(), Src: ref(s.SrcBuf, s.Src), Dst: ref(s.DstBuf, s.Dst), Count: s.Count, Class: s.Class,
				HasDep: s.Flags&ir.HasDep != 0, Final: s.Flags&ir.Final != 0}
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

// ReadPlanJSON reads what WritePlanJSON writes and checks its form.
func ReadPlanJSON(name string, r io.Reader, opt ReadOptions) (*ir.Program, error) {
	bad := func(format string, args ...any) error {
		return diag.List{diag.New(diag.Malformed, fileSpan(name), format, args...)}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, diag.List{diag.New(diag.Io, fileSpan(name), "cannot read: %v", err)}
	}
	if err := (&jsonScan{name: name, b: text}).run(); err != nil {
		return nil, err
	}
	var j jsonPlan
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, bad("plan: %v", err)
	}
	if j.Format != jsonFormat || j.Version != jsonVersion {
		return nil, bad("format %q of version %d is not %q of version %d", j.Format, j.Version, jsonFormat, jsonVersion)
	}
	p, err := j.program()
	if err != nil {
		return nil, bad("%v", err)
	}
	found := checkForm(p, opt.forSteps(len(p.Steps)))
	if len(found) == 0 && opt.Target != nil {
		found = Fits(p, opt.Target)
	}
	if len(found) > 0 {
		return nil, found
	}
	return p, nil
}

func (j *jsonPlan) program() (*ir.Program, error) {
	c, err := j.Collective.collective()
	if err != nil {
		return nil, err
	}
	if c.Ranks != len(j.Ranks) {
		return nil, fmt.Errorf("collective of %d ranks has %d", c.Ranks, len(j.Ranks))
	}
	proto, ok := ir.ProtocolByName(j.Protocol)
	if !ok {
		return nil, fmt.Errorf("protocol %q is none", j.Protocol)
	}
	p := &ir.Program{Channels: j.Channels, Even: j.Even, InPlace: j.InPlace, OutOfPlace: j.OutOfPlace, Header: ir.Header{Name: j.Name, Coll: c,
		Protocol: proto, Sizes: ir.SizeRange{Min: j.Sizes[0], Max: j.Sizes[1]}, RanksPerNode: j.RanksANode}}
	if len(j.Spans) > 0 {
		p.Spans = make([]diag.Span, 0, len(j.Spans))
	}
	for _, s := range j.Spans {
		if s[0] < 0 || s[0] >= len(j.Files) || slices.Min(s[1:]) < 0 {
			return nil, fmt.Errorf("source position %v is none", s)
		}
		p.Spans = append(p.Spans, diag.Span{Len: s[3], Pos: diag.Pos{Filename: j.Files[s[0]], Line: s[1], Column: s[2], Offset: s[4]}})
	}
	for r, rank := range j.Ranks {
		if rank.Rank != r {
			return nil, fmt.Errorf("rank %d stands where %d is due", rank.Rank, r)
		}
		p.Scratch = append(p.Scratch, rank.Scratch)
		first := int32(len(p.Blocks))
		for _, b := range rank.Blocks {
			begin := int32(len(p.Steps))
			p.Steps = slices.Grow(p.Steps, len(b.Steps))
			for _, s := range b.Steps {
				step, err := s.step()
				if err != nil {
					return nil, err
				}
				p.Steps = append(p.Steps, step)
			}
			p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: b.Send, RecvPeer: b.Recv, Channel: b.Channel},
				Steps: ir.Range{First: begin, End: int32(len(p.Steps))}})
		}
		p.Rank = append(p.Rank, ir.Range{First: first, End: int32(len(p.Blocks))})
	}
	return p, nil
}

func (j *jsonCollective) collective() (*ir.Collective, error) {
	kind := ir.NumKinds
	for k := range ir.NumKinds {
		if k.String() == j.Kind {
			kind = k
		}
	}
	if kind == ir.NumKinds {
		return nil, fmt.Errorf("%q is no collective", j.Kind)
	}
	c := &ir.Collective{Kind: kind, Ranks: j.Ranks, Chunks: j.Chunks, Root: j.Root, Inplace: j.Inplace, Peer: j.Peer, In: j.In, Out: j.Out, PerRank: j.PerRank}
	if kind == ir.Custom {
		c.Require = map[ir.Part][]ir.Part{}
	}
	for _, w := range j.Require {
		out := ir.Part{Rank: w.Rank, Index: w.Index}
		if _, twice := c.Require[out]; twice || kind != ir.Custom {
			return nil, fmt.Errorf("output chunk %d of rank %d is stated twice, or by no custom collective", w.Index, w.Rank)
		}
		var list []ir.Part
		for _, p := range w.Parts {
			list = append(list, ir.Part{Rank: p[0], Index: p[1]})
		}
		c.Require[out] = list
	}
	return c, nil
}

func (j *jsonStep) step() (ir.Step, error) {
	s := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Count: j.Count, Class: j.Class, DepBlock: -1, DepStep: -1, Pos: -1}
	op, ok := ir.OpByMnemonic(j.Op)
	if !ok || op.Info().OneSided {
		return s, fmt.Errorf("operation %q is none", j.Op)
	}
	s.Op = op
	for _, o := range []struct {
		from  *jsonRef
		buf   *ir.Buf
		index *int32
	}{{j.Src, &s.SrcBuf, &s.Src}, {j.Dst, &s.DstBuf, &s.Dst}} {
		if o.from == nil {
			continue
		}
		k := slices.Index(bufNames[:], o.from.Buf)
		if k < 0 {
			return s, fmt.Errorf("buffer %q is none", o.from.Buf)
		}
		*o.buf, *o.index = ir.Buf(k), o.from.Index
	}
	if j.Wait != nil {
		s.DepBlock, s.DepStep = j.Wait[0], j.Wait[1]
	}
	if j.HasDep {
		s.Flags |= ir.HasDep
	}
	if j.Final {
		s.Flags |= ir.Final
	}
	if j.Pos != nil {
		s.Pos = *j.Pos
	}
	return s, nil
}
