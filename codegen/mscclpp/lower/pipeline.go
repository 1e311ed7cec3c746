package lower

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file makes pipelines: each block does its part of the work once for each unit of bytes of the chunks, so that
// what one hands to the next, of its rank or of another, is on its way while it works on more. A rank's work is divided
// where it waits for others. All operations have equally many chunks, which the executor's loops take for granted.

// checkPipeline says why there can be none.
func (x *maker) checkPipeline(instances int) *diag.Diagnostic {
	d := diag.Diagnostic{}
	switch unit := x.pipeline; {
	case unit == 0:
		return nil
	case unit < 16 || unit > math.MaxInt32 || unit%16 != 0:
		d = diag.New(diag.Limit, diag.Span{},
			"a loop iteration of a pipeline moves %d bytes: these are 16 or more, below 2147483648, and a multiple of 16", unit)
	case x.p.Protocol != ir.Simple:
		d = diag.New(diag.Unsupported, diag.Span{},
			"MSCCL++ moves all packets in every loop iteration of a pipeline").WithHint(
			"give --protocol Simple, or leave the pipeline out")
	case instances > 1:
		d = diag.New(diag.Unsupported, diag.Span{},
			"MSCCL++ has thread blocks that share out an operation take other bytes than they should in a pipeline").
			WithHint("give either --instances or a pipeline")
	default:
		for i := range x.p.Steps {
			if s := &x.p.Steps[i]; s.Op.Moves() {
				x.chunks = commonDivisor(x.chunks, s.Count)
			}
		}
		return nil
	}
	return &d
}

func commonDivisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mostStages is how many blocks a rank's work is divided among in a pipeline, unless one has no room: a GPU runs about
// a hundred at once.
const mostStages = 32

// stagesOf finds where parts of the work of their own begin among a rank's items: where it waits for others, of which
// some are left out if they are many.
func (x *maker) stagesOf(items []item) []bool {
	begins := make([]bool, len(items))
	if x.pipeline == 0 {
		return begins
	}
	waits, moves := 0, false
	visit := func(f func(i int)) {
		moves = false
		for i := range items {
			if items[i].op.Kind == ir.ChAwait && moves {
				moves = false
				f(i)
			}
			moves = moves || items[i].op.Kind.Info().Moves
		}
	}
	visit(func(int) { waits++ })
	every := (waits + mostStages) / mostStages
	n := 0
	visit(func(i int) {
		n++
		begins[i] = n%every == 0
	})
	return begins
}

// loop has a block do what it does once for each turn, but relaxed signals and awaits, which signal a launch.
func (x *maker) loop(ops []ir.ChannelOp) []ir.ChannelOp {
	var once, body []ir.ChannelOp
	awaits := false
	for i := range ops {
		switch kind := ops[i].Kind; {
		case kind == ir.ChRelaxedSignal || kind == ir.ChRelaxedAwait:
			once = append(once, ops[i])
			awaits = awaits || kind == ir.ChRelaxedAwait
		case kind == ir.ChMeet && len(body) == 0 && awaits: // it is before the loop
		default:
			body = append(body, ops[i])
		}
	}
	if awaits {
		once = append(once, ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel, Pos: -1})
	}
	if len(body) == 0 {
		return once
	}
	return append(once, ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: x.pipeline, Chunks: x.chunks,
		Body: body, Pos: -1})
}
