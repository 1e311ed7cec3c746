// Package measure measures the network between the nodes of a job. As in programs of several nodes, the proxy of each
// process sends the data. But no kernel runs: in place of the kernel, a goroutine writes the rows that tell the proxy
// what to send (kernels/abi/rows_net.h).
package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mscclc/executor/exchange"
	"mscclc/transport"
)

// A Result is what was measured. Times are medians, in microseconds, and bandwidths in GB/s of one direction, the least
// of all pairs of nodes: those of the first node with each other one.
type Result struct {
	Engine   string  // what carried messages, with its transports
	Nodes    int     // of the job
	PerNode  int     // processes of the node that has the fewest
	Latency  float64 // of 8 bytes, half a round trip: the median over pairs of nodes
	Message  float64 // that a proxy takes for a message without data, of many
	One, All float64 // bandwidth of one process to another, and of all pairs of two nodes together
	Copy     float64 // what each process copies of its memory where all of its node do
	ByNode   []Pair  // what was measured between the first node and each other one
}

// A Pair is what was measured between the first node and another.
type Pair struct{ Latency, Message, One, All float64 }

// Errors of jobs in which there is nothing to measure.
var (
	ErrOneProcess = errors.New("it is a job of one process")
	ErrOneNode    = errors.New("all processes are on one node")
)

// How much is sent.
const (
	latencies  = 2000
	messages   = 20000
	chunk      = 1 << 20                // bytes of a message that measures bandwidth
	tries      = 8                      // of these to see how many there may be
	streamTime = 300 * time.Millisecond // that they are to take
	mostChunks = 4096
	copyBytes  = 32 << 20
)

// Run measures. All processes of the exchange call it. node has the node of each process, as executor.NodesOf has it.
// limit is how long it may take to reach all other nodes, and how long a message may take. Run fails in all processes
// where one fails, or is gone.
func Run(ctx context.Context, x *exchange.Member, node []int, limit time.Duration) (*Result, error) {
	if len(node) < 2 {
		return nil, ErrOneProcess
	}
	if slices.Max(node) == 0 {
		return nil, ErrOneNode
	}
	e, err := newEnd(x, node)
	e.limit = limit
	defer e.close()
	if err := e.connect(ctx, err); err != nil {
		return nil, err
	}
	r := &Result{Engine: e.engine, Nodes: slices.Max(node) + 1, PerNode: len(node)}
	for n := range r.Nodes {
		r.PerNode = min(r.PerNode, len(e.of(n)))
	}
	for n := 1; n < r.Nodes; n++ {
		p, err := e.pair(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("between node 0 and node %d: %w", n, err)
		}
		r.ByNode = append(r.ByNode, p)
	}
	if r.Copy, err = e.copies(ctx); err != nil {
		return nil, err
	}
	r.sum()
	return r, nil
}

// sum makes one figure of those of all pairs.
func (r *Result) sum() {
	var latency, message []float64
	r.One, r.All = r.ByNode[0].One, r.ByNode[0].All
	for _, p := range r.ByNode {
		latency, message = append(latency, p.Latency), append(message, p.Message)
		r.One, r.All = min(r.One, p.One), min(r.All, p.All)
	}
	r.Latency, r.Message = median(latency), median(message)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// pair measures between the first node and another.
func (e *end) pair(ctx context.Context, n int) (p Pair, err error) {
	first, other := e.of(0), e.of(n)
	if p.Latency, err = e.phase(ctx, first[:1], other[:1], e.latency); err != nil {
		return p, err
	}
	if p.Message, err = e.phase(ctx, first[:1], other[:1], e.messages); err != nil {
		return p, err
	}
	if p.One, err = e.bandwidth(ctx, first[:1], other[:1]); err != nil {
		return p, err
	}
	both := min(len(first), len(other))
	p.All, err = e.bandwidth(ctx, first[:both], other[:both])
	return p, err
}

// bandwidth has processes of two nodes send, each to one, and gives the sum of what they reach.
func (e *end) bandwidth(ctx context.Context, from, to []int) (float64, error) {
	few := func(peer int, sends bool) (float64, error) { return e.stream(peer, sends, tries) }
	rate, err := e.phase(ctx, from, to, few)
	if err != nil {
		return 0, err
	}
	count := int(rate * 1e9 * streamTime.Seconds() / chunk / float64(len(from)))
	count = min(max(count, tries), mostChunks)
	return e.phase(ctx, from, to, func(peer int, sends bool) (float64, error) { return e.stream(peer, sends, count) })
}

// phase has the processes of `from` do something with those of `to`, one with one, and gives the sum of what the former
// say, in all processes.
func (e *end) phase(ctx context.Context, from, to []int, do action) (float64, error) {
	if _, err := exchange.Agree(ctx, e.x, 0, ctx.Err()); err != nil { // nobody begins before all have come
		return 0, err
	}
	var is float64
	var err error
	if k := slices.Index(from, e.me); k >= 0 {
		is, err = do(to[k], true)
	} else if k := slices.Index(to, e.me); k >= 0 {
		_, err = do(from[k], false)
	}
	all, err := exchange.Agree(ctx, e.x, is, err)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum, nil
}

// An action is what a process does with another, of which one sends and the other receives.
type action func(peer int, sends bool) (float64, error)

// latency is half of what a message of 8 bytes takes there and back.
func (e *end) latency(peer int, begins bool) (float64, error) {
	var took []float64
	for range latencies {
		begun := time.Now()
		if begins {
			e.send(peer, 8)
		}
		if err := e.await(peer, data); err != nil {
			return 0, err
		}
		if !begins {
			e.send(peer, 8)
		}
		took = append(took, float64(time.Since(begun).Nanoseconds())/2e3)
	}
	return median(took), nil
}

// messages returns what each of many messages without data takes.
func (e *end) messages(peer int, begins bool) (float64, error) {
	begun := time.Now()
	if !begins {
		e.got[credit][peer] += messages - 1
		if err := e.await(peer, credit); err != nil {
			return 0, err
		}
		e.credit(peer)
		return 0, nil
	}
	for range messages {
		e.credit(peer)
		if err := e.alive(); err != nil {
			return 0, err
		}
	}
	if err := e.await(peer, credit); err != nil {
		return 0, err
	}
	return float64(time.Since(begun).Nanoseconds()) / 1e3 / messages, nil
}

// stream sends chunks one way, and gives GB/s.
func (e *end) stream(peer int, sends bool, count int) (float64, error) {
	begun := time.Now()
	for i := range count {
		switch {
		case !sends:
			if err := e.await(peer, data); err != nil {
				return 0, err
			}
			e.credit(peer)
			continue
		case i >= depth:
			if err := e.await(peer, credit); err != nil {
				return 0, err
			}
		}
		e.send(peer, chunk)
	}
	for range min(count, depth) {
		if !sends {
			return 0, nil
		}
		if err := e.await(peer, credit); err != nil {
			return 0, err
		}
	}
	return float64(count) * chunk / time.Since(begun).Seconds() / 1e9, nil
}

// copies returns what each process copies while all do: the least.
func (e *end) copies(ctx context.Context) (float64, error) {
	from, to := make([]byte, copyBytes), make([]byte, copyBytes)
	copy(to, from)
	if _, err := exchange.Agree(ctx, e.x, 0, nil); err != nil {
		return 0, err
	}
	var rates []float64
	for range 5 {
		begun := time.Now()
		copy(to, from)
		rates = append(rates, copyBytes/time.Since(begun).Seconds()/1e9)
	}
	all, err := exchange.Agree(ctx, e.x, median(rates), nil)
	if err != nil {
		return 0, err
	}
	return slices.Min(all), nil
}

// carrier returns the proxy of this process, and what it says of itself.
func (e *end) carrier() (*transport.Proxy, string, error) {
	p, err := transport.Shared("", e.x.Cards(), "")
	if err != nil {
		return nil, "", err
	}
	is, err := p.Properties()
	return p, is.Name, err
}
