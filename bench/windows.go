package bench

import (
	"context"
	"fmt"

	"mscclc/executor"
)

// UseNCCLMemory replaces the buffers by memory of NCCL's, as nccl-tests have it: NCCL registers such memory where calls
// are captured, and is faster then. With windows, each buffer is a symmetric window of the communicators, too. Where
// NCCL has no memory of its own, the error is executor.ErrNotSupported. OpenNCCL comes before it, and no call is ready
// yet.
func (g *GPUs) UseNCCLMemory(ctx context.Context, windows bool) error {
	if g.nccl == nil {
		return fmt.Errorf("NCCL is not open: %w", executor.ErrNotSupported)
	}
	longest := [2]int64{}
	for r := range g.options.Ranks {
		for k, n := range g.longestBuffers(r) {
			longest[k] = max(longest[k], n)
		}
	}
	err := g.started(ctx, func(l *lane) error {
		l.at("making memory of NCCL's")
		for _, i := range l.local {
			for k := range g.memory[i] {
				if err := g.useNCCLMemory(l, &g.memory[i][k], longest[k]+2*guard, windows); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return g.Agree(ctx, err)
}

// useNCCLMemory replaces a buffer by a given number of bytes of NCCL's. If there are none, the buffer stays.
func (g *GPUs) useNCCLMemory(l *lane, b *gpuBuffer, bytes int64, window bool) error {
	address, err := g.nccl.lib.Alloc(bytes)
	if err != nil {
		return err
	}
	old := *b
	*b = gpuBuffer{address: address, nccl: true}
	if err := g.free(l, old); err != nil || !window {
		return err
	}
	return g.nccl.comms[l].Window(address, bytes)
}

// free frees a buffer.
func (g *GPUs) free(l *lane, b gpuBuffer) error {
	if b.nccl {
		return g.nccl.lib.Free(b.address)
	}
	return l.gpu.Free(b.address)
}
