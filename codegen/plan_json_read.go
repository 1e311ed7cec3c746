package codegen

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

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
	if j.Depth == 0 && j.OnePass {
		return nil, fmt.Errorf("launches have one pass in a program that is not one-sided")
	}
	if j.Depth != 0 {
		p.OneSided = &ir.OneSided{Depth: j.Depth, OnePass: j.OnePass, Packets: make([]int32, len(j.Ranks)), Flags: make([]int32, len(j.Ranks))}
	}
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
		if err := rank.oneSided(p.OneSided); err != nil {
			return nil, err
		}
		first := int32(len(p.Blocks))
		for _, b := range rank.Blocks {
			begin := int32(len(p.Steps))
			p.Steps = slices.Grow(p.Steps, len(b.Steps))
			for _, s := range b.Steps {
				step, err := s.step(p.OneSided)
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

func (j *jsonStep) step(o *ir.OneSided) (ir.Step, error) {
	s := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Count: j.Count, Class: j.Class, DepBlock: -1, DepStep: -1, Pos: -1}
	op, ok := ir.OpByMnemonic(j.Op)
	if !ok || op.Info().OneSided != (o != nil) {
		return s, fmt.Errorf("operation %q is none", j.Op)
	}
	s.Op = op
	if err := j.operands(&s, o); err != nil {
		return s, err
	}
	for _, o := range []struct {
		from  *jsonRef
		buf   *ir.Buf
		index *int32
	}{{j.Src, &s.SrcBuf, &s.Src}, {j.Dst, &s.DstBuf, &s.Dst}} {
		if o.from == nil {
			continue
		}
		b, err := bufByName(o.from.Buf)
		if err != nil {
			return s, err
		}
		*o.buf, *o.index = b, o.from.Index
	}
	if j.Wait != nil {
		s.DepBlock, s.DepStep = j.Wait[0], j.Wait[1]
	}
	for i, on := range []bool{j.HasDep, j.Final, j.Joint, j.Enter, j.Leave, j.Relax, j.Loose} {
		if on {
			s.Flags |= 1 << i
		}
	}
	if j.Pos != nil {
		s.Pos = *j.Pos
	}
	return s, nil
}
