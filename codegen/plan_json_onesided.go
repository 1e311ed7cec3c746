package codegen

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

// oneSided adds the rank's buffers that only a one-sided program has to o.
func (j *jsonRank) oneSided(o *ir.OneSided) error {
	if o == nil {
		if j.Packets != 0 || j.Flags != 0 {
			return fmt.Errorf("rank %d has packets or flags in a program that is not one-sided", j.Rank)
		}
		return nil
	}
	o.Packets[j.Rank], o.Flags[j.Rank] = j.Packets, j.Flags
	return nil
}

// operands adds the step's operands to o, which is nil in a two-sided program.
func (j *jsonStep) operands(s *ir.Step, o *ir.OneSided) error {
	if o == nil {
		if len(j.From)+len(j.To) > 0 {
			return fmt.Errorf("%q has operands of one-sided steps", j.Op)
		}
		return nil
	}
	if max(len(j.From), len(j.To)) > ir.MaxOperands {
		return fmt.Errorf("%q has more than %d sources or destinations", j.Op, ir.MaxOperands)
	}
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(j.From))
	s.Dst, s.NDst = s.Src+int32(len(j.From)), int16(len(j.To))
	for _, list := range [][]jsonAt{j.From, j.To} {
		for _, at := range list {
			b, err := bufByName(at.Buf)
			if err != nil {
				return err
			}
			x := ir.Operand{Rank: ir.AllRanks, Index: at.Index, Buf: b, Nth: at.Nth}
			if at.Rank != nil {
				x.Rank = *at.Rank
			}
			if at.Via != "" {
				ok := false
				if x.Via, ok = ir.ViaByName(at.Via); !ok {
					return fmt.Errorf("way %q is none", at.Via)
				}
			}
			o.Operands = append(o.Operands, x)
		}
	}
	return nil
}
