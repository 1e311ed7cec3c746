//go:build !linux

package host

import (
	"fmt"
	"runtime"

	"mscclc/executor"
)

func supported() error {
	return fmt.Errorf("processes on the CPU need Linux, and this is %s: %w", runtime.GOOS, executor.ErrNotSupported)
}

func newPiece(int64) (*piece, error) { return nil, supported() }

func (p *piece) free() error { return supported() }

// Share is of Linux.
func (g *gpu) Share(uint64, int64) ([]byte, error) { return nil, supported() }

// Unshare is of Linux.
func (g *gpu) Unshare([]byte) error { return supported() }

// Reach is of Linux.
func (g *gpu) Reach([]byte) (uint64, error) { return 0, supported() }

// Leave is of Linux.
func (g *gpu) Leave([]byte) error { return supported() }
