package bench

import (
	"context"
	"errors"
	"time"
)

// This file measures launches that the host waits for.

// blocked runs all replays, and keeps how long each takes by the host's clock.
func (r *replays) blocked(ctx context.Context, m *Measuring) error {
	for range m.Warmup + m.Replays {
		for i := range r.ops {
			s := &r.samples[i]
			s.How = "blocking"
			if err := r.blockedReplay(ctx, m, i, s.Launches); err != nil {
				return err
			}
		}
	}
	return nil
}

// blockedReplay runs one replay of operation i, of a given number of launches.
func (r *replays) blockedReplay(ctx context.Context, m *Measuring, i, launches int) error {
	rounds, waits, each := 1, launches, 1
	switch m.Blocking {
	case WaitAndMeet:
		rounds, waits = launches, 1
	case GroupAndMeet:
		each = max(m.Group, 1)
		rounds, waits = launches/each, 1
	}
	within := make([]time.Duration, len(r.site.lanes))
	begin := time.Now()
	for range rounds {
		if err := r.site.run(ctx, []gpuOp{r.ops[i]}, func(l *lane) error {
			l.at("launches of " + r.ops[i].Name() + " that the host waits for")
			from := time.Now()
			for range waits {
				if err := errors.Join(r.ops[i].start(l, each), l.stream.Sync(ctx)); err != nil {
					return err
				}
			}
			within[r.site.lanes.index(l)] += time.Since(from)
			return nil
		}); err != nil {
			return err
		}
	}
	whole := time.Since(begin)
	for k, l := range r.site.lanes {
		if m.Blocking == WaitAndMeet {
			within[k] = whole
		}
		r.host[l][i] = append(r.host[l][i], within[k])
	}
	return nil
}
