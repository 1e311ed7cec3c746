package channels

import (
	"fmt"

	"mscclc/ir"
)

// opNames are what operations are called in messages that have no name of their file.
var opNames = [ir.NumChannelOps]string{
	ir.ChMeet: "meet", ir.ChBarrier: "barrier", ir.ChSignal: "signal", ir.ChAwait: "wait",
	ir.ChRelaxedSignal: "relaxed signal",
	ir.ChRelaxedAwait:  "relaxed wait", ir.ChFlush: "flush", ir.ChAcquire: "acquire", ir.ChRelease: "release",
	ir.ChMove: "move",
	ir.ChEach: "move", ir.ChEachSignal: "move and signal", ir.ChEachSignalFlush: "move, signal and flush",
	ir.ChLoop: "loop",
}

// Name names an operation for a message.
func (s source) name(rank int32) string {
	return fmt.Sprintf("rank %d block %d %s", rank, s.block, s.short())
}

// short names an operation of a block.
func (s source) short() string {
	kind := s.what.Name
	if kind == "" && int(s.what.Kind) < len(opNames) {
		kind = opNames[s.what.Kind]
	}
	if s.inner < 0 {
		return fmt.Sprintf("op %d (%s)", s.op, kind)
	}
	if s.turn < 0 {
		return fmt.Sprintf("op %d.%d (%s)", s.op, s.inner, kind)
	}
	return fmt.Sprintf("op %d.%d (%s) in turn %d", s.op, s.inner, kind, s.turn+1)
}
