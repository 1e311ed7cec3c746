package msccl

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
)

// algoHead is what the <algo> tag says.
type algoHead struct {
	ranks, channels, divisor int
	inclusive                bool // RCCL's dialect
	coll                     string
	span                     diag.Span
}

// algo reads the <algo> tag.
func (x *reader) algo(t *tag) {
	x.p = &fifo.Program{Program: ir.Program{Even: true}}
	x.head = algoHead{ranks: math.MaxInt32, channels: math.MaxInt32, divisor: math.MaxInt32, span: t.whole()}
	v := &x.v
	if !x.fields(t, algoFields, v) {
		return
	}
	h, p := &x.head, x.p
	h.ranks, h.channels, h.divisor = int(v.num[algoRanks]), int(v.num[algoChannels]), int(v.num[algoDivisor])
	h.coll = v.text(algoColl)
	h.inclusive = v.attr[algoOutofplace] != nil
	if x.opt.Target != nil {
		h.inclusive = x.opt.Target.Inclusive
	}
	p.Name, p.Channels, p.RanksPerNode = v.text(algoName), h.channels, h.ranks
	if h.channels > form.MaxChannels {
		x.report(diag.Limit, t.span(v.attr[algoChannels]), "program uses %d channels, at most %d are read", h.channels,
			form.MaxChannels)
	}
	proto, ok := ir.ProtocolByName(v.text(algoProto))
	if !ok || !proto.Row().Runtimes {
		x.report(diag.Malformed, t.span(v.attr[algoProto]), "protocol %q is none of Simple, LL and LL128", v.text(algoProto))
		proto = ir.Simple
	}
	p.Protocol = proto
	p.InPlace, p.OutOfPlace = v.num[algoInplace] == 1, v.num[algoInplace] == 0
	if v.attr[algoOutofplace] != nil && h.inclusive {
		p.OutOfPlace = v.num[algoOutofplace] == 1
		if !p.InPlace && !p.OutOfPlace {
			x.report(diag.Malformed, t.span(v.attr[algoOutofplace]), "program is neither for calls in place nor for others")
		}
	}
	p.Declaration = t.span(v.attr[algoColl])
	x.spelling(t)
	x.collective(t)
	if x.p.Coll != nil {
		x.sizes(t)
	}
}

// collectives are the names of both dialects.
var collectives = map[string]ir.Kind{
	"allreduce": ir.AllReduce, "allgather": ir.AllGather, "alltoall": ir.AllToAll, "broadcast": ir.Broadcast,
	"reduce":         ir.ReduceTo,
	"reduce_scatter": ir.ReduceScatter, "reducescatter": ir.ReduceScatter, "gather": ir.Gather, "scatter": ir.Scatter,
	"custom": ir.Opaque,
}

// spelling checks what a stated target wants of the <algo> tag.
func (x *reader) spelling(t *tag) {
	target, v := x.opt.Target, &x.v
	if target == nil {
		return
	}
	rewrite := fmt.Sprintf("mscclc compile %s --target %s rewrites it", diag.Printable(x.filename), target.Name)
	for i := range algoFields {
		if f := &algoFields[i]; v.attr[i] == nil && slices.Contains(f.wanted, target.Name) {
			d := x.report(diag.Malformed, t.whole(), "<algo> lacks attribute %s, which %s wants", f.name, target.Name)
			d.Hint = "a file that was written for another runtime may lack it; " + rewrite
		}
	}
	if a := v.attr[algoThreads]; a != nil && !target.Inclusive {
		if n, ok := number(a.value); !ok || n%32 != 0 {
			x.report(diag.Unsupported, t.span(a), "nthreads is %q, and %s takes a multiple of 32", diag.Clip(a.value), target.Name)
		}
	}
	kind, known := collectives[x.head.coll]
	if !known { // collective says it
		return
	}
	if name, ok := target.Kinds[kind]; !ok && !(target.Custom && kind == ir.Opaque) || ok && name != x.head.coll {
		d := x.report(diag.Unsupported, t.span(v.attr[algoColl]), "%s has no collective %q", target.Name, x.head.coll)
		if ok {
			d.Hint = fmt.Sprintf("%s calls it %s; %s", target.Name, name, rewrite)
		}
	}
}

// collective derives the collective from its name and nchunksperloop. Roots
// and custom buffers follow when all ranks are read.
func (x *reader) collective(t *tag) {
	h, a := &x.head, x.v.attr[algoColl]
	kind, ok := collectives[h.coll]
	if !ok {
		code, text := diag.Malformed, "%q is no collective"
		if h.coll == "send" || h.coll == "recv" || h.coll == "alltoallv" {
			code, text = diag.Unsupported, "programs for %s cannot be read"
		}
		d := x.report(code, t.span(a), text, h.coll)
		if near := diag.Meant(h.coll, slices.Sorted(maps.Keys(collectives))); near != "" && code == diag.Malformed {
			d.Hint = "did you mean " + near + "?"
		}
		return
	}
	c := &ir.Collective{Kind: kind, Ranks: h.ranks, Chunks: h.divisor, Inplace: x.p.InPlace}
	switch kind {
	case ir.AllGather, ir.ReduceScatter, ir.AllToAll:
		if h.divisor%h.ranks != 0 {
			x.report(diag.Malformed, t.span(x.v.attr[algoDivisor]), "nchunksperloop is %d, no multiple of the %d ranks",
				h.divisor, h.ranks)
			return
		}
		c.Chunks = h.divisor / h.ranks
	}
	x.p.Coll = c
}

// sizes reads the range of sizes: [min, max) for msccl, which has a default,
// and [min, max] for RCCL, where 0 is no end.
func (x *reader) sizes(t *tag) {
	v, p := &x.v, x.p
	least, most := v.num[algoMin], v.num[algoMax]
	switch {
	case v.attr[algoMax] == nil && !x.head.inclusive:
		most = mscclMaxBytes
	case x.head.inclusive && most == math.MaxInt64:
		most = 0
	case x.head.inclusive && most > 0:
		most++
	}
	if unit := rooted(p.Coll.Kind, false, x.head.ranks); most > math.MaxInt64/unit || least > math.MaxInt64/unit {
		most, least = 0, 0
	} else {
		most, least = most*unit, least*unit
	}
	if most != 0 && most <= least || most == 0 && !x.head.inclusive {
		at := t.whole()
		if a := v.attr[algoMin]; a != nil {
			at = t.span(a)
		}
		x.report(diag.Malformed, at, "the range of sizes from %d is empty", least)
		return
	}
	p.Sizes = ir.SizeRange{Min: least, Max: most}
}

// mscclMaxBytes is the size below which a file without maxBytes is for.
const mscclMaxBytes = 1 << 27
