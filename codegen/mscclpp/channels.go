package mscclpp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/form"
)

// collectives are the collectives that MSCCL++ names. What the last three must hold at the end their files do not say.
var collectives = []string{"allreduce", "allgather", "reducescatter", "alltoall", "sendrecv", "test", "custom"}

// Channels follows all ids of f and returns what it means. It reports up to 20 errors, as Read does: it is the half
// of it that does not look at text.
func (f *Plan) Channels(opt codegen.ReadOptions) (*ir.ChannelProgram, error) {
	x := &resolver{f: f, opt: opt, gpu: -1, block: -1, op: -1, inner: -1,
		p: &ir.ChannelProgram{Ranks: make([]ir.ChannelRank, len(f.GPUs))}}
	x.header()
	for g := range f.GPUs {
		x.gpu = g
		x.rank(&f.GPUs[g], &x.p.Ranks[g])
	}
	x.gpu = -1
	if len(x.found) == 0 {
		x.bounds()
		x.pairs()
		x.groups()
	}
	if len(x.found) == 0 {
		for g := range f.GPUs {
			x.gpu = g
			x.blocks(&f.GPUs[g], &x.p.Ranks[g])
		}
	}
	if found := x.found.Folded(); len(found) > 0 {
		return nil, found
	}
	return x.p, nil
}

// A resolver makes a program of a plan, a rank, block and operation at a time.
type resolver struct {
	f     *Plan
	p     *ir.ChannelProgram
	opt   codegen.ReadOptions
	most  form.Bounds // of a file with a given number of operations
	found diag.List
	moved int64 // chunks

	gpu, block, op, inner int // where it is; -1 for none

	// Of the block:
	channels [ir.NumChannelTypes][]int32 // the rank's channels, as the block numbers them
	remote   [2][]int32                  // the rank's remote buffers, by type
	loop     bool
}

// say notes an error at at; suffix goes on from where x is.
func (x *resolver) say(code diag.Code, at Pos, suffix, format string, args ...any) *diag.Diagnostic {
	if x.full() {
		return &diag.Diagnostic{}
	}
	d := diag.New(code, x.f.span(at), "%s: %s", cmp.Or(x.path(suffix), "plan"), fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = x.gpu, x.block, x.op
	x.found = append(x.found, d)
	return &x.found[len(x.found)-1]
}

func (x *resolver) full() bool { return len(x.found) >= diag.MaxUnfolded }

func (x *resolver) path(suffix string) string {
	var b strings.Builder
	for _, p := range []struct {
		key   string
		index int
	}{{"gpus", x.gpu}, {"threadblocks", x.block}, {"ops", x.op}, {"ops", x.inner}} {
		if p.index >= 0 {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(indexed(p.key, p.index))
		}
	}
	if suffix != "" && b.Len() > 0 {
		b.WriteByte('.')
	}
	return b.String() + suffix
}

func indexed(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

// Sizes returns the message sizes that f is for.
func (f *Plan) Sizes() ir.SizeRange {
	r := ir.SizeRange{Min: int64(min(f.MinBytes, math.MaxInt64))}
	if f.MaxBytes < math.MaxInt64 {
		r.Max = int64(f.MaxBytes) + 1
	}
	return r
}

func (x *resolver) header() {
	f, p := x.f, x.p
	p.Threads, p.Align, p.DoubleScratch, p.Reuse, p.MinBytes, p.MaxBytes = int(f.Threads), int(f.Alignment), f.Double,
		f.Reuse, f.MinBytes, f.MaxBytes
	p.Name, p.RanksPerNode, p.Declaration = f.Name, len(f.GPUs), f.span(f.At)
	if f.Protocol == "LL" {
		p.Protocol = ir.LL
	}
	if f.MinBytes > f.MaxBytes {
		x.say(diag.Malformed, Pos{}, "max_message_size", "is less than min_message_size: no size is between them")
		return
	}
	if f.Alignment == 0 {
		x.say(diag.MSCCLPPZero, Pos{}, "buffer_alignment", "is 0: the executor divides by it, and the process ends")
		return
	}
	if f.MaxBytes == 0 {
		x.say(diag.Malformed, Pos{}, "max_message_size", "is 0: the plan is for no message")
		return
	}
	p.Sizes = f.Sizes()
	switch n := len(f.GPUs); {
	case n == 0:
		x.say(diag.Malformed, Pos{}, "gpus", "the plan has no ranks")
	case n > codegen.MaxRanks:
		x.say(diag.Limit, Pos{}, "gpus", "the plan has %d ranks, at most %d are read", n, codegen.MaxRanks)
	default:
		x.collective()
	}
}

// collective makes the collective of the plan's name for it and of the chunks that its ranks have.
func (x *resolver) collective() {
	f, n := x.f, len(x.f.GPUs)
	c := &ir.Collective{Ranks: n, Inplace: f.InPlace, Kind: ir.Opaque}
	x.p.Coll = c
	for i := range f.GPUs {
		c.In, c.Out = max(c.In, int(f.GPUs[i].Input)), max(c.Out, int(f.GPUs[i].Output))
		x.divides(i)
	}
	if len(x.found) > 0 {
		return
	}
	kind, known := ir.KindByName(f.Collective)
	if !known || kind > ir.AllToAll {
		c.Chunks, c.PerRank = max(c.In, c.Out), make([][2]int32, n)
		for i := range f.GPUs {
			c.PerRank[i] = [2]int32{f.GPUs[i].Input, f.GPUs[i].Output}
		}
		return
	}
	most, pieces := max(c.In, c.Out), n // chunks of the larger buffer, and its pieces
	if kind == ir.AllReduce {
		pieces = 1
	}
	if most%pieces != 0 {
		x.say(diag.Malformed, f.GPUs[0].At, "gpus[0]", "%s has %d chunks, no multiple of its %d ranks", f.Collective, most, n)
		return
	}
	c.Kind, c.In, c.Out, c.Chunks = kind, 0, 0, most/pieces
	for i := range f.GPUs {
		x.buffers(i, c)
	}
}

// divides checks that a rank has input chunks and output chunks: whenever the executor loads a plan for a size, it
// divides by both (ExecutionPlan::Impl::checkMessageSize in execution_plan.cc), also where the rank uses one buffer.
func (x *resolver) divides(rank int) {
	g := &x.f.GPUs[rank]
	x.gpu = rank
	for _, chunks := range []struct {
		key string
		n   int32
	}{{"input_chunks", g.Input}, {"output_chunks", g.Output}} {
		if chunks.n == 0 {
			x.say(diag.MSCCLPPZero, g.At, chunks.key, "is 0: the executor divides by it, and the process ends")
		}
	}
	x.gpu = -1
}

// buffers checks a rank's chunks against the collective's.
func (x *resolver) buffers(rank int, c *ir.Collective) {
	g := &x.f.GPUs[rank]
	x.gpu = rank
	if in := c.InChunks(rank); int(g.Input) != in {
		x.say(diag.Malformed, g.At, "input_chunks", "is %d where %s has %d", g.Input, c, in)
	}
	if out := c.OutChunks(rank); int(g.Output) != out {
		x.say(diag.Malformed, g.At, "output_chunks", "is %d where %s has %d", g.Output, c, out)
	}
	x.gpu = -1
}

// rank reads the tables of a rank; its blocks follow when those of all ranks are known.
func (x *resolver) rank(g *GPU, r *ir.ChannelRank) {
	r.In, r.Out, r.Scratch, r.Semaphores = g.Input, g.Output, g.Scratch, g.Semaphores
	if int(g.ID) != x.gpu {
		x.say(diag.Malformed, g.At, "id", "is %d, and stands at %d: the executor takes the place for the rank", g.ID, x.gpu)
	}
	for i := range g.Channels {
		x.rankChannels(&g.Channels[i], indexed("channels", i), r)
	}
	if n := len(r.Channels[ir.PortChannel]); n > MaxPorts {
		x.say(diag.Limit, g.At, "channels", "the rank has %d port channels, where %d are the most", n, MaxPorts)
	}
	ports := 3
	for i := range g.Remote {
		b := &g.Remote[i]
		switch {
		case x.full():
			return
		case int(b.Rank) >= len(x.f.GPUs):
			x.say(diag.OutOfBounds, b.At, indexed("remote_buffers", i), "rank %d is beyond the last of %d ranks", b.Rank,
				len(x.f.GPUs))
		case len(b.Access) == 0:
			x.say(diag.Malformed, b.At, indexed("remote_buffers", i)+".access_channel_types",
				"the buffer is reached through no type of channel")
		}
		if slices.Contains(b.Access, "port") {
			ports++
		}
	}
	if ports > MaxPortMemory {
		x.say(diag.Limit, g.At, "remote_buffers", "%d are reached through ports, where %d are the most", ports-3,
			MaxPortMemory-3)
	}
}

// rankChannels reads channels of a rank. A channel to the rank itself is its own other end: Communicator::connect and
// buildSemaphore (communicator.cc) make a connection to the own rank, and send that the semaphore which it has made.
func (x *resolver) rankChannels(c *Channels, path string, r *ir.ChannelRank) {
	t := channelTypeByName(c.Type)
	if n := len(r.Channels[t]) + len(c.Peers) + len(c.Groups); n > form.MaxChannels {
		x.say(diag.Limit, c.At, path, "the rank has %d %s channels, at most %d are read", n, c.Type, form.MaxChannels)
		return
	}
	for i, peer := range c.Peers {
		switch {
		case x.full():
			return
		case int(peer) >= len(x.f.GPUs):
			x.say(diag.OutOfBounds, c.At, path+"."+indexed("connected_to", i), "rank %d is beyond the last of %d ranks",
				peer, len(x.f.GPUs))
		}
		r.Channels[t] = append(r.Channels[t], ir.Channel{Peer: peer})
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		at := path + "." + indexed("rank_groups", i)
		sorted := slices.Sorted(slices.Values(g.Ranks))
		switch {
		case x.full():
			return
		case int(g.Size) != len(g.Ranks):
			x.say(diag.Malformed, c.At, at+".size", "is %d, and there are %d ranks", g.Size, len(g.Ranks))
		case len(g.Ranks) < 2:
			x.say(diag.Malformed, c.At, at+".ranks", "a switch channel has two ranks or more")
		case int(sorted[len(sorted)-1]) >= len(x.f.GPUs):
			x.say(diag.OutOfBounds, c.At, at+".ranks", "rank %d is beyond the last of %d ranks", sorted[len(sorted)-1],
				len(x.f.GPUs))
		case len(slices.Compact(sorted)) != len(g.Ranks):
			x.say(diag.Malformed, c.At, at+".ranks", "a rank stands twice")
		case !slices.Contains(g.Ranks, int32(x.gpu)):
			x.say(diag.Malformed, c.At, at+".ranks", "the rank itself is not among them")
		default:
			r.Channels[t] = append(r.Channels[t], ir.Channel{Group: g.Ranks, Buf: bufByLetter(c.Buffer[0])})
		}
	}
}

// bounds checks that the chunks of all ranks are no more than are read.
func (x *resolver) bounds() {
	ops, cells := 0, int64(0)
	for i := range x.f.GPUs {
		g := &x.f.GPUs[i]
		cells += int64(g.Input) + int64(g.Output) + int64(g.Scratch)
		for b := range g.Blocks {
			ops += len(g.Blocks[b].Ops)
		}
	}
	x.most = x.opt.Bounds(ops)
	if cells > x.most.Cells {
		x.say(diag.Limit, Pos{}, "gpus", "the ranks' buffers have %d chunks, at most %d are read", cells,
			x.most.Cells).Hint = diag.LimitHint("cells", cells)
	}
}
