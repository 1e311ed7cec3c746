package codegen

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

// CheckLimits returns what of p is more than t allows, or what t's XML cannot say, each with a way out: the worst
// excess of every limit. It looks at nothing of targets for MSCCL++, whose limits are of what codegen/mscclpp/lower
// makes of p; mscclc.Fits does.
func CheckLimits(p *either.Program, t *Target) diag.List {
	if t.Format == FormatMSCCLPP {
		return nil
	}
	f := fitter{p: p, limits: &t.Limits}
	if t.Format == FormatXML && p.OneSided != nil {
		f.refuse(place{rank: -1}, "compile its algorithm with --sided two, or use --target program",
			"%s is MSCCL-IR, which has no one-sided operations", t.Name)
		return f.found
	}
	if t.Format == FormatXML {
		f.words(t)
		f.sizes(t)
		f.worst("ranks", p.Coll.Ranks, MaxRanks, place{rank: -1, block: -1})
	}
	f.worst("channels", p.Channels(), t.Limits.Channels, place{rank: -1, block: -1})
	for r := range p.Rank {
		f.rank(r)
	}
	for _, l := range limitTexts {
		if e, ok := f.excess[l.name]; ok {
			f.report(e, l.text, l.hint)
		}
	}
	return f.found
}

// A place is a step of a program; what means nothing there is -1.
type place struct {
	rank, block, step int
	pos               int32
}

type excess struct {
	place
	got, most int
}

type fitter struct {
	p      *either.Program
	limits *ir.Limits
	excess map[string]excess
	found  diag.List
	fused  bool // a fused receive was refused; one message is enough
}

// limitTexts says, in the order of report, what each limit is called and what
// to do; the text takes the number found, the target and its number.
var limitTexts = []struct{ name, text, hint string }{
	{"ranks", "program has %d ranks, %s allows %d", "use --target program"},
	{"channels", "program uses %d channels, %s allows %d", "use fewer ch hints, a smaller parallelize or fewer --instances, or --target program"},
	{"blocks", "a rank has %d thread blocks, %s allows %d", "use fewer channels, a smaller parallelize or fewer --instances, or --target program"},
	{"steps", "a thread block has %d steps with its nops, %s allows %d", "compile its algorithm for this target, which spreads the work over channels, or use --target program"},
	{"nodes", "a rank's part of the file has %d nodes, %s reads at most %d", "move several chunks a step (a count), use fewer --instances, or --target program"},
	{"peers", "a rank has %d connections one way on one channel, %s allows %d", "compile its algorithm for this target, which spreads the peers over channels, or use --target program"},
	{"count", "a step moves %d chunks, %s allows %d", "cut the copy into smaller counts, or use --target program"},
	{"index", "a step uses chunk index %d, %s allows up to %d", "cut the buffers into fewer chunks, use fewer --instances, or --target program"},
	{"dep", "a step waits for thread block %d of its rank, %s can wait only for blocks up to %d", "use fewer thread blocks: fewer channels or --instances, or use --target program"},
	{"scratch", "a rank has %d chunks of scratch, %s allows up to %d", "use less scratch, fewer --instances, or --target program"},
}

// worst notes got where it is above most and above what was found before. A
// most of 0 is no limit.
func (f *fitter) worst(name string, got, most int, at place) {
	if most == 0 || got <= most || got <= f.excess[name].got {
		return
	}
	if f.excess == nil {
		f.excess = map[string]excess{}
	}
	f.excess[name] = excess{at, got, most}
}

func (f *fitter) report(e excess, text, hint string) {
	d := diag.New(diag.Limit, f.p.Span(e.pos), text, e.got, f.limits.Target, e.most).WithHint("%s", hint)
	if e.rank < 0 { // nothing of the program is at fault alone
		d.Span = diag.Span{}
	} else {
		d.Rank = e.rank
	}
	if e.block >= 0 {
		d.Block, d.Step = e.block, e.step
	}
	f.found = append(f.found, d)
}

// refuse adds a fault that no number describes.
func (f *fitter) refuse(at place, hint, format string, args ...any) {
	d := diag.New(diag.Unsupported, f.p.Span(at.pos), format, args...).WithHint("%s", hint)
	if at.rank >= 0 {
		d.Rank, d.Block, d.Step = at.rank, at.block, at.step
	} else {
		d.Span = diag.Span{}
	}
	f.found = append(f.found, d)
}

// CheckHeader returns what t does not allow of any program with a header, whatever its steps are: its number of ranks,
// its collective and its protocol. Compile asks it before it makes the steps.
func CheckHeader(h *ir.Header, t *Target) diag.List {
	f := fitter{p: either.OfFifo(&fifo.Program{Program: ir.Program{Header: *h}}), limits: &t.Limits}
	if t.Format == FormatXML {
		f.words(t)
	}
	if len(h.Then) > 0 && t.Format != FormatProgram {
		f.refuse(place{rank: -1}, "use --target program", "%s has no epilogues", t.Name)
	}
	if t.Format != FormatProgram {
		f.worst("ranks", h.Coll.Ranks, MaxRanks, place{rank: -1, block: -1})
	}
	if e, ok := f.excess["ranks"]; ok {
		f.report(e, limitTexts[0].text, limitTexts[0].hint)
	}
	return f.found
}

// words refuses a collective and a protocol that t has no word for.
func (f *fitter) words(t *Target) {
	p, nowhere := f.p, place{rank: -1}
	if _, known := t.Kinds[p.Coll.Kind]; !known && !t.Custom {
		kind := p.Coll.Kind
		if kind == ir.Opaque { // a custom one of XML, which does not say what it requires
			kind = ir.Custom
		}
		f.refuse(nowhere, "use --target msccl, where it becomes a custom collective, or --target program",
			"%s has no collective %s", t.Name, kind)
	}
	if !p.Protocol.Row().Runtimes {
		f.refuse(nowhere, "use --protocol LL or --protocol LL128, or --target program", "%s has no protocol %s", t.Name,
			p.Protocol)
	}
}

// sizes refuses a range of sizes that t cannot say.
func (f *fitter) sizes(t *Target) {
	p, nowhere := f.p, place{rank: -1}
	if p.Sizes.Min < 0 || p.Sizes.Max < 0 || (p.Sizes.Max != 0 && p.Sizes.Max <= p.Sizes.Min) ||
		(p.Sizes.Max == 0 && t.Limits.MaxBytes != 0 && p.Sizes.Min >= t.Limits.MaxBytes) ||
		(p.Sizes.Max == 1 && t.Inclusive) {
		f.refuse(nowhere, "state both ends of `sizes`", "%s cannot say the sizes from %d up to %d bytes", t.Name, p.Sizes.Min,
			p.Sizes.Max)
	}
}

func (f *fitter) rank(r int) {
	p, l := f.p, f.limits
	tbs := p.TBsOf(r)
	nodes := 1 + p.Coll.Ranks + len(tbs)
	whole := place{rank: r, block: -1, pos: -1}
	for b := range tbs {
		steps := p.StepsOf(&tbs[b])
		nodes += len(steps)
		at := place{rank: r, block: b, step: len(steps) - 1, pos: -1}
		if len(steps) > 0 {
			at.pos = steps[len(steps)-1].Pos
		}
		f.worst("steps", len(steps), l.Steps, at)
		for i := range steps {
			at.step, at.pos = i, steps[i].Pos
			f.step(&steps[i], at)
		}
	}
	f.worst("blocks", len(tbs), l.Blocks, whole)
	if l.Nodes > 0 {
		f.worst("nodes", nodes, l.Nodes-1, whole)
	}
	if l.Index > 0 {
		f.worst("scratch", p.ScratchOf(r), l.Index+1, whole)
	}
	f.peers(r, tbs)
}

func (f *fitter) step(s *ir.Step, at place) {
	l, info := f.limits, s.Op.Info()
	f.worst("dep", int(s.DepBlock), l.DepBlock, at)
	if s.Op == ir.Nop {
		return
	}
	f.worst("count", int(s.Count), l.Count, at)
	if s.SrcBuf != ir.NoBuf {
		f.worst("index", int(s.Src), l.Index, at)
	}
	if s.DstBuf != ir.NoBuf {
		f.worst("index", int(s.Dst), l.Index, at)
	}
	fused := info.Receives && (info.Sends || info.Reduces)
	if fused && !l.ReceiveFused && !f.fused {
		f.fused = true
		f.refuse(at, "mscclc compile FILE --target "+l.Target+" -o NEW.xml writes it as a receive and further steps; or use --target msccl",
			"%s rejects fused receives such as %s", l.Target, s.Op)
	}
}

// peers counts the connections of a rank on each channel, each way.
func (f *fitter) peers(r int, tbs []ir.TB) {
	if f.limits.Peers == 0 || len(tbs) <= f.limits.Peers {
		return
	}
	type way struct {
		channel int32
		sends   bool
	}
	count := map[way]int{}
	for b := range tbs {
		if tbs[b].SendPeer >= 0 {
			count[way{tbs[b].Channel, true}]++
			f.worst("peers", count[way{tbs[b].Channel, true}], f.limits.Peers, place{rank: r, block: -1, pos: -1})
		}
		if tbs[b].RecvPeer >= 0 {
			count[way{tbs[b].Channel, false}]++
			f.worst("peers", count[way{tbs[b].Channel, false}], f.limits.Peers, place{rank: r, block: -1, pos: -1})
		}
	}
}
