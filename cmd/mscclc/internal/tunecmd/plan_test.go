package tunecmd

import (
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/ir"
)

// TestDone: groups between windows count once something was found of them, since not every NCCL has windows.
func TestDone(t *testing.T) {
	const end = 4 << 10
	sizes := []bundle.TimedSize{{Bytes: 1 << 10}, {Bytes: end}}
	for _, c := range []struct {
		name           string
		usual, windows *tuned.Sizes
		again, want    bool
	}{
		{"nothing", nil, nil, false, false},
		{"all", &tuned.Sizes{Sizes: sizes, Done: true}, &tuned.Sizes{Sizes: sizes, Done: true}, false, true},
		{"all, and --again", &tuned.Sizes{Sizes: sizes, Done: true}, &tuned.Sizes{Sizes: sizes, Done: true}, true, false},
		{"no windows", &tuned.Sizes{Sizes: sizes, Done: true}, nil, false, true},
		{"windows that failed", &tuned.Sizes{Sizes: sizes, Done: true}, &tuned.Sizes{Done: true}, false, true},
		{"borders are missing", &tuned.Sizes{Sizes: sizes}, &tuned.Sizes{Sizes: sizes, Done: true}, false, false},
		{"borders of windows are missing", &tuned.Sizes{Sizes: sizes, Done: true}, &tuned.Sizes{Sizes: sizes}, false, false},
		{"a size of windows is missing", &tuned.Sizes{Sizes: sizes, Done: true}, &tuned.Sizes{Sizes: sizes[:1]}, false, false},
	} {
		p := &plan{tuneFlags: &tuneFlags{again: c.again}, kinds: []ir.Kind{ir.AllGather}, end: end, doc: &tuned.Document{}}
		for windows, s := range map[bool]*tuned.Sizes{false: c.usual, true: c.windows} {
			if s != nil {
				s.Group = tuned.Group{Collective: ir.AllGather.String(), Ranks: 2, Windows: windows}
				p.doc.Put(*s, time.Now())
			}
		}
		if got := p.done(2); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
