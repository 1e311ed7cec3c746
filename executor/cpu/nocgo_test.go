//go:build !cgo

package cpu

import (
	"errors"
	"testing"

	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

// TestWithoutCgo says that the device needs cgo.
func TestWithoutCgo(t *testing.T) {
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1}},
		Rank:   []ir.Range{{}}}})
	if _, err := executor.Load(p,
		executor.Options{Device: Device(), Unproven: true}); !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
}
