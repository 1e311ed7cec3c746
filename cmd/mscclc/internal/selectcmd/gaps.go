package selectcmd

import (
	"fmt"

	"mscclc/algorithms/choose"
	"mscclc/bundle"
	"mscclc/codegen"
	"mscclc/ir/diag"
)

// fileGaps returns the sizes beyond those that files at either end are for.
func fileGaps(list []choose.Stretch) []string {
	gaps := []string{}
	if first := list[0]; first.From > 0 {
		gaps = append(gaps, fmt.Sprintf("below %s, which %s is not for", diag.RoughSize(first.From),
			diag.Printable(first.Program)))
	}
	if last := list[len(list)-1]; last.To > 0 {
		gaps = append(gaps, fmt.Sprintf("from %s on, which %s is not for", diag.RoughSize(last.To),
			diag.Printable(last.Program)))
	}
	return gaps
}

// gaps returns the sizes that a runtime runs none of the programs for.
func (e *emission) gaps(list []choose.Stretch) ([]string, error) {
	gaps := []string{}
	s := e.selector
	unit, of := s.DType.Size(), s.DType.String()
	switch s.Target.Format {
	case codegen.FormatProgram:
		if s.Staged != nil {
			above := diag.RoughSize(bundle.CandidateBytes)
			return []string{"above " + above + ", the last size that candidates are for: NCCL runs such calls"}, nil
		}
		return fileGaps(list), nil // mscclc's executor takes any size
	case codegen.FormatMSCCLPP:
		unit, of = 16, "16 bytes"
	}
	for i := 0; i < len(list); {
		first, chunks := list[i], 0
		for ; i < len(list); i++ { // ranges of as many chunks are one gap
			n, err := s.Chunks(list[i].Form)
			if err != nil {
				return nil, err
			}
			if chunks != 0 && n != chunks {
				break
			}
			chunks = n
		}
		if chunks < 2 {
			continue
		}
		from, end, last := diag.RoughSize(first.From), list[i-1].To, i == len(list)
		where := "from " + from + " to " + diag.RoughSize(end)
		switch {
		case first.From == 0 && last:
			where = "at all sizes"
		case first.From == 0:
			where = "below " + diag.RoughSize(end)
		case last:
			where = "from " + from + " on"
		}
		gaps = append(gaps, fmt.Sprintf("%s, calls of bytes that are no multiple of %d (%d chunks of %s)", where, chunks*unit,
			chunks, of))
	}
	if s.Target.Name == "msccl" {
		gaps = append(gaps, fmt.Sprintf("above %s, the last size that was asked for: msccl has memory for calls up to there",
			diag.RoughSize(e.end-1)))
	}
	return gaps, nil
}
