package bundle

import (
	"cmp"
	"fmt"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/selection"
)

// This file says what of a rule in a file does not go together.

// judge says what of the fields of r, which begins at start, does not go together, or not with the rule before.
func (t *rulesReader) judge(start strictjson.Pos, r *MeasuredRule) {
	kind, _ := ir.KindByName(r.Collective)
	t.judgeCalls(kind, r)
	t.judgeProgram(start, r)
	if _, ok := t.at["nodes"]; ok {
		t.judgeNodes(r)
	}
	if r.Candidate {
		t.judgeCandidate(r)
		return
	}
	calls := fmt.Sprint(r.Ranks, " ", r.Nodes, r.Collective, r.When)
	if all, ok := t.all[calls]; ok && r.some() && (all == 0 || r.UpTo > 0 && r.UpTo <= all) {
		t.bad(start, "is never reached: a rule before it is for all such calls")
	}
	if !r.some() {
		t.all[calls] = r.UpTo
	}
	n := len(t.m.Rules)
	for n > 0 && t.m.Rules[n-1].Candidate {
		n--
	}
	if n > 0 && compareCalls(t.m.Rules[n-1], *r) == 0 && t.m.Rules[n-1].same(r.Only) {
		switch last := t.m.Rules[n-1]; {
		case last.UpTo == 0:
			t.bad(start, "is never reached: the rule before it has no \"up_to\", and is for all sizes")
		case r.UpTo > 0 && r.UpTo <= last.UpTo:
			t.bad(start, "is never reached: \"up_to\" is %d, and the rule before it is for sizes up to %d", r.UpTo, last.UpTo)
		}
	}
}

// judgeCandidate says why r can be no candidate.
func (t *rulesReader) judgeCandidate(r *MeasuredRule) {
	at := t.at["candidate"]
	switch {
	case r.Program == NCCL:
		t.bad(at, "is a candidate, and NCCL's: NCCL is tried beside all candidates").Hint = "leave out the rule"
	case r.Windows:
		t.bad(at, "is a candidate, and for windows: candidates are for calls between any buffers").Hint = "leave out one of both"
	case r.Nodes != "":
		t.bad(at, "is a candidate, and for several nodes: communicators over several nodes do not learn")
	}
}

// judgeCalls says which restrictions of r no call of its collective has.
func (t *rulesReader) judgeCalls(kind ir.Kind, r *MeasuredRule) {
	dtype, typed := data.DTypeByName(r.DType)
	switch {
	case r.RedOp != "" && !kind.Reduces():
		t.bad(t.at["op"], "has an \"op\", and %s reduces nothing", r.Collective).Hint = "leave it out"
	case typed && kind.Reduces() && !reduced(dtype):
		t.bad(t.at["dtype"], "is for %s, which %s does not reduce: it is moved only", r.DType, r.Collective)
	case r.Root != nil && !kind.Rooted():
		t.bad(t.at["root"], "has a \"root\", and %s has none", r.Collective).Hint = "leave it out"
	case r.Root != nil && *r.Root >= r.Ranks:
		t.bad(t.at["root"], "has root %d, and the ranks are 0 to %d", *r.Root, r.Ranks-1)
	case r.Windows && kind.Rooted():
		t.bad(t.at["windows"], "is for windows, and ranks of a %s may leave out buffers", r.Collective).Hint =
			"rules for windows are for collectives without a root"
	case r.Placement == selection.Direct && !r.Windows:
		t.bad(t.directAt(), "is direct, and not for windows: no rank knows where other buffers of its peers lie").Hint =
			"add \"windows\":true, or leave out \"direct\", so that the program is staged"
	}
}

// directAt returns where the rule that is read says that it is direct.
func (t *rulesReader) directAt() strictjson.Pos {
	if at, ok := t.at["direct"]; ok {
		return at
	}
	return t.at["placement"]
}

// judgeNodes says why the ranks of r do not lie on nodes as it says, or has it say so in one way for all.
func (t *rulesReader) judgeNodes(r *MeasuredRule) {
	node, ok := NodesOf(r.Nodes, r.Ranks)
	switch {
	case !ok:
		t.bad(t.at["nodes"], "has nodes %q of %d ranks", r.Nodes, r.Ranks).Hint =
			"\"nodes\" is a number of nodes with equally many ranks, or the ranks of each: \"2\", or \"4,4\""
	case node == nil:
		t.bad(t.at["nodes"], "has one node").Hint = "leave out \"nodes\""
	case r.Windows:
		t.bad(t.at["windows"], "is for windows, which are memory of one node, and for several nodes")
	}
	if ok {
		r.Nodes = choose.NodesText(node)
	}
}

// judgeProgram says what of the program of r, and of the numbers of its launch, cannot be.
func (t *rulesReader) judgeProgram(start strictjson.Pos, r *MeasuredRule) {
	if r.Program == NCCL {
		for _, key := range selection.Keys() {
			if at, ok := t.at[key]; ok {
				t.bad(at, "has a %q, which %q does not take", key, NCCL).Hint = "leave it out"
				return
			}
		}
	}
	key, why := r.Unfit()
	at := start
	if is, ok := t.at[key]; ok {
		at = is
	}
	switch _, given := t.at["protocol"]; {
	case r.Program == "":
		t.bad(start, "names no program, nor %q", NCCL)
	case r.Program != NCCL && !given:
		t.bad(start, "needs a \"protocol\" for %q", r.Program)
	case why != "":
		t.bad(at, "%s", why)
	case misfit(r.Choice) != "":
		t.bad(start, "%s", misfit(r.Choice))
	}
}

// An Only restricts a rule to some calls. bench measures rules for windows; those with other restrictions are written
// by hand. The zero value restricts nothing.
type Only struct {
	DType   string `json:"dtype,omitempty" doc:"calls of elements of one type; absent: any"`
	RedOp   string `json:"op,omitempty" doc:"calls of one reduction; absent: any"`
	Root    *int   `json:"root,omitempty" doc:"calls of one root; absent: any"`
	Calls   int    `json:"calls,omitempty" doc:"calls in groups of at most so many; absent: any"`
	Windows bool   `json:"windows,omitempty" doc:"calls whose buffers all lie in registered windows"`
	CTAs    int    `json:"ctas,omitempty" doc:"launches of at most so many CTAs; a communicator with fewer takes a later rule"`
}

// some reports whether o restricts a rule.
func (o *Only) some() bool { return *o != Only{} }

// same reports whether o restricts a rule as p does.
func (o Only) same(p Only) bool {
	a, b := -1, -1
	if o.Root != nil {
		a = *o.Root
	}
	if p.Root != nil {
		b = *p.Root
	}
	o.Root, p.Root = nil, nil
	return a == b && o == p
}

// fields reads o.
func (o *Only) fields(t *rulesReader) []strictjson.Field {
	return []strictjson.Field{
		{Key: "dtype", Read: func() { o.DType = t.OneOf(dtypeNames()...) }},
		{Key: "op", Read: func() { o.RedOp = t.OneOf(data.RedOps[:]...) }},
		{Key: "root", Read: func() { o.Root = new(int(t.Uint(0, maxRanks-1))) }},
		{Key: "calls", Read: func() { o.Calls = int(t.Uint(1, 1<<20)) }},
		{Key: "windows", Read: func() { o.Windows = t.Bool() }},
		{Key: "ctas", Read: func() { o.CTAs = int(t.Uint(1, limits.CTAs)) }},
	}
}

// restrict makes a rule one for calls that o names.
func (o *Only) restrict(r *Rule) {
	if t, ok := data.DTypeByName(o.DType); ok {
		r.DType = uint8(t)
	}
	if op, ok := data.RedOpByName(o.RedOp); ok {
		r.RedOp = uint8(op)
	}
	if o.Root != nil {
		r.Root = uint8(min(*o.Root, Any-1)) // Build refuses those that are no ranks
	}
	r.Calls, r.CTAs = o.Calls, o.CTAs
	if o.Windows {
		r.When |= WhenWindows
	}
}

// restricted reports whether a rule is for some calls of its collective only.
func (r *Rule) restricted() bool {
	return r.DType != Any || r.RedOp != Any || r.Root != Any || cmp.Or(r.Calls, r.CTAs, int(r.When&WhenWindows)) != 0
}

func dtypeNames() (names []string) {
	for t := range data.NumDTypes {
		names = append(names, t.String())
	}
	return names
}
