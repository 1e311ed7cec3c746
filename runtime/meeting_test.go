package runtime_test

import (
	"testing"

	"mscclc/internal/covering"
)

// The meeting of ranks.
const hubUnit, rankUnit = "consensus/hub.cc", "consensus/rank.cc"

// meetingFaults are changes that make the meeting wrong.
var meetingFaults = []planted{
	{"GO before the last rank has said its part", hubUnit, "if (r->waits && !r->gone) return;", "if (r->waits > 1 && !r->gone) return;"},
	{"a vote against is not received", hubUnit, "if (!name.ok && !r->gone && (", "if (false && ("},
	{"the others do not hear of a lost rank", hubUnit, "    lose(m, r, rank);\n    settle(m, r, t);", "    lose(m, r, rank);"},
	{"a rank that was lost before a round is waited for", hubUnit, "if (m->is[i] != RANK_HERE) lose(m, r, i);", "{}"},
	{"a rank that is lost before all have come is waited for", hubUnit, "return decide(m, properly ? WORD_NO : WORD_FAILED, properly ? NO_LEFT : NO_RANK, t);", "return;"},
	{"the limit of time does nothing", hubUnit, "decide(m, WORD_NO, NO_MISSING, t);", "(void)t;"},
	{"who comes late hears GO", hubUnit, "    tell(m, NOBODY, t);\n    if (m->ranks", "    m->word = WORD_GO, tell(m, NOBODY, t), m->word = WORD_NO;\n    if (m->ranks"},
	{"a rank that cannot reach the hub of its process is waited for", hubUnit, "return decide(m, WORD_NO, NO_RANK, t), m->here > 0;", "return m->here > 0;"},
	{"another version is taken", hubUnit, "if (version != MEETING_VERSION)", "if (false)"},
	{"all hear but one", hubUnit, "    if (r->said[i]) answer(m, r, i, word, t);", "    if (r->said[i] && i) answer(m, r, i, word, t);"},
	{"who is lost after its last yes leaves the calls to NCCL", rankUnit, "default: return ends(s, STAGE_FAILED, ACT_CLOSE);", "default: return ends(s, STAGE_NCCL, ACT_CLOSE);"},
	{"a window is not used after its last yes", rankUnit, "EVENT_LIMIT) ? -1 : 0", "EVENT_LIMIT) ? 0 : 0"},
	{"a forked child goes on", rankUnit, "if (event == EVENT_FORKED) return", "if (false) return"},
	{"who says that it cannot goes on", rankUnit, "event == EVENT_MORE || event == EVENT_CANNOT) return ends(s, STAGE_SAID, ACT_PART)",
		"event == EVENT_MORE) return ends(s, STAGE_SAID, ACT_PART)"},
	{"who ends says nothing", rankUnit, "case EVENT_ENDED: return ends(s, STAGE_NCCL, ACT_LEAVE);", "case EVENT_ENDED: return ends(s, STAGE_NCCL, ACT_NONE);"},
}

// TestMeeting drives the meeting of two to four ranks through all orders of what they send and receive, where one is
// missing, late, killed, cut off, ends, has another version, cannot, or waits too long. No order has ranks that differ
// about who runs a call, or that wait for ever. Each change that makes the meeting wrong is found.
func TestMeeting(t *testing.T) {
	x := explored{"meeting", []string{hubUnit, rankUnit}, "3", meetingFaults}
	if covering.CI() {
		x.most = "4"
	}
	x.try(t)
}
