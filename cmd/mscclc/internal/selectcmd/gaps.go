package selectcmd

import (
	"fmt"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/codegen"
)

// gaps returns the sizes that a runtime runs none of the programs for.
func (e *emission) gaps(list []choose.Stretch) ([]string, error) {
	gaps := []string{}
	s := e.selector
	if s.Target.Format != codegen.FormatXML {
		return gaps, nil // mscclc's executor takes any size
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
		from, end, last := sizing.Rough(first.From), list[i-1].To, i == len(list)
		where := "from " + from + " to " + sizing.Rough(end)
		switch {
		case first.From == 0 && last:
			where = "at all sizes"
		case first.From == 0:
			where = "below " + sizing.Rough(end)
		case last:
			where = "from " + from + " on"
		}
		gaps = append(gaps, fmt.Sprintf("%s, calls of bytes that are no multiple of %d (%d chunks of %v)", where,
			chunks*s.DType.Size(), chunks, s.DType))
	}
	if s.Target.Name == "msccl" {
		gaps = append(gaps, fmt.Sprintf("above %s, the last size that was asked for: msccl has memory for calls up to there",
			sizing.Rough(e.end-1)))
	}
	return gaps, nil
}
