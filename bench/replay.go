package bench

import (
	"context"
	"errors"
	"time"

	"mscclc/executor"
)

// Measure runs operations in turn. All replays of all stand in the streams'
// queues before the first has ended, with events between them: so no launch of a
// graph waits for the host, and each replay begins on all GPUs where the one before
// ended.
func (g *GPUs) Measure(ctx context.Context, ops []Op, m Measuring, check *Call) (samples []Sample, err error) {
	r := &replays{site: g, ops: gpuOps(ops), samples: make([]Sample, len(ops)), graphs: map[*lane][]executor.Graph{},
		host: map[*lane][][]time.Duration{}}
	for _, l := range g.lanes {
		r.graphs[l], r.host[l] = make([]executor.Graph, len(ops)), make([][]time.Duration, len(ops))
	}
	defer func() {
		if err = errors.Join(err, r.close()); !ends(err) {
			err = g.Agree(ctx, err)
		}
	}()
	if err := r.estimate(ctx, &m); err != nil {
		return nil, err
	}
	if m.Blocking != Queued {
		if err := r.blocked(ctx, &m); err != nil {
			return nil, err
		}
	} else {
		if err := g.Agree(ctx, r.capture(ctx, &m)); err != nil {
			return nil, err
		}
		if err := g.run(ctx, r.ops, func(l *lane) error { return r.queue(l, m.Warmup+m.Replays) }); err != nil {
			return nil, err
		}
	}
	if err := r.read(ctx, &m); err != nil || check == nil {
		return r.samples, err
	}
	return r.samples, r.again(ctx, check)
}

// replays are those of one Measure.
type replays struct {
	site    *GPUs
	ops     []gpuOp
	samples []Sample
	graphs  map[*lane][]executor.Graph  // by operation; nil is launched one by one
	host    map[*lane][][]time.Duration // what replays take by the host's clock, by operation
}

// estimate finds how many launches of each operation a replay has. A few launches take far longer than they will among
// many, above all where ranks are processes, which begin one after the other; so it goes on with more until what it
// finds is about what it ran.
func (r *replays) estimate(ctx context.Context, m *Measuring) error {
	for i, o := range r.ops {
		for some := 3; ; some = min(r.samples[i].Launches, mostQueued) {
			took, err := r.trial(ctx, o, some)
			if err != nil {
				return err
			}
			r.samples[i].Launches = m.launches(took / time.Duration(some))
			if some == mostQueued || r.samples[i].Launches <= some+some/4 {
				break
			}
		}
	}
	return nil
}

// trial returns how long a given number of launches of an operation take, of all ranks the slowest.
func (r *replays) trial(ctx context.Context, o gpuOp, launches int) (time.Duration, error) {
	if err := r.site.run(ctx, []gpuOp{o}, func(l *lane) error {
		l.at("a first launch of " + o.Name())
		return errors.Join(o.start(l, 1), l.record(0), o.start(l, launches), l.record(1))
	}); err != nil {
		return 0, err
	}
	times, err := r.counting(ctx, SlowestRank, 1, func(l *lane, _ int) (time.Duration, error) { return l.since(0, 1) })
	if err != nil {
		return 0, err
	}
	return times[0], nil
}

// mostQueued bounds the launches that stand in a stream's queue. A driver's queue holds about a
// thousand. A thread that waits for room there keeps no other from our launches; what the driver and NCCL hold
// meanwhile is theirs. Graphs are not bounded so: of long ones a few fill the queue as well.
const mostQueued = 400

// capture makes a graph of each operation on each GPU, on all at once.
func (r *replays) capture(ctx context.Context, m *Measuring) error {
	for i, o := range r.ops {
		s := &r.samples[i]
		if s.How = "graph"; o.plain() || m.Plain {
			s.How, s.Launches = "plain", min(s.Launches, m.grouped(mostQueued/(m.Warmup+m.Replays)))
			continue
		}
		if err := r.graph(ctx, i, s.Launches); err != nil {
			return err
		}
	}
	return nil
}

// graph makes the graph of operation i, of a given number of launches.
func (r *replays) graph(ctx context.Context, i, launches int) error {
	return r.site.started(ctx, func(l *lane) error {
		l.at("the capture of " + r.ops[i].Name())
		if err := l.stream.Capture(); err != nil {
			return err
		}
		err := r.ops[i].start(l, launches)
		graph, ended := l.stream.EndCapture()
		r.graphs[l][i] = graph
		return errors.Join(err, ended)
	})
}

// queue puts all replays into a lane's stream.
func (r *replays) queue(l *lane, count int) error {
	for k := range count {
		for i := range r.ops {
			err := l.record(k*len(r.ops) + i)
			begin := time.Now()
			if err = errors.Join(err, r.replay(l, i, r.samples[i].Launches)); err != nil {
				return err
			}
			r.host[l][i] = append(r.host[l][i], time.Since(begin))
		}
	}
	return l.record(count * len(r.ops))
}

// replay puts one replay of operation i into a lane's stream: its graph, or a given number of launches one by one.
func (r *replays) replay(l *lane, i, launches int) error {
	if graph := r.graphs[l][i]; graph != nil {
		l.at("a launch of the graph of " + r.ops[i].Name())
		return graph.Launch(l.stream)
	}
	l.at("a launch of " + r.ops[i].Name() + " without a graph")
	return r.ops[i].start(l, launches)
}

// again runs each operation's replay once more, on other data, and checks what it did. A call that does not repeat has
// a replay of one launch.
func (r *replays) again(ctx context.Context, c *Call) (err error) {
	for i, o := range r.ops {
		launches := r.samples[i].Launches
		if !c.Repeats() && launches > 1 {
			launches = 1
			if r.samples[i].How == "graph" {
				if err := r.site.Agree(ctx, errors.Join(r.drop(i), r.graph(ctx, i, launches))); err != nil {
					return err
				}
			}
		}
		r.samples[i].Found, err = placed(ctx, r.site, c, Last, func() error {
			return r.site.run(ctx, []gpuOp{o}, func(l *lane) error { return r.replay(l, i, launches) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read takes the times of the replays that count.
func (r *replays) read(ctx context.Context, m *Measuring) error {
	for i := range r.ops {
		host := func(l *lane, k int) (time.Duration, error) { return r.host[l][i][m.Warmup+k], nil }
		device := func(l *lane, k int) (time.Duration, error) {
			at := (m.Warmup+k)*len(r.ops) + i
			return l.since(at, at+1)
		}
		if m.Blocking != Queued {
			device = host
		}
		times, err := r.counting(ctx, m.Of, m.Replays, device)
		if err != nil {
			return err
		}
		cpu, err := r.counting(ctx, m.Of, m.Replays, host)
		if err != nil {
			return err
		}
		s := &r.samples[i]
		for k := range times {
			times[k], cpu[k] = times[k]/time.Duration(s.Launches), cpu[k]/time.Duration(s.Launches)
		}
		s.Time, s.CPU, s.Each = median(times), median(cpu), times
	}
	return nil
}

// counting takes a given number of measurements of every lane, and of each the one that counts of all ranks.
func (r *replays) counting(ctx context.Context, which Of, count int,
	of func(l *lane, k int) (time.Duration, error)) ([]time.Duration, error) {
	var own [][]time.Duration
	var errs []error
	for _, l := range r.site.lanes {
		times := make([]time.Duration, count)
		errs = append(errs, l.do(ctx, func() (err error) {
			for k := range times {
				var failed error
				times[k], failed = of(l, k)
				err = errors.Join(err, failed)
			}
			return err
		}))
		own = append(own, times)
	}
	all, err := gathered(ctx, r.site, own, errors.Join(errs...))
	if err != nil {
		return nil, err
	}
	return combined(all, which), nil
}

func (r *replays) close() error {
	if r.site.lanes.stuck() {
		return nil
	}
	var errs []error
	for i := range r.ops {
		errs = append(errs, r.drop(i))
	}
	return errors.Join(errs...)
}

// drop closes the graphs of operation i.
func (r *replays) drop(i int) error {
	return r.site.lanes.all(context.Background(), func(l *lane) error {
		graph := r.graphs[l][i]
		if r.graphs[l][i] = nil; graph == nil {
			return nil
		}
		return graph.Close()
	})
}
