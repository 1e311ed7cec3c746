package benchcmd

import (
	"context"
	"strings"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/selection"
)

// chooseOnline makes the chooser that tries variants, if it is asked for.
func (w *benchWorld) chooseOnline(a *cli.App) {
	if w.online == 0 {
		return
	}
	w.trying = &choose.Online{Chooser: w.chooser, Tries: w.online, Exchange: w.exchange, Seen: func(s choose.Settlement) {
		if !w.first {
			return
		}
		w.bar.Over(func() {
			var list []string
			for _, c := range s.Candidates {
				what := c.Choice.String() + " failed"
				if c.Err == nil {
					what = c.Choice.String() + " " + c.Least.Round(10*time.Nanosecond).String()
				}
				list = append(list, what)
			}
			a.Say("online: %v %s up to %s, the least of %d: %s", s.Call.Kind, choosing.PlaceName(s.Call.Inplace), cli.SizeText(s.UpTo),
				w.online, strings.Join(list, ", "))
		})
	}}
}

// settle runs calls of a size by the variants whose turn it is, until one is found to be the fastest, as a program's
// own calls would.
func (w *benchWorld) settle(ctx context.Context, call choose.Call, bytes int64) (selection.Choice, error) {
	c := &bench.Call{Coll: bench.Whole(w.coll, call.Inplace), DType: w.dtype, RedOp: w.redop}
	c.Elems = data.PieceElems(c.Coll, bytes, w.dtype)
	m := w.searching()
	m.Replays, m.Warmup = 1, 0
	for {
		if v, settled := w.trying.Winner(call, bytes, w.dtype.Size()); settled {
			return v, nil
		}
		if v, err := w.trying.Run(ctx, call, bytes, w.dtype.Size(),
			func(ctx context.Context, v selection.Choice) (took time.Duration, err error) {
				f, err := w.variant(v, call)
				if err != nil {
					return 0, err
				}
				op, err := w.site.Ready(ctx, f, c)
				if err != nil {
					return 0, err
				}
				samples, err := w.site.Measure(ctx, []bench.Op{op}, m, nil)
				if closed := op.Close(); err == nil {
					err = closed
				}
				if err != nil {
					return 0, choose.Begun(err)
				}
				return samples[0].Time, nil
			}); err != nil {
			return v, err
		}
	}
}
