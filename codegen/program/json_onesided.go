package program

import (
	"fmt"
	"slices"

	"mscclc/ir"
)

// A jsonAt is an operand of a one-sided step.
type jsonAt struct {
	Rank  *int32 `json:"rank,omitempty"` // absent: all ranks, through the switch
	Buf   string `json:"buf"`
	Index int32  `json:"index"`
	Via   string `json:"via,omitempty"` // memory, port or switch
	Nth   int32  `json:"nth,omitempty"` // how often it is awaited; see ir.Operand
}

func depthOf(p *ir.Program) int32 {
	if p.OneSided == nil {
		return 0
	}
	return p.OneSided.Depth
}

func jsonOperands(list []ir.Operand) []jsonAt {
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
