//go:build !cgo || !linux

package nccl

import (
	"fmt"

	"mscclc/executor"
)

// A Library is NCCL, opened.
type Library struct{ Version int }

// A Comm is one rank's communicator.
type Comm struct{ Rank, Ranks int }

var errNone = fmt.Errorf("NCCL needs Linux and cgo, and this mscclc was built without: %w", executor.ErrNoDevice)

// Open opens the library.
func Open(string) (*Library, error) { return nil, errNone }

// InitAll makes the communicators of all ranks.
func (*Library) InitAll([]int) ([]*Comm, error) { return nil, errNone }

// UniqueID makes the identity of a communicator.
func (*Library) UniqueID() ([]byte, error) { return nil, errNone }

// InitRank makes one rank's communicator.
func (*Library) InitRank(int, []byte, int) (*Comm, error) { return nil, errNone }

// Alloc makes memory that can be a window.
func (*Library) Alloc(int64) (uint64, error) { return 0, errNone }

// Free gives memory of Alloc back.
func (*Library) Free(uint64) error { return errNone }

// Window makes memory a symmetric window.
func (*Comm) Window(uint64, int64) error { return errNone }

// Start starts a call a number of times.
func (*Comm) Start(*Call, int) error { return errNone }

// Err returns what went wrong after a call had started.
func (*Comm) Err() error { return errNone }

// Close frees the communicator.
func (*Comm) Close(bool) error { return nil }
