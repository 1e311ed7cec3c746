package verify_test

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
)

// The shapes that times are measured with: each makes a good program of about n
// steps, up to 2^most.
var scaleShapes = []struct {
	name string
	make func(n int) *either.Program
	most int
}{
	{"ring", func(n int) *either.Program { return irtest.RingProgram(max(2, int(math.Sqrt(float64(n)/2)))) }, 21},
	{"allpairs", func(n int) *either.Program { return allPairs(max(2, int(math.Sqrt(float64(n)/6)))) }, 21},
	{"hierarchical", func(n int) *either.Program { return grid(max(2, int(math.Sqrt(float64(n)/144)))) }, 21},
	{"round trips", roundTrips, 21},
	{"token", func(n int) *either.Program { return token(max(2, int(math.Sqrt(float64(n)/2)))) }, 20},
}

// roundTrips is n/8 round trips from rank 0 by way of two others. Two blocks of
// rank 0 use one chunk of scratch in turn, which the messages alone order.
func roundTrips(n int) *either.Program {
	b := build(3, 1, 2, 1)
	var writer, reader []ir.Step
	for range n / 8 {
		writer = append(writer, step(ir.Copy, ir.Input, 0, ir.Scratch, 0), step(ir.Send, ir.Input, 0, 0, 0),
			step(ir.Recv, 0, 0, ir.Output, 0))
		reader = append(reader, step(ir.Recv, 0, 0, ir.Output, 1), step(ir.Copy, ir.Scratch, 0, ir.Output, 1),
			step(ir.Send, ir.Input, 0, 0, 0))
	}
	b.block(0, 1, 2, writer...)
	b.block(0, 2, 1, reader...)
	for r := 1; r < 3; r++ {
		var back []ir.Step
		for range n / 8 {
			back = append(back, step(ir.RecvCopySend, 0, 0, ir.Output, 0))
		}
		b.block(r, 0, 0, back...)
	}
	return b.done()
}

// token sends a chunk n times round a ring of n ranks, which each receive it
// into one chunk of scratch in one block and send it on in another. That a rank
// has sent it on before it comes again follows from its way through all others.
func token(n int) *either.Program {
	b := build(n, 1, 1, 1)
	for r := range n {
		var in, out []ir.Step
		for k := range n {
			in = append(in, awaited(step(ir.Recv, 0, 0, ir.Scratch, 0)))
			send := after(step(ir.Send, ir.Scratch, 0, 0, 0), 0, k)
			if r == 0 {
				send = after(send, 0, k-1)
			}
			if r == 0 && k == 0 {
				send = step(ir.Send, ir.Input, 0, 0, 0)
			}
			out = append(out, send)
		}
		b.block(r, -1, (r+n-1)%n, in...)
		b.block(r, (r+1)%n, -1, out...)
	}
	return b.done()
}

// allPairs returns an allreduce of n ranks in place, with a block for each peer and
// one that sums: each rank sums a chunk of what all have, and sends the sum to
// all. Six steps for each pair, and a flag for every second.
func allPairs(n int) *either.Program {
	b := allReduce(n, n, n)
	b.p.Coll.Inplace, b.p.Even = true, false
	class := func(s ir.Step, k int) ir.Step {
		s.Class = int32(k)
		return s
	}
	for r := range n {
		var sum []ir.Step
		for q := range n {
			if q == r {
				continue
			}
			block := len(sum)
			b.block(r, q, q,
				class(step(ir.Send, ir.Input, q, 0, 0), q),
				class(awaited(step(ir.Recv, 0, 0, ir.Scratch, q)), r),
				class(after(step(ir.Send, ir.Input, r, 0, 0), n-1, 2*n-4), r),
				class(step(ir.Recv, 0, 0, ir.Input, q), q))
			sum = append(sum, after(step(ir.Nop, 0, 0, 0, 0), block, 1))
		}
		wait := sum[n-2]
		sum = sum[:n-2]
		for q := range n {
			if q != r {
				sum = append(sum, class(step(ir.Reduce, ir.Scratch, q, ir.Input, r), r))
			}
		}
		sum[n-2].DepBlock, sum[n-2].DepStep = wait.DepBlock, wait.DepStep
		sum[len(sum)-1] = awaited(sum[len(sum)-1])
		b.block(r, -1, -1, sum...)
	}
	return b.done()
}

// grid returns an allreduce of nodes times 8 ranks in place: rings within nodes, then
// between those of one place in their nodes, then within nodes again, each in a
// block of its own that waits for the one before. A rank has nodes*8 chunks; the
// first rings leave it sums of nodes of them.
func grid(nodes int) *either.Program {
	const gpus = 8
	b := allReduce(nodes*gpus, gpus*nodes, 0)
	b.p.Coll.Inplace, b.p.Even, b.p.Fifo.Channels = true, false, 2
	for r := range nodes * gpus {
		node, gpu := r/gpus, r%gpus
		rank := func(node, gpu int) int { return (node+nodes)%nodes*gpus + (gpu+gpus)%gpus }
		var scatter, across, gather []ir.Step
		for lane := range nodes {
			for k := range gpus {
				at := (gpu - k - 1 + 2*gpus) % gpus * nodes
				scatter = append(scatter, ringStep(k, gpus-1, at+lane, ir.Send, ir.RecvReduceSend, ir.RecvReduceCopy))
				at = (gpu - k + gpus) % gpus * nodes
				gather = append(gather, ringStep(k, gpus-1, at+lane, ir.Send, ir.RecvCopySend, ir.Recv))
			}
		}
		for k := range nodes {
			across = append(across, ringStep(k, nodes-1, gpu*nodes+(node-k+nodes)%nodes, ir.Send, ir.RecvReduceSend,
				ir.RecvReduceCopySend))
		}
		for k := 1; k < nodes; k++ {
			across = append(across, ringStep(k, nodes-1, gpu*nodes+(node-k+1+nodes)%nodes, 0, ir.RecvCopySend, ir.Recv))
		}
		scatter[len(scatter)-1] = awaited(scatter[len(scatter)-1])
		across[len(across)-1] = awaited(across[len(across)-1])
		across[0] = after(across[0], 0, len(scatter)-1)
		gather[0] = after(gather[0], 1, len(across)-1)
		b.block(r, rank(node, gpu+1), rank(node, gpu-1), scatter...)
		b.block(r, rank(node+1, gpu), rank(node-1, gpu), across...)
		b.block(r, rank(node, gpu+1), rank(node, gpu-1), gather...)
		b.p.Blocks[len(b.p.Blocks)-1].Channel = 1
	}
	return b.done()
}

// ringStep is step k, up to last, of what a rank of a ring does, with a chunk
// in place.
func ringStep(k, last, chunk int, first, middle, end ir.Op) ir.Step {
	op := middle
	switch k {
	case 0:
		op = first
	case last:
		op = end
	}
	s := step(op, ir.Input, chunk, ir.Input, chunk)
	s.Class = int32(chunk)
	return s
}
