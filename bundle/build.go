package bundle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/kernels"
	"mscclc/selection"
)

// A Rule says what runs calls of a collective on so many ranks. The first rule that fits a call counts. A
// rule does not fit where its launch needs more CTAs than the communicator has.
type Rule struct {
	Kind  ir.Kind
	Ranks int
	Nodes string // how the ranks lie on several nodes, as NodesOf reads it; "" is one node

	// DType, RedOp and Root are numbers of data and a rank, or Any. A program with a root and Any stands for one rule
	// and one program for each root.
	DType, RedOp, Root uint8

	When  uint8 // WhenEager, WhenCaptured, WhenWindows, WhenCandidate
	Calls int   // the most calls that the call's group has; 0 is any number
	UpTo  int64 // the most bytes of a call, as nccl-tests counts them; 0 is any number

	// Choice is what runs the call. Its program is of the catalog, such as allreduce/ring, or of Spec.Own; it is "" where
	// NCCL runs the call. The program is staged unless its placement is Direct, which needs WhenWindows. Where numbers of
	// the width are 0, a launch has as many replicas as there are CTAs for, a block limits.Threads threads, and a tile has
	// executor.PlanTile bytes.
	selection.Choice

	// CTAs is how many CTAs a launch has at most; 0 is Spec.CTAs. A communicator with fewer takes a later rule.
	CTAs int

	// BuiltIn says that the rule is none of the user's. Where memory is short, such rules give way (Spec.Tell).
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

// DefaultCTAs is how many CTAs a communicator has unless its user asks for others.
const DefaultCTAs = 32

// DefaultDTypes are the types of a bundle unless its maker asks for others.
var DefaultDTypes = []data.DType{data.BF16, data.F16, data.F32}

// A Spec says what a bundle is made of.
type Spec struct {
	Device string // as its driver names it
	Ranks  []int
	DTypes []data.DType // what calls reduce, and the sizes of what they move
	CTAs   int          // the most of a rule that names no number of its own; 0 is DefaultCTAs
	Rules  []Rule
	Own    choose.Shelf `json:"-"` // programs of the user's, which rules may name
	Named  []NamedSpec  // programs that jobs run by their names
	Maker  string       // what made the bundle, for readers
	Note   string       // where the rules come from, for readers

	// Tell is told of each program of built-in rules that gave way, since the programs of all rules need more memory than
	// a set may have. It may be nil.
	Tell func(text string) `json:"-"`
}

// An About says for readers what a bundle is: how it was made, and what was proven. It is a section of the bundle.
type About struct {
	Maker    string   `json:"maker,omitempty"`
	Note     string   `json:"note,omitempty"`
	Device   string   `json:"device"`
	Ranks    []int    `json:"ranks"`
	DTypes   []string `json:"dtypes"`
	CTAs     int      `json:"ctas"`
	Programs []Record `json:"programs"`
}

// A Record is what was proven of a program. SHA256 is that of its program file.
type Record struct {
	Name       string `json:"name"`
	Ranks      int    `json:"ranks"`
	Nodes      string `json:"nodes,omitempty"`
	Root       int    `json:"root"`
	InPlace    bool   `json:"inplace"`
	OutOfPlace bool   `json:"outofplace"`
	Bitwise    bool   `json:"bitwise"`
	Direct     bool   `json:"direct,omitempty"`
	Named      string `json:"named,omitempty"`
	SHA256     string `json:"sha256"`
}

// Build compiles and proves the programs of the rules, and lays out their memory. An error is a diag.List where the
// rules are at fault.
func Build(spec Spec) (*Bundle, error) {
	spec.CTAs = cmp.Or(spec.CTAs, DefaultCTAs)
	spec.Ranks, spec.DTypes = sorted(spec.Ranks), sorted(spec.DTypes)
	if err := spec.check(); err != nil {
		return nil, err
	}
	b := &builder{Spec: spec, out: &Bundle{ABI: kernels.Hash()}, made: map[programKey]*made{}}
	if err := b.addImages(); err != nil {
		return nil, err
	}
	for _, n := range spec.Ranks {
		for _, nodes := range b.layouts(n) {
			if err := b.set(n, nodes); err != nil {
				return nil, err
			}
		}
	}
	if err := b.namedAll(); err != nil {
		return nil, err
	}
	b.out.dropImages()
	if err := b.about(); err != nil {
		return nil, err
	}
	return b.out, b.out.checkSize()
}

// sorted returns list in order, without repetitions.
func sorted[T cmp.Ordered](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// check refuses what no bundle can have.
func (s *Spec) check() error {
	bad := func(format string, args ...any) error {
		return diag.List{diag.New(diag.Unsupported, diag.Span{}, format, args...)}
	}
	switch {
	case s.Device == "" || len(s.Device) > limits.Name:
		return bad("the device's name %q has no bytes, or more than %d", s.Device, limits.Name)
	case len(s.Ranks) == 0 || s.Ranks[0] < 2 || s.Ranks[len(s.Ranks)-1] > limits.Ranks:
		return bad("a bundle is for 2 to %d ranks, and not for %v", limits.Ranks, s.Ranks)
	case len(s.DTypes) == 0 || s.DTypes[len(s.DTypes)-1] >= data.NumDTypes:
		return bad("a bundle needs a type of elements")
	case s.CTAs < 1 || s.CTAs > limits.CTAs:
		return bad("a rank has 1 to %d CTAs, and not %d", limits.CTAs, s.CTAs)
	}
	if err := s.checkNamed(); err != nil {
		return bad("%v", err)
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if err := r.check(); err != nil && r.Span == (diag.Span{}) {
			return bad("rule %d: %v", i, err)
		} else if err != nil {
			return diag.List{diag.New(diag.Unsupported, r.Span, "%v", err)}
		}
	}
	return nil
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
	case r.Placement == selection.Direct && (r.When&WhenWindows == 0 || r.Program == ""):
		return fmt.Errorf("a direct program reaches buffers of other ranks, which must lie in windows")
	case r.Nodes != "" && !r.spread():
		return fmt.Errorf("%d ranks do not lie on several nodes as %q", r.Ranks, r.Nodes)
	case r.Nodes != "" && r.When&WhenWindows != 0:
		return fmt.Errorf("windows are memory that ranks of one node reach, and the rule is for several nodes")
	case why != "":
		return fmt.Errorf("the rule %s", why)
	case misfit(r.Choice) != "":
		return fmt.Errorf("the rule %s", misfit(r.Choice))
	case r.CTAs < 0 || r.CTAs > limits.CTAs:
		return fmt.Errorf("no launch has %d CTAs", r.CTAs)
	case r.Calls < 0 || r.UpTo < 0:
		return fmt.Errorf("%d calls or %d bytes are out of range", r.Calls, r.UpTo)
	}
	return nil
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

type builder struct {
	Spec
	out  *Bundle
	made map[programKey]*made
}

// set adds the set for n ranks that lie on nodes as nodes says.
func (b *builder) set(n int, nodes string) error {
	set := Set{Ranks: n, Device: b.Device}
	set.Node, _ = NodesOf(nodes, n) // check has read it
	prefix := b.prefix(n, nodes)
	for t := range data.NumDTypes {
		set.Image[t], set.Copier[t] = imageOf(b.out.Images, prefix, t)
	}
	l := layer{set: &set}
	if nodes == "" {
		rows, err := b.named(n)
		if err != nil {
			return err
		}
		l.rows = rows
	}
	for i := range b.Rules {
		r := &b.Rules[i]
		if r.Ranks != n || r.layout() != nodes {
			continue
		}
		for _, root := range r.roots() {
			m, row, err := b.rule(*r, root)
			if err != nil {
				return r.placed(err)
			}
			l.rows = append(l.rows, layerRow{row, r, m})
		}
	}
	if err := l.lay(b.Tell); err != nil {
		return err
	}
	used := l.used()
	for i, m := range used {
		m.number = uint32(len(b.out.Programs) + i)
	}
	for i := range l.rows {
		row, m := l.rows[i].RuleRow, l.rows[i].runs
		if m != nil {
			row.Program = m.number
			set.CTAs = max(set.CTAs, m.CTAs(int(row.Replicas)))
		}
		set.Rules = append(set.Rules, row)
	}
	if len(set.Rules) > limits.Rules || len(used) > limits.Programs {
		return diag.List{diag.New(diag.Limit, diag.Span{}, "%s have %d rules and %d programs, with one for each root, and a "+
			"bundle has at most %d and %d for them", set.Title(), len(set.Rules), len(used), limits.Rules, limits.Programs).
			WithHint("fewer rules")}
	}
	for _, m := range used {
		set.Programs = append(set.Programs, m.number)
		b.out.Programs = append(b.out.Programs, &m.Program)
	}
	b.out.Sets = append(b.out.Sets, set)
	return nil
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

// rule returns the row of a rule, and its program, which is nil where NCCL runs the call.
func (b *builder) rule(r Rule, root int) (*made, RuleRow, error) {
	row := RuleRow{Kind: uint8(r.Kind), DType: r.DType, RedOp: r.RedOp, Root: uint8(root), When: r.When,
		Calls: uint32(r.Calls), Program: NCCLRow, UpTo: math.MaxUint64}
	if r.UpTo > 0 {
		row.UpTo = uint64(r.UpTo)
	}
	if r.Program == "" {
		return nil, row, nil
	}
	key := programKey{Choice: r.Plain(), kind: r.Kind, ranks: r.Ranks, nodes: r.layout()}
	if r.Kind.Rooted() {
		key.root = root
	}
	m, err := b.program(key)
	if err != nil {
		return nil, row, err
	}
	most := cmp.Or(r.CTAs, b.CTAs)
	row.Replicas = uint32(cmp.Or(r.Replicas, max(1, sort.Search(most, func(n int) bool { return m.CTAs(n+1) > most }))))
	row.Threads = uint32(cmp.Or(r.Threads, limits.Threads))
	row.Tile = uint64(cmp.Or(r.Tile, plan.Tile))
	if r.Together > 0 && m.Shared() == 1 {
		return nil, row, diag.List{diag.New(diag.Unsupported, diag.Span{}, "%s has no lane that only copies to other nodes, so "+
			"\"together\": %d has no effect", m.Title(), r.Together).WithHint("leave out \"together\", or give more \"lanes\"")}
	}
	if row.uneven(uint32(m.Shared())) {
		return nil, row, diag.List{diag.New(diag.Limit, diag.Span{}, "%s has %d replicas together in a CTA, which cannot share "+
			"%d threads evenly", m.Title(), m.Shared(), row.Threads).WithHint("give 128, 256 or 512 threads")}
	}
	if m.CTAs(int(row.Replicas)) > most {
		return nil, row, r.tooWide(m, int(row.Replicas), most)
	}
	return m, row, nil
}
