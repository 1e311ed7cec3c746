package runtime_test

import (
	"testing"

	"mscclc/internal/covering"
)

const switchUnit = "consensus/switch.cc"

// switchFaults are changes that make the switch from NCCL to programs wrong.
var switchFaults = []planted{
	{"a rank promises fewer calls than it has made", switchUnit, "g->limit = w / PHASES + slack;", "g->limit = slack;"},
	{"calls pass the promise", switchUnit, "call > g->limit ? TURN_WAIT : TURN_NCCL", "TURN_NCCL"},
	{"the least promise counts", switchUnit, "promises[r] > most", "!r || promises[r] < most"},
	{"each rank counts its own promise", switchUnit, "g->from = most + 2;", "g->from = g->limit + 2;"},
	{"programs begin where some call may not be ordered", switchUnit, "most + 2", "most + 1"},
	{"programs begin at the promise", switchUnit, "most + 2", "most"},
	{"who does not hear the word leaves the calls to NCCL", switchUnit, "if (step < 0) return;", "if (step < 0) step = 0;"},
	{"calls wait after a round that comes to nothing", switchUnit, "if (!step) return enter(g, PHASE_NCCL);", "if (!step) return;"},
	{"a lost connection is like a no", rankUnit, "EVENT_LIMIT) ? -1 : 0", "EVENT_LIMIT) ? 0 : 0"},
	{"the word goes out before all have promised", hubUnit, "if (r->waits && !r->gone) return;", "if (r->waits > 1 && !r->gone) return;"},
	{"a vote against is not received", hubUnit, "if (!name.ok && !r->gone && (", "if (false && ("},
	{"the others do not hear of a lost rank", hubUnit, "    lose(m, r, rank);\n    settle(m, r, t);", "    lose(m, r, rank);"},
}

// TestSwitch drives two and three ranks, and four with MSCCLC_TESTS=full, from NCCL to their programs through all
// orders of calls, promises and words. One is killed, cut off, ends or cannot. No order has ranks that run a call
// differently, or a call that waits for a call of a peer. Each change that makes the switch wrong is found.
func TestSwitch(t *testing.T) {
	x := explored{"switch", []string{hubUnit, rankUnit, switchUnit}, "3", switchFaults}
	if covering.Full() {
		x.most = "4"
	}
	x.try(t)
}
