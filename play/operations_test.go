package play_test

import (
	"fmt"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/play"
)

// TestOperationsOfSteps has steps of the timeline name operations that read what the steps read, of all programs of
// the catalog, and has all frames have times.
func TestOperationsOfSteps(t *testing.T) {
	checked := 0
	for i := range play.CatalogOf().Programs {
		for _, one := range []bool{false, true} {
			p := &play.CatalogOf().Programs[i]
			t.Run(fmt.Sprintf("%s/%t", p.Name, one), func(t *testing.T) {
				result := of8Sided(t, p, one)
				if s := result.Scene; s.Kind == "chunks" && s.Timeline != nil && len(s.Ops) > 0 {
					checked += namesReads(t, result)
				}
			})
		}
	}
	if checked < 5000 {
		t.Errorf("only %d reads were looked at", checked)
	}
}

// namesReads checks the steps of a timeline, and returns of how many reads.
func namesReads(t *testing.T, result *play.Result) (checked int) {
	s, p := result.Scene, result.Program
	own := ir.NewMemory(p.Coll, nil)
	wrong := 0
	for i := range s.Timeline.Steps {
		x := &s.Timeline.Steps[i]
		if len(x.Ops) > 0 && x.Ops[0] != x.Op || len(x.Ops) == 0 && x.Op >= 0 {
			t.Errorf("%s is of %d, and of %v", x.Name, x.Op, x.Ops)
		}
		read := cellsRead(p, own, x)
		if len(read) > 0 && x.Op < 0 {
			t.Errorf("%s is of no operation: %s", x.Name, x.Text)
		}
		var named []int
		for _, op := range x.Ops {
			named = append(named, opReads(s, own, op)...)
		}
		for _, cell := range read {
			if checked++; !slices.Contains(named, cell) {
				if wrong++; wrong < 4 {
					t.Errorf("%s, %s, is of operations %v, of which none reads that", x.Name, x.Text, x.Ops)
				}
			}
		}
		reads := func(cell int) bool { return slices.Contains(read, cell) }
		if len(read) > 0 && x.Op >= 0 && !slices.ContainsFunc(opReads(s, own, x.Op), reads) {
			t.Errorf("%s, %s, is named after operation %d, which reads nothing of that", x.Name, x.Text, x.Op)
		}
	}
	for k, f := range s.Frames {
		if f.Begin == nil || f.End == nil {
			t.Errorf("frame %d of %d has no time", k, len(s.Frames))
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d reads are of other operations", wrong, checked)
	}
	return checked
}

// cellsRead returns the cells of input and output that a step reads.
func cellsRead(p *either.Program, own *ir.Memory, x *play.Step) (list []int) {
	s := &p.Steps[p.Blocks[int(p.Rank[x.Rank].First)+x.Block].Steps.First+int32(x.Step)]
	if p.OneSided == nil {
		if s.Op.Info().ReadsSrc && s.SrcBuf <= ir.Output {
			list = append(list, own.Cell(x.Rank, s.SrcBuf, int(s.Src)))
		}
		return list
	}
	if s.Op != ir.Move {
		return nil
	}
	for _, from := range p.OneSided.Sources(s) {
		if from.Buf > ir.Output {
			continue
		}
		for r := range p.Coll.Ranks {
			if int(from.Rank) == r || from.Rank == ir.AllRanks {
				list = append(list, own.Cell(r, from.Buf, int(from.Index)))
			}
		}
	}
	return list
}

// opReads returns the cells of input and output that an operation reads. The steps of a sum of more than two add to
// what it writes.
func opReads(s *play.Scene, own *ir.Memory, op int) (list []int) {
	reads := slices.Clone(s.Ops[op].From)
	if s.Sided == "two" && len(reads) > 2 {
		reads = append(reads, s.Ops[op].To...)
	}
	for _, from := range reads {
		for k := range s.Ops[op].Count {
			if from.Buffer <= int(ir.Output) {
				list = append(list, own.Cell(from.Rank, ir.Buf(from.Buffer), from.Index+k))
			}
		}
	}
	return list
}
