package simulatecmd

import (
	"strconv"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/ir/either"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
	"mscclc/transport"
)

// This file finds calls that a smaller tile makes faster, because data for another node then is one message.

// A split is a call that sends data to another node in several messages, and a tile with which it sends fewer.
type split struct {
	bytes, messages, tile int64
	micros, less          float64 // of the call, and with that tile
}

// leastGain is what part of a call a smaller tile saves at least where it is worth a note.
const leastGain = 0.1

// splitOf returns how much a smaller tile saves of a call that took so long, or nil if that is little, or if the flags
// say the tile.
func (f *Flags) splitOf(p *either.Program, t *topology.Topology, costs *devices.Costs, call simulate.Call,
	took *simulate.Result) *split {
	if took.Split == 0 || f.tile != "" || len(p.Steps) > manySteps/8 {
		return nil
	}
	call.Figure, call.Trace = simulate.Latency, false
	given := f.OneGiven("ctas") != ""
	size := int64(call.DType.Size())
	chunk := data.NewGeometry(p.Coll, data.PieceElems(p.Coll, call.Bytes, call.DType), call.DType.Size()).Chunk * size
	best := &split{bytes: call.Bytes, messages: took.Split, micros: took.Micros, less: took.Micros * (1 - leastGain)}
	for parts := int64(1); parts <= 4; parts *= 2 {
		call.Tile = chunk / parts / size * size
		if call.Tile == 0 {
			break
		}
		if !given {
			call.Replicas = widest(p, t, costs, call)
		}
		if r, err := simulate.Run(p, t, costs, call); err == nil && r.Micros < best.less {
			best.tile, best.less = call.Tile, r.Micros
		}
	}
	if best.tile == 0 {
		return nil
	}
	return best
}

// note says it.
func (s *split) note(a *cli.App, arg string) {
	tile := strconv.FormatInt(s.tile, 10)
	if s.tile%1024 == 0 {
		tile = strconv.FormatInt(s.tile/1024, 10) + "K"
	}
	a.Note(arg, "a call of %s takes %.2f us, and %.2f with --tile %s: it sends data to another node in up to %d messages at "+
		"once, one for each chunk of each replica, as a replica has less than a tile of it and more than %s do not go with "+
		"a signal (docs/simulation.md#messages-between-nodes)", cli.SizeText(s.bytes), s.micros, s.less, tile, s.messages,
		cli.SizeText(transport.Inside))
}
