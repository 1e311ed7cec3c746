package bundle

import (
	"embed"
	"slices"
	"sync"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

//go:embed tables/*.rules
var tables embed.FS

// BuiltIn returns the rules that were measured on the devices that we have had, one table for each device.
var BuiltIn = sync.OnceValue(func() (list []*Measured) {
	list = selection.BuiltIn(tables, ReadRules)
	for _, m := range list {
		m.builtIn = true
	}
	return list
})

// BuiltInFor returns what the bundle of the rules that are built in for a device is made of. It is for all numbers of
// ranks that these have, and for DefaultDTypes. ok is false where nobody measured the device.
func BuiltInFor(device string) (spec Spec, ok bool) {
	for _, m := range BuiltIn() {
		if m.Device != device {
			continue
		}
		spec = Spec{Device: device, Ranks: m.Ranks(nil), DTypes: DefaultDTypes, CTAs: DefaultCTAs,
			Note: "those that are built in, then NCCL's"}
		for _, n := range spec.Ranks {
			tables := []*Measured{m}
			rules, _ := usualRules(n, spec.CTAs, tables, false)
			rules = append(rules, invariantRules(n, spec.CTAs, tables, true)...)
			spec.Rules = append(append(spec.Rules, rules...), RulesOver(n, tables)...)
		}
		return spec, true
	}
	return spec, false
}

// Ranks returns the numbers of ranks that rules of m are for, in order: of all rules, or of those that are wanted.
func (m *Measured) Ranks(wanted func(*MeasuredRule) bool) (list []int) {
	for i := range m.Rules {
		if r := &m.Rules[i]; wanted == nil || wanted(r) {
			list = append(list, r.Ranks)
		}
	}
	return sorted(list)
}

// RulesFor returns the rules for a given number of ranks of one node. For each collective, eager and captured launches
// have the rules of the first table that has some: those for windows first and then, perhaps of another table, the
// others. Calls that are larger than those, and those that no table has, are for the candidates of the first table that
// has some, else for those of Candidates if `candidates` is set, and else NCCL's. missing lists the collectives of
// which some calls are not measured. Rules for invariant bits are those of invariantRules, always if `candidates` is
// set.
func RulesFor(ranks, ctas int, tables []*Measured, candidates bool) (list []Rule, missing []ir.Kind) {
	list, missing = usualRules(ranks, ctas, tables, candidates)
	list = append(list, invariantRules(ranks, ctas, tables, candidates)...)
	return append(list, thenRules(ranks, tables)...), missing
}

// usualRules is RulesFor without rules for invariant bits.
func usualRules(ranks, ctas int, tables []*Measured, candidates bool) (list []Rule, missing []ir.Kind) {
	var ladder []Rule
	if candidates {
		ladder = Candidates(ranks, ctas)
	}
	for _, kind := range Kinds {
		var eager, captured []Rule
		for _, windows := range [2]bool{true, false} {
			eager = append(eager, first(tables, kind, ranks, "", Eager, windows)...)
			captured = append(captured, first(tables, kind, ranks, "", Captured, windows)...)
		}
		if !whole(eager) || !whole(captured) {
			missing = append(missing, kind)
		}
		apart := func(when string) []Rule {
			return firstOf(tables, kind, ranks, "", when, func(r *Rule) bool {
				return r.When&WhenApart != 0 && r.Then == ""
			})
		}
		eager = completed(eager, kind, ranks, candidatesOf(tables, kind, ranks, Eager, ladder))
		captured = completed(captured, kind, ranks, candidatesOf(tables, kind, ranks, Captured, ladder))
		list = append(list, joined(append(apart(Eager), eager...), append(apart(Captured), captured...))...)
	}
	return list, missing
}

// RulesOver returns the rules for ranks that lie on several nodes. For each way to lie, and each collective and kind of
// launches, these are the rules of the first table that has some. NCCL runs all other calls.
func RulesOver(ranks int, tables []*Measured) (list []Rule) {
	var all []string
	for _, m := range tables {
		for i := range m.Rules {
			if r := &m.Rules[i]; r.Ranks == ranks && r.Nodes != "" {
				all = append(all, r.layout())
			}
		}
	}
	for _, nodes := range sorted(all) {
		for _, kind := range Kinds {
			list = append(list, joined(first(tables, kind, ranks, nodes, Eager, false),
				first(tables, kind, ranks, nodes, Captured, false))...)
		}
	}
	return list
}

// layout returns how the ranks of r lie on nodes, as Rule.layout.
func (r *MeasuredRule) layout() string {
	rule := Rule{Ranks: r.Ranks, Nodes: r.Nodes}
	return rule.layout()
}

// first returns the measured rules of the first table that has some: those for windows, or the others.
func first(tables []*Measured, kind ir.Kind, ranks int, nodes, when string, windows bool) []Rule {
	return firstOf(tables, kind, ranks, nodes, when, func(r *Rule) bool {
		return !r.Candidate() && !r.Invariant && r.Then == "" && r.When&WhenApart == 0 && r.When&WhenWindows != 0 == windows
	})
}

// candidatesOf returns the candidates of the first table that has some, or those of the ladder.
func candidatesOf(tables []*Measured, kind ir.Kind, ranks int, when string, ladder []Rule) []Rule {
	if list := firstOf(tables, kind, ranks, "", when, (*Rule).Candidate); list != nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(ladder), func(r Rule) bool { return r.Kind != kind })
}

// firstOf returns the rules of a kind of the first table that has some.
func firstOf(tables []*Measured, kind ir.Kind, ranks int, nodes, when string, of func(r *Rule) bool) []Rule {
	for _, m := range tables {
		list := slices.DeleteFunc(m.group(kind, ranks, nodes, when), func(r Rule) bool { return !of(&r) })
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// group returns m's rules for a collective among some ranks on some nodes, for one kind of launches.
func (m *Measured) group(kind ir.Kind, ranks int, nodes, when string) (list []Rule) {
	for i := range m.Rules {
		r := &m.Rules[i]
		if r.Ranks != ranks || r.Collective != kind.String() || r.When != when || r.layout() != nodes {
			continue
		}
		rule := Forward(kind, ranks)
		rule.Span, rule.Nodes, rule.BuiltIn, rule.micros = r.Span, nodes, m.builtIn, [2]float64{r.Micros, r.NCCLMicros}
		if rule.UpTo = r.UpTo; r.Program != NCCL {
			rule.Choice = r.Choice
		}
		restrict(&rule, r.Only)
		if r.Candidate {
			rule.When |= WhenCandidate
		}
		list = append(list, rule)
	}
	return list
}

// whole reports whether rules are for all calls of a collective.
func whole(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.UpTo == 0 && !r.restricted() })
}

// completed adds candidates for the calls that a group of measured rules has none for. Without candidates, NCCL runs
// these calls.
func completed(rules []Rule, kind ir.Kind, ranks int, candidates []Rule) []Rule {
	if whole(rules) {
		return rules
	}
	last := int64(0)
	for _, r := range rules {
		if !r.restricted() {
			last = max(last, r.UpTo)
		}
	}
	if len(candidates) == 0 {
		return append(rules, Forward(kind, ranks))
	}
	for _, r := range candidates {
		if r.UpTo == 0 || r.UpTo > last {
			rules = append(rules, r)
		}
	}
	return rules
}

// joined returns the rules of eager and captured launches, which are one where they are the same.
func joined(eager, captured []Rule) (list []Rule) {
	if slices.EqualFunc(eager, captured, func(a, b Rule) bool {
		a.Span, b.Span, a.micros, b.micros = diag.Span{}, diag.Span{}, [2]float64{}, [2]float64{}
		return a == b
	}) {
		return eager
	}
	for _, r := range eager {
		r.When &^= WhenCaptured
		list = append(list, r)
	}
	for _, r := range captured {
		r.When &^= WhenEager
		list = append(list, r)
	}
	return list
}
