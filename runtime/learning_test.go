package runtime_test

import "testing"

const learnUnit = "consensus/learner.cc"

// learnFaults are changes that make learning wrong.
var learnFaults = []planted{
	{"calls pass the promise", switchUnit, "call > g->limit ? TURN_WAIT : TURN_NCCL", "TURN_NCCL"},
	{"a rank promises fewer calls than it has made", switchUnit, "g->limit = w / PHASES + slack;", "g->limit = slack;"},
	{"the word goes out before all have promised", learnUnit, "j->promised == all_of(ranks)", "j->promised"},
	{"the last promise counts", learnUnit, "if (m.number > j->most) j->most", "j->most"},
	{"the word ignores promises", learnUnit, "j->most = m.number;", "j->most = 0;"},
	{"rank 0 gives itself the word first", learnUnit, "for (u32 r = ranks; r-- > 0;)", "for (u32 r = 0; r < ranks; r++)"},
	{"nobody says never", learnUnit, "enter(j, JUDGE_NEVER);", "(void)j;"},
	{"a rank that has left is asked", learnUnit, "  if (j->stage == JUDGE_GATHERS) enter(j, JUDGE_DONE);", ""},
	{"a rank waits for rank 0, which has left", learnUnit,
		"  l->over = true;\n  gate_outcome(&l->gate, 0, nullptr, 0);\n}\n\nbool", "  l->over = true;\n}\n\nbool"},
	{"a rank that receives LEARN_NEVER waits on", learnUnit, "return gate_outcome(&l->gate, 0, nullptr, 0);", "return;"},
	{"a rank that leaves takes its promise back", learnUnit,
		"j->stage == JUDGE_PROPOSES && !(j->promised & bit(rank))) enter", "j->stage == JUDGE_WORD) enter"},
	{"the slowest is chosen", learnUnit,
		"j->median[k] < j->took[0] - j->took[0] / 50 && j->median[k] < j->took[1]", "true"},
	{"nobody promises", learnUnit, "return l->promised && !l->said_promise;", "return false;"},
}

// TestLearning drives two and three ranks through all orders of calls and of what ranks say to learn the fastest
// program of a class of calls. One leaves, aborts or is killed. No order has ranks that run a call differently, or a
// call that waits for a call of a peer. Each change that makes it wrong is found.
func TestLearning(t *testing.T) {
	explored{"learning", []string{hubUnit, learnUnit, switchUnit}, "3", learnFaults}.try(t)
}
