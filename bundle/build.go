package bundle

import (
	"cmp"
	"slices"
	"sort"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir/diag"
	"mscclc/kernels"
)

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
	Own    choose.UserPrograms `json:"-"` // programs of the user's, which rules may name
	Named  []NamedSpec         // programs that jobs run by their names
	Maker  string              // what made the bundle, for readers
	Note   string              // where the rules come from, for readers

	// Notify is called with each program of built-in rules that gave way, since the programs of all rules need more
	// memory than a set may have, and of built-in rules whose launches have too many CTAs. It may be nil.
	Notify func(text string) `json:"-"`
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
		for _, of := range b.sets(n) {
			if err := b.set(of); err != nil {
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

type builder struct {
	Spec
	out  *Bundle
	made map[programKey]*made
}

// set adds a set.
func (b *builder) set(of setKey) error {
	n := of.ranks
	set := Set{Ranks: n, Device: b.Device, Invariant: of.invariant}
	set.Node, _ = NodesOf(of.nodes, n) // check has read it
	prefix := b.prefix(of)
	for t := range data.NumDTypes {
		set.Image[t], set.Copier[t] = imageOf(b.out.Images, prefix, t)
	}
	if of.nodes == "" {
		set.Finishers = finishersOf(b.out.Images)
	}
	l := layer{set: &set}
	if of.nodes == "" {
		rows, err := b.named(n)
		if err != nil {
			return err
		}
		l.rows = rows
	}
	for i := range b.Rules {
		r := &b.Rules[i]
		if !of.has(r) {
			continue
		}
		for _, root := range r.roots() {
			m, row, err := b.rule(*r, root)
			if err == nil && m != nil && m.CTAs(int(row.Replicas)) > b.most(r) {
				if r.BuiltIn {
					l.wide = append(l.wide, m.CTAs(int(row.Replicas)))
					continue
				}
				err = r.tooWide(m, int(row.Replicas), b.most(r))
			}
			if err != nil {
				return r.placed(err)
			}
			l.rows = append(l.rows, layerRow{row, r, m})
		}
	}
	l.tellWide(b.CTAs)
	l.unshare()
	if err := l.lay(b.Notify); err != nil {
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

// rule returns the row of a rule, and its program, which is nil where NCCL runs the call. A launch may have more CTAs
// than the rule allows.
func (b *builder) rule(r Rule, root int) (*made, RuleRow, error) {
	row := r.row(root)
	if r.Program == "" {
		return nil, row, nil
	}
	key := programKey{Choice: r.Plain(), kind: r.Kind, ranks: r.Ranks, nodes: r.layout(), then: r.Then}
	if r.Kind.Rooted() {
		key.root = root
	}
	m, err := b.program(key)
	if err != nil {
		return nil, row, err
	}
	most := b.most(&r)
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
	if r.Invariant && m.Ordered == 0 {
		return nil, row, notInOrder(m)
	}
	return m, row, nil
}

// most is how many CTAs a launch of a rule may have.
func (b *builder) most(r *Rule) int { return cmp.Or(r.CTAs, b.CTAs) }
