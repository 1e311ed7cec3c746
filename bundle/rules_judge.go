package bundle

import (
	"cmp"
	"fmt"

	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/epilogue"
	"mscclc/selection"
)

// This file says what of a rule in a file does not go together.

// A rulesJudge judges the entries of a file, and keeps the rules of those that are for bundles.
type rulesJudge struct {
	*selection.Reader
	m *Measured
	// all has the largest calls of rules that are not restricted, 0 for all, by ranks, nodes, collective and launches.
	all map[string]int64
	k   int // the rule of its entry that is judged
}

// entry judges an entry.
func (t *rulesJudge) entry(r *selection.Reader, e *selection.Entry, start strictjson.Pos, whole bool) {
	if t.Reader = r; e.When == "" {
		return
	}
	switch {
	case !whole:
	case e.Inplace || e.On != "" || e.Element != 0 || e.Simulated != "" || e.Unmeasured:
		t.Bad(start, "has \"when\", and with it \"inplace\", \"on\", \"element_bytes\", \"simulated\" or \"unmeasured\"").Hint =
			"rules for bundles are for calls of both placements, and of all types unless they say \"dtype\""
	case t.m.Device != "" && e.Device != t.m.Device && e.Device != "":
		t.Bad(start, "is for %q, and the entries before it are for %q", e.Device, t.m.Device).Hint =
			"a file has rules for bundles of one device"
	}
	t.m.Device = cmp.Or(t.m.Device, e.Device)
	for k := range e.Rules {
		rule := MeasuredRule{Calls{e.Collective, e.Ranks, e.Layout, e.When}, e.Rules[k]}
		if then, err := epilogue.Parse(rule.Then); err == nil && len(then) > 0 {
			rule.Then = then.String() // equal lists are one text from here on
		}
		t.Rule(k, func(start strictjson.Pos, good bool) {
			if t.k = k; good && !t.Full() {
				t.judge(start, &rule)
			}
		})
		e.Layout = rule.Nodes
		t.m.Rules = append(t.m.Rules, rule)
	}
}

// at returns where the rule that is judged, or its entry, has a field; it is where the rule starts where none has it.
func (t *rulesJudge) at(key string) strictjson.Pos {
	at, _ := t.At(t.k, key)
	return at
}

func (t *rulesJudge) has(key string) bool {
	_, ok := t.At(t.k, key)
	return ok
}

// judge says what of the fields of r, which begins at start, does not go together, or not with the rule before.
func (t *rulesJudge) judge(start strictjson.Pos, r *MeasuredRule) {
	kind, _ := ir.KindByName(r.Collective)
	t.judgeCalls(kind, r)
	t.judgeProgram(start, r)
	t.judgeThen(kind, r)
	if t.has("nodes") {
		t.judgeNodes(r)
	}
	if r.Candidate {
		t.judgeCandidate(r)
		return
	}
	calls := fmt.Sprint(r.Ranks, " ", r.Nodes, r.Collective, r.When, r.Bits, r.Then)
	if all, ok := t.all[calls]; ok && some(r.Only) && (all == 0 || r.UpTo > 0 && r.UpTo <= all) {
		t.Bad(start, "is never reached: a rule before it is for all such calls")
	}
	if !some(r.Only) {
		t.all[calls] = r.UpTo
	}
	n := len(t.m.Rules)
	for n > 0 && t.m.Rules[n-1].Candidate {
		n--
	}
	if n > 0 && compareCalls(t.m.Rules[n-1], *r) == 0 && same(t.m.Rules[n-1].Only, r.Only) {
		switch last := t.m.Rules[n-1]; {
		case last.UpTo == 0:
			t.Bad(start, "is never reached: the rule before it has no \"up_to\", and is for all sizes")
		case r.UpTo > 0 && r.UpTo <= last.UpTo:
			t.Bad(start, "is never reached: \"up_to\" is %d, and the rule before it is for sizes up to %d", r.UpTo, last.UpTo)
		}
	}
}

// judgeCandidate says why r can be no candidate.
func (t *rulesJudge) judgeCandidate(r *MeasuredRule) {
	at := t.at("candidate")
	switch {
	case r.Program == NCCL:
		t.Bad(at, "is a candidate, and NCCL's: NCCL is tried beside all candidates").Hint = "leave out the rule"
	case r.Windows:
		t.Bad(at, "is a candidate, and for windows: candidates are for calls between any buffers").Hint = "leave out one of both"
	case r.Nodes != "":
		t.Bad(at, "is a candidate, and for several nodes: communicators over several nodes do not learn")
	}
}

// judgeCalls says which restrictions of r no call of its collective has.
func (t *rulesJudge) judgeCalls(kind ir.Kind, r *MeasuredRule) {
	dtype, typed := data.DTypeByName(r.DType)
	switch {
	case r.RedOp != "" && !kind.Reduces():
		t.Bad(t.at("op"), "has an \"op\", and %s reduces nothing", r.Collective).Hint = "leave it out"
	case typed && kind.Reduces() && !reduced(dtype):
		t.Bad(t.at("dtype"), "is for %s, which %s does not reduce: it is moved only", r.DType, r.Collective)
	case r.Root != nil && !kind.Rooted():
		t.Bad(t.at("root"), "has a \"root\", and %s has none", r.Collective).Hint = "leave it out"
	case r.Root != nil && *r.Root >= r.Ranks:
		t.Bad(t.at("root"), "has root %d, and the ranks are 0 to %d", *r.Root, r.Ranks-1)
	case r.Bits != "":
		t.judgeBits(kind, r)
	case r.Windows && kind.Rooted():
		t.Bad(t.at("windows"), "is for windows, and ranks of a %s may leave out buffers", r.Collective).Hint =
			"rules for windows are for collectives without a root"
	case r.Placement == selection.Direct && !r.Windows:
		t.Bad(t.directAt(), "is direct, and not for windows: no rank knows where other buffers of its peers lie").Hint =
			"add \"windows\":true, or leave out \"direct\", so that the program is staged"
	}
}

// judgeBits says why r cannot be for invariant bits.
func (t *rulesJudge) judgeBits(kind ir.Kind, r *MeasuredRule) {
	at := t.at("bits")
	switch {
	case !kind.Reduces():
		t.Bad(at, "is for invariant bits, and %s sums nothing", r.Collective).Hint = "leave out \"bits\""
	case r.Ranks == 2:
		t.Bad(at, "is for invariant bits, and for 2 ranks, of which all programs give the same").Hint = "leave out \"bits\""
	case r.Program == NCCL:
		t.Bad(at, "is for invariant bits, and NCCL's, whose order of sums depends on the size of a call").Hint =
			"name a program that adds in the order of ranks, as " + r.Collective + "/ordered"
	case r.Candidate:
		t.Bad(at, "is for invariant bits, and a candidate: NCCL runs some of its calls")
	case r.Nodes != "":
		t.Bad(at, "is for invariant bits, and for several nodes: such rules are for one node")
	}
}

// judgeThen says why r can be for no calls with an epilogue.
func (t *rulesJudge) judgeThen(kind ir.Kind, r *MeasuredRule) {
	if r.Then == "" {
		return
	}
	rule := Rule{Kind: kind, RedOp: Any, Then: r.Then, Nodes: r.Nodes, Choice: r.Choice}
	restrict(&rule, r.Only)
	if r.Program == NCCL {
		rule.Program = ""
	}
	if r.Candidate {
		rule.When |= WhenCandidate
	}
	if err := rule.checkThen(); err != nil {
		t.Bad(t.at("then"), "%v", err)
	}
}

// directAt returns where the rule that is read says that it is direct.
func (t *rulesJudge) directAt() strictjson.Pos {
	if t.has("direct") {
		return t.at("direct")
	}
	return t.at("placement")
}

// judgeNodes says why the ranks of r do not lie on nodes as it says, or has it say so in one way for all.
func (t *rulesJudge) judgeNodes(r *MeasuredRule) {
	node, ok := NodesOf(r.Nodes, r.Ranks)
	switch {
	case !ok:
		t.Bad(t.at("nodes"), "has nodes %q of %d ranks", r.Nodes, r.Ranks).Hint =
			"\"nodes\" is a number of nodes with equally many ranks, or the ranks of each: \"2\", or \"4,4\""
	case node == nil:
		t.Bad(t.at("nodes"), "has one node").Hint = "leave out \"nodes\""
	case r.Windows:
		t.Bad(t.at("windows"), "is for windows, which are memory of one node, and for several nodes")
	}
	if ok {
		r.Nodes = choose.NodesText(node)
	}
}

// judgeProgram says what of the program of r, and of the numbers of its launch, cannot be.
func (t *rulesJudge) judgeProgram(start strictjson.Pos, r *MeasuredRule) {
	if r.Program == NCCL {
		for _, key := range selection.Keys() {
			if at, ok := t.At(t.k, key); ok {
				t.Bad(at, "has a %q, which %q does not take", key, NCCL).Hint = "leave it out"
				return
			}
		}
	}
	key, why := r.Unfit()
	switch {
	case r.Program == "":
		t.Bad(start, "names no program, nor %q", NCCL)
	case r.Program != NCCL && !t.has("protocol"):
		t.Bad(start, "needs a \"protocol\" for %q", r.Program)
	case why != "":
		t.Bad(t.at(key), "%s", why)
	case misfit(r.Choice) != "":
		t.Bad(start, "%s", misfit(r.Choice))
	}
}

// some reports whether o restricts a rule to some calls of a job.
func some(o selection.Only) bool {
	o.Bits, o.Then = "", "" // which say of which jobs, and of calls that no other rule is for
	return o != selection.Only{}
}

// same reports whether o restricts a rule as p does.
func same(o, p selection.Only) bool {
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
