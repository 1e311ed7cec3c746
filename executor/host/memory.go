package host

import (
	"fmt"

	"mscclc/executor"
	"mscclc/executor/shared"
)

// This file is a share's memory. All shares of the host have the same, which the proxy of this process reaches, too.

// Node names what processes must have in common to map each other's memory.
func (d *device) Node() string { return shared.Node() }

// Alloc makes memory.
func (g *gpu) Alloc(bytes int64) (uint64, error) { return shared.Alloc(bytes) }

// Free gives memory back.
func (g *gpu) Free(address uint64) error { return shared.Free(address) }

// Owns says why memory is not of this process.
func (g *gpu) Owns(address uint64, bytes int64) error {
	_, err := shared.View(address, bytes)
	return err
}

// Reaches returns an error for a GPU of another kind.
func (g *gpu) Reaches(to executor.GPU) error {
	if _, ok := to.(*gpu); !ok {
		return fmt.Errorf("%v cannot reach %v, which is no share of the host: %w", g, to, executor.ErrNoDevice)
	}
	return nil
}

// Connect has nothing to do in one process.
func (g *gpu) Connect(to executor.GPU, _ uint64, _ int64) error { return g.Reaches(to) }

// Share makes a handle.
func (g *gpu) Share(address uint64, bytes int64) ([]byte, error) { return shared.Share(address, bytes) }

// Unshare has nothing to end: the file is there as long as the memory.
func (g *gpu) Unshare([]byte) error { return nil }

// Reach maps memory of another process.
func (g *gpu) Reach(handle []byte) (uint64, error) { return shared.Reach(handle, nil) }

// Leave undoes one Reach.
func (g *gpu) Leave(handle []byte) error { return shared.Leave(handle, nil) }

// AllocNet, FreeNet, ShareNet, ReachNet and LeaveNet are Alloc, Free, Share, Reach and Leave.
func (g *gpu) AllocNet(bytes int64) (uint64, error) { return g.Alloc(bytes) }

// FreeNet is Free.
func (g *gpu) FreeNet(address uint64) error { return g.Free(address) }

// ZeroNet zeroes memory.
func (g *gpu) ZeroNet(address uint64, bytes int64) error {
	memory, err := shared.View(address, bytes)
	clear(memory)
	return err
}

// ShareNet is Share.
func (g *gpu) ShareNet(address uint64, bytes int64) ([]byte, error) { return g.Share(address, bytes) }

// ReachNet is Reach.
func (g *gpu) ReachNet(handle []byte) (uint64, error) { return g.Reach(handle) }

// LeaveNet is Leave.
func (g *gpu) LeaveNet(handle []byte) error { return g.Leave(handle) }

// Peek reads beside what runs.
func (g *gpu) Peek(to []byte, address uint64) error {
	from, err := shared.View(address, int64(len(to)))
	copy(to, from)
	return err
}

// Poke writes beside what runs.
func (g *gpu) Poke(address uint64, from []byte) error {
	to, err := shared.View(address, int64(len(from)))
	copy(to, from)
	return err
}
