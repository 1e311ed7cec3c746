package bench

import (
	"context"
	"errors"
	"slices"

	"mscclc/executor/data"
)

// lengths returns the bytes of a rank's input and output, and where in one memory they
// begin, if that is what there is.
func lengths(c *Call, rank int) (in, out, inAt, outAt, mem int64) {
	size := int64(c.DType.Size())
	in, out, inAt, outAt, mem = c.Geometry().Buffers(rank)
	return in * size, out * size, inAt * size, outAt * size, mem * size
}

// A gpuBuffer is one that begins and ends with guard bytes.
type gpuBuffer struct {
	address uint64
	nccl    bool // memory of NCCL's
}

// at returns where a call's part begins.
func (b gpuBuffer) at(c *Call) uint64 { return b.address + guard + uint64(c.shift()) }

// alloc makes the buffers, of the longest that any call has.
func (g *GPUs) alloc(ctx context.Context) error {
	g.memory = make([][2]gpuBuffer, len(g.ranks))
	for i, r := range g.ranks {
		for k, n := range g.longestBuffers(r) {
			if err := g.lane[i].do(ctx, func() (err error) {
				g.memory[i][k].address, err = g.lane[i].gpu.Alloc(n + 2*guard)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// longestBuffers returns the bytes of a rank's buffers, of the longest that any call has.
func (g *GPUs) longestBuffers(rank int) (longest [2]int64) {
	for _, c := range g.options.Calls {
		if c.Rows != nil {
			continue // each has memory of its own
		}
		size := int64(c.DType.Size())
		in, out, _, _, mem := c.Geometry().Buffers(rank)
		longest[0] = max(longest[0], in*size+c.shift(), mem*size+c.shift())
		if mem == 0 {
			longest[1] = max(longest[1], out*size+c.shift())
		}
	}
	return longest
}

// addresses returns where a rank's input and output begin.
func (g *GPUs) addresses(c *Call, i int) (in, out uint64) {
	_, _, inAt, outAt, _ := lengths(c, g.ranks[i])
	if c.Coll.Inplace {
		return g.memory[i][0].at(c) + uint64(inAt), g.memory[i][0].at(c) + uint64(outAt)
	}
	return g.memory[i][0].at(c), g.memory[i][1].at(c)
}

// used returns the bytes that a call has of the buffers of a rank.
func used(c *Call, rank int) []int64 {
	in, out, _, _, mem := lengths(c, rank)
	if c.Coll.Inplace {
		return []int64{mem}
	}
	return []int64{in, out}
}

// Place makes inputs random and all else poison.
func (g *GPUs) Place(ctx context.Context, c *Call, round Round) error {
	if c.Rows != nil {
		return g.Agree(ctx, g.rows.place(ctx, round))
	}
	p := g.pattern.of(c, round)
	err := g.lanes.all(ctx, func(l *lane) error {
		for _, i := range l.local {
			if err := g.place(l, p, c, i, round); err != nil {
				return err
			}
		}
		return l.stream.Sync(ctx)
	})
	return g.Agree(ctx, err)
}

// place fills the buffers of one rank: a period from the host, which the GPU then
// doubles.
func (g *GPUs) place(l *lane, p *data.Pattern, c *Call, i int, round Round) error {
	for k, n := range used(c, g.ranks[i]) {
		from, bytes := g.memory[i][k].at(c), n
		if round == First {
			from, bytes = from-guard, n+2*guard
		}
		if bytes == 0 {
			continue
		}
		if err := l.stream.Fill(from, poison, bytes); err != nil {
			return err
		}
	}
	in, _, _, _, _ := lengths(c, g.ranks[i])
	to, _ := g.addresses(c, i)
	first := make([]byte, min(in, p.Period()))
	p.Fill(first, g.ranks[i], 0)
	if len(first) == 0 {
		return nil
	}
	if err := l.stream.Put(to, first); err != nil {
		return err
	}
	for have := int64(len(first)); have < in; {
		n := min(have, in-have)
		if err := l.stream.Copy(to+uint64(have), to, n); err != nil {
			return err
		}
		have += n
	}
	return nil
}

// staged is how many bytes are compared at once.
const staged = 32 << 20

// Check compares outputs with the collective computed directly.
func (g *GPUs) Check(ctx context.Context, c *Call, round Round) (Found, error) {
	per := make([]Found, len(g.ranks))
	var err error
	if c.Rows != nil {
		per[0], err = g.rows.check(ctx)
	} else {
		err = g.checkRanks(ctx, c, round, per)
	}
	all, err := gathered(ctx, g, per, err)
	var found Found
	for _, f := range all {
		found.Checked, found.Wrong, found.Outside = found.Checked+f.Checked, found.Wrong+f.Wrong, found.Outside+f.Outside
	}
	return found, err
}

// checkRanks is Check of the ranks of this process, each by itself.
func (g *GPUs) checkRanks(ctx context.Context, c *Call, round Round, per []Found) error {
	p := g.pattern.of(c, round)
	return g.lanes.all(ctx, func(l *lane) error {
		var stage []byte
		for _, i := range l.local {
			longest := slices.Max(append(used(c, g.ranks[i]), 2*guard))
			stage = slices.Grow(stage[:0], int(min(longest, staged)))[:min(longest, staged)]
			if err := g.check(l, p, c, i, stage, &per[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// check compares one rank's output, and looks at what stands beside its buffers.
func (g *GPUs) check(l *lane, p *data.Pattern, c *Call, i int, stage []byte, found *Found) error {
	shares, err := c.shares(g.ranks[i])
	if err != nil {
		return err
	}
	size := int64(c.DType.Size())
	in, out := g.addresses(c, i)
	if !c.Coll.Inplace {
		// What is input only must be what it was: at least as far as it is staged once.
		n, _, _, _, _ := lengths(c, g.ranks[i])
		got := stage[:min(n, staged)/size*size]
		if err := l.stream.Get(got, in); err != nil {
			return err
		}
		if p.CheckCopy(got, g.ranks[i], 0) > 0 {
			found.Outside++
		}
	}
	for _, s := range shares {
		for at := int64(0); at < s.Elems; {
			n := min(s.Elems-at, staged/size)
			if err := l.stream.Get(stage[:n*size], out+uint64((s.First+at)*size)); err != nil {
				return err
			}
			found.share(p, s, at, stage[:n*size])
			at += n
		}
	}
	for k, n := range used(c, g.ranks[i]) {
		b := g.memory[i][k].at(c) - guard
		if err := errors.Join(l.stream.Get(stage[:guard], b),
			l.stream.Get(stage[guard:2*guard], b+uint64(guard+n))); err != nil {
			return err
		}
		if !poisoned(stage[:2*guard]) {
			found.Outside++
		}
	}
	return nil
}
