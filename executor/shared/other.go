//go:build !linux

package shared

import (
	"fmt"
	"runtime"

	"mscclc/executor"
)

// Supported says why this system has no such memory.
func Supported() error {
	return fmt.Errorf("memory that processes share needs Linux, and this is %s: %w", runtime.GOOS, executor.ErrNotSupported)
}

func newPiece(int64) (*piece, error) { return nil, Supported() }

func (p *piece) free() error { return Supported() }

// Machine is of Linux.
func Machine() string { return "" }

// Node is of Linux.
func Node() string { return "" }

// Share is of Linux.
func Share(uint64, int64) ([]byte, error) { return nil, Supported() }

// Reach is of Linux.
func Reach([]byte, func([]byte) error) (uint64, error) { return 0, Supported() }

// Leave is of Linux.
func Leave([]byte, func([]byte) error) error { return Supported() }

func ownSpace() (bytes int64, limited bool) { return 0, false }
