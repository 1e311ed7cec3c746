package bundle

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// This file is a rule of a bundle: what it is made of, its row, and what readers see of the row.

// A Rule says what runs calls of a collective on a given number of ranks. The first rule that fits a call counts. A
// rule does not fit where its launch needs more CTAs than the communicator has.
type Rule struct {
	Kind  ir.Kind
	Ranks int
	Nodes string // how the ranks lie on several nodes, as NodesOf reads it; "" is one node

	// DType, RedOp and Root are numbers of data and a rank, or Any. A program with a root and Any stands for one rule
	// and one program for each root.
	DType, RedOp, Root uint8

	// Then is the epilogue of calls that the rule is for, as epilogue.List.String writes it; "" is calls without one. The
	// program is compiled with it, in place of the one in its file.
	Then string

	// Invariant says that the rule is for sums of jobs that want the same bits for all sizes, and for no others. Its
	// program adds in the order of ranks.
	Invariant bool

	When  uint8 // WhenEager, WhenCaptured, WhenWindows, WhenCandidate, WhenApart
	Calls int   // the most calls that the call's group has; 0 is any number
	UpTo  int64 // the most bytes of a call, as nccl-tests counts them; 0 is any number

	// Choice is what runs the call. Its program is of the catalog, such as allreduce/ring, or of Spec.Own; it is "" where
	// NCCL runs the call. The program is staged unless its placement is Direct, which needs WhenWindows. Where numbers of
	// the width are 0, a launch has as many replicas as there are CTAs for, a block limits.Threads threads, and a tile
	// has executor.PlanTile bytes.
	selection.Choice

	// CTAs is how many CTAs a launch has at most; 0 is Spec.CTAs. A communicator with fewer takes a later rule.
	CTAs int

	// BuiltIn says that the rule is none of the user's. Where memory is short, such rules give way (Spec.Notify).
	BuiltIn bool

	Span   diag.Span  // where a file has the rule; errors name it
	micros [2]float64 // what was measured of the largest calls: the program's time, and NCCL's; 0 is unknown
}

// Candidate reports whether nobody measured r, so that the library learns whether its program is faster than NCCL.
func (r *Rule) Candidate() bool { return r.When&WhenCandidate != 0 }

// Forward returns the rule that has NCCL run all calls of a collective.
func Forward(kind ir.Kind, ranks int) Rule {
	return Rule{Kind: kind, Ranks: ranks, DType: Any, RedOp: Any, Root: Any, When: WhenEager | WhenCaptured}
}

func (r *Rule) check() error {
	switch _, why := r.Unfit(); {
	case !slices.Contains(Kinds, r.Kind):
		return fmt.Errorf("a bundle has no rules for %v", r.Kind)
	case r.DType != Any && r.DType >= uint8(data.NumDTypes) || r.RedOp != Any && r.RedOp >= uint8(data.NumRedOps):
		return fmt.Errorf("no element type %d or reduction %d", r.DType, r.RedOp)
	case r.Root != Any && int(r.Root) >= r.Ranks:
		return fmt.Errorf("rank %d of %d is no root", r.Root, r.Ranks)
	case r.When&(WhenEager|WhenCaptured) == 0 || r.When > whenAll:
		return fmt.Errorf("no launches are %#x", r.When)
	case r.Candidate() && (r.Program == "" || r.When&WhenWindows != 0 || r.Nodes != ""):
		return fmt.Errorf("a candidate is a program for any buffers, between ranks of one node")
	case r.When&WhenWindows != 0 && r.Kind.Rooted():
		return fmt.Errorf("no rule of %v is for windows: ranks of such a call may leave out buffers", r.Kind)
	case r.When&WhenApart != 0 && (r.When&(WhenWindows|WhenCandidate) != 0 || r.Nodes != "" || r.Invariant):
		return fmt.Errorf("a rule for GPUs that are apart is for any buffers of one node, and no candidate")
	case r.Placement == selection.Direct && (r.When&WhenWindows == 0 || r.Program == ""):
		return fmt.Errorf("a direct program reaches buffers of other ranks, which must lie in windows")
	case r.Nodes != "" && !r.spread():
		return fmt.Errorf("%d ranks do not lie on several nodes as %q", r.Ranks, r.Nodes)
	case r.Nodes != "" && r.When&WhenWindows != 0:
		return fmt.Errorf("windows are memory that ranks of one node reach, and the rule is for several nodes")
	case r.Invariant && (r.Ranks == 2 || r.Program == "" || r.Candidate() || r.Nodes != "" || !r.Kind.Reduces()):
		return fmt.Errorf("a rule for invariant bits has a program that sums among 3 ranks or more of one node, and is no candidate")
	case why != "":
		return fmt.Errorf("the rule %s", why)
	case misfit(r.Choice) != "":
		return fmt.Errorf("the rule %s", misfit(r.Choice))
	case r.CTAs < 0 || r.CTAs > limits.CTAs:
		return fmt.Errorf("no launch has %d CTAs", r.CTAs)
	case r.Calls < 0 || r.UpTo < 0:
		return fmt.Errorf("%d calls or %d bytes are out of range", r.Calls, r.UpTo)
	}
	return r.checkThen()
}

// misfit says what of a choice no rule of a bundle has, as a message goes on after the name of the rule. It is empty
// where that is nothing.
func misfit(c selection.Choice) string {
	switch {
	case c.Sided != selection.OneSided:
		return fmt.Sprintf(`has "sided": %q, and bundles compile programs as one-sided`, c.Sided)
	case c.Via != ir.ViaAny:
		return fmt.Sprintf(`has "via": %q, and no rule of a bundle says so`, c.Via)
	}
	return ""
}

// roots returns the roots for which a rule becomes a row.
func (r *Rule) roots() []int {
	if r.Program == "" || !r.Kind.Rooted() || r.Root != Any {
		return []int{int(r.Root)}
	}
	list := make([]int, r.Ranks)
	for i := range list {
		list[i] = i
	}
	return list
}

// row returns the row of r for a root, without its program.
func (r *Rule) row(root int) RuleRow {
	row := RuleRow{Kind: uint8(r.Kind), DType: r.DType, RedOp: r.RedOp, Root: uint8(root), When: r.When,
		Calls: uint32(r.Calls), Program: NCCLRow, UpTo: math.MaxUint64}
	if r.UpTo > 0 {
		row.UpTo = uint64(r.UpTo)
	}
	if r.Then != "" {
		row.When |= WhenThen
	}
	return row
}

// restrict makes a rule one for the calls that o names.
func restrict(r *Rule, o selection.Only) {
	if t, ok := data.DTypeByName(o.DType); ok {
		r.DType = uint8(t)
	}
	if op, ok := data.RedOpByName(o.RedOp); ok {
		r.RedOp = uint8(op)
	}
	if o.Root != nil {
		r.Root = uint8(min(*o.Root, Any-1)) // Build refuses those that are no ranks
	}
	r.Calls, r.CTAs, r.Invariant, r.Then = o.Calls, o.CTAs, o.Bits != "", o.Then
	if o.Windows {
		r.When |= WhenWindows
	}
	if o.Apart {
		r.When |= WhenApart
	}
}

// restricted reports whether a rule is for some calls of its collective only.
func (r *Rule) restricted() bool {
	return r.DType != Any || r.RedOp != Any || r.Root != Any || r.Then != "" ||
		cmp.Or(r.Calls, r.CTAs, int(r.When&(WhenWindows|WhenApart))) != 0
}

// restriction says of which calls of its collective and launches r is, beside their sizes, as a message goes on. It is
// empty where r is for all of them, and the same for two rules that are for the same calls.
func (r *RuleRow) restriction() (text string) {
	for _, of := range []struct {
		value uint8
		name  func() string
	}{{r.DType, func() string { return data.DType(r.DType).String() }},
		{r.RedOp, func() string { return data.RedOp(r.RedOp).String() }},
		{r.Root, func() string { return fmt.Sprintf("root %d", r.Root) }}} {
		if of.value != Any {
			text += ", " + of.name()
		}
	}
	if r.Calls > 0 {
		text += fmt.Sprintf(", in groups of up to %s", diag.Counted(int(r.Calls), "call"))
	}
	if r.When&WhenWindows != 0 {
		text += ", in windows"
	}
	if r.When&WhenApart != 0 {
		text += ", of GPUs that are apart"
	}
	if r.When&WhenThen != 0 {
		text += ", with an epilogue"
	}
	return text
}

// A RuleInfo describes a rule.
type RuleInfo struct {
	Collective string `json:"collective"`
	DType      string `json:"dtype,omitempty" doc:"absent: any"`
	RedOp      string `json:"op,omitempty" doc:"absent: any"`
	Root       *int   `json:"root,omitempty" doc:"absent: any"`
	Eager      bool   `json:"eager"`
	Captured   bool   `json:"captured"`
	Windows    bool   `json:"windows,omitempty" doc:"only calls whose buffers lie in registered windows"`
	Apart      bool   `json:"apart,omitempty" doc:"only calls among GPUs that do not reach each other's memory"`
	Candidate  bool   `json:"candidate,omitempty" doc:"nobody measured it: the library learns whether it is faster than NCCL"`
	Then       string `json:"then,omitempty" doc:"only calls with this epilogue; absent: only calls without one"`
	Calls      uint32 `json:"calls,omitempty" doc:"the most calls of a group; absent: any number"`
	Named      bool   `json:"named,omitempty" doc:"only calls of the program by its name"`
	UpTo       uint64 `json:"up_to,omitempty" doc:"calls of up to this many bytes; absent: all above"`
	Program    string `json:"program" doc:"its title, or nccl"`
	Number     *int   `json:"number,omitempty" doc:"of the program in the bundle"`
	Replicas   uint32 `json:"replicas,omitempty"`
	CTAs       uint32 `json:"ctas,omitempty" doc:"of a launch; communicators with fewer take a later rule"`
	Threads    uint32 `json:"threads,omitempty" doc:"of a thread block"`
	Tile       uint64 `json:"tile,omitempty" doc:"bytes of a chunk that a replica moves in a tile iteration"`
}

func (b *Bundle) ruleInfo(r *RuleRow) RuleInfo {
	out := RuleInfo{Collective: ir.Kind(r.Kind).String(), Eager: r.When&WhenEager != 0, Captured: r.When&WhenCaptured != 0,
		Windows: r.When&WhenWindows != 0, Apart: r.When&WhenApart != 0, Named: r.When&WhenNamed != 0,
		Candidate: r.When&WhenCandidate != 0, Calls: r.Calls, UpTo: r.UpTo, Program: NCCL,
		Replicas: r.Replicas, Threads: r.Threads, Tile: r.Tile}
	if r.DType != Any {
		out.DType = data.DType(r.DType).String()
	}
	if r.RedOp != Any {
		out.RedOp = data.RedOp(r.RedOp).String()
	}
	if r.Root != Any {
		out.Root = new(int(r.Root))
	}
	if r.UpTo == math.MaxUint64 {
		out.UpTo = 0
	}
	if r.Program != NCCLRow {
		out.Program, out.Number, out.CTAs = b.Programs[r.Program].Title(), new(int(r.Program)), uint32(b.CTAs(r))
		out.Then = b.Programs[r.Program].Then().String()
	}
	return out
}

// Launches says which launches r is for, and of which of their calls where that is no number or name.
func (r *RuleInfo) Launches() string {
	text := "eager, captured"
	switch {
	case r.Named:
		text = "by name"
	case !r.Captured:
		text = "eager"
	case !r.Eager:
		text = "captured"
	}
	if r.Windows {
		text += ", windows"
	}
	if r.Candidate {
		text += ", candidate"
	}
	if r.Then != "" {
		text += ", then " + r.Then
	}
	return text
}
