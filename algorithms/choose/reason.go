package choose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/passes/core"
	"mscclc/selection"
)

// figures are what a simulation, and the program itself, show of a form at a size. What is counted is of the rank that
// has the most of it.
type figures struct {
	Form
	Shape
	outcome
	wire           float64 // bytes on a link for each of data
	moves, signals int     // signals: of each pass
	reads          bool    // some rank reads another's memory
	early          bool    // no rank waits for others before it moves anything
}

// less is what a figure must be of another to be called less.
const less = 0.98

func (s *Selector) figures(f Form, bytes int64) (figures, error) {
	is := figures{Form: f, Shape: s.shapes[f.Program]}
	p, err := s.form(f)
	if err != nil {
		return is, err
	}
	if is.Form, is.outcome, err = s.fastest(f, bytes); err != nil {
		return is, err
	}
	is.wire = s.Costs.TwoSided.Protocol[f.Protocol].Wire
	if p.OneSided != nil {
		is.wire = s.Costs.OneSided.Protocol[f.Protocol].Wire
		is.look(p)
	}
	return is, nil
}

// look counts what a one-sided program does.
func (is *figures) look(p *either.Program) {
	moves, signals := make([]int, len(p.Rank)), make([]int, len(p.Rank))
	is.early = true
	for b := range p.Blocks {
		rank, moved := p.Blocks[b].Rank, false
		steps := p.StepsOf(&p.Blocks[b])
		for i := range steps {
			switch step := &steps[i]; {
			case step.Op.Moves():
				moved = true
				moves[rank]++
				for _, o := range p.OneSided.Sources(step) {
					is.reads = is.reads || o.Rank != rank
				}
			case step.Op == ir.Signal:
				if step.Flags&(ir.Enter|ir.Leave) == 0 {
					signals[rank]++
				}
			case step.Op == ir.Await:
				is.early = is.early && moved
			}
		}
	}
	is.moves, is.signals = slices.Max(moves), slices.Max(signals)
}

// reason says why b follows a at a size, for which both are simulated: what has the busiest link occupied for less of
// the time, or else what of the two differs. It is empty where b is not faster.
func (s *Selector) reason(from, to Form, bytes int64) string {
	if err := s.divides(from, bytes); err != nil {
		return err.Error()
	}
	a, err1 := s.figures(from, bytes)
	b, err2 := s.figures(to, bytes)
	if err1 != nil || err2 != nil || b.micros >= a.micros {
		return ""
	}
	level(&a, &b)
	if b.link < less*a.link {
		words := lighter(&a, &b)
		if b.Rounds > a.Rounds {
			words = append(words, fmt.Sprintf("for %d rounds instead of %d", b.Rounds, a.Rounds))
		}
		return strings.Join(words, ", ")
	}
	faster := fmt.Sprintf("simulated %.1f %% faster", 100*(a.micros/b.micros-1))
	words := differing(&a, &b)
	switch {
	case len(words) == 0:
		return faster + ", of no single cause"
	case b.link == 0:
		return faster + ": " + strings.Join(words, ", ")
	}
	return faster + " with no link less busy: " + strings.Join(words, ", ")
}

// level leaves of two forms' figures what is known of both: of a compiled program the shape is not, and only a
// one-sided one has moves.
func level(a, b *figures) {
	if a.Moved == 0 || b.Moved == 0 {
		a.Shape, b.Shape = Shape{}, Shape{}
	}
	if a.Sided != b.Sided {
		for _, f := range []*figures{a, b} {
			f.moves, f.signals, f.reads, f.early = 0, 0, false, false
		}
	}
}

// lighter says what has the busiest link occupied for less time by b.
func lighter(a, b *figures) (words []string) {
	if b.Volume < less*a.Volume {
		words = append(words, fmt.Sprintf("sends %.3gx of the buffer instead of %.3gx", b.Volume, a.Volume))
	}
	if b.wire < less*a.wire {
		words = append(words, fmt.Sprintf("%s instead of %s: %s", b.Protocol, a.Protocol,
			map[bool]string{true: "no flags among the data",
				false: "more of each packet is data"}[b.Protocol == ir.Simple]))
	}
	if len(words) == 0 {
		words = append(words, fmt.Sprintf("its busiest link is occupied for %.2f us instead of %.2f", b.link, a.link))
	}
	return words
}

// sides name what Sided says.
var sides = [...]string{selection.OneSided: "one-sided", selection.TwoSided: "two-sided", selection.Lowered: "lowered"}

// differing says what of b is less than of a, and how else it goes about it.
func differing(a, b *figures) (words []string) {
	fewer := func(b, a int, what string) {
		if b < a {
			words = append(words, fmt.Sprintf("%s %d instead of %d", what, b, a))
		}
	}
	part := func(b, a float64, what string) {
		if b < less*a {
			words = append(words, fmt.Sprintf(what, b, a))
		}
	}
	if b.Sided != a.Sided {
		words = append(words, sides[b.Sided]+" instead of "+sides[a.Sided])
	}
	if b.Protocol != a.Protocol {
		words = append(words, fmt.Sprintf("%s instead of %s", b.Protocol, a.Protocol))
	}
	if b.reads && !a.reads {
		words = append(words, "reads others' memory")
	} else if a.reads && !b.reads {
		words = append(words, "only writes others' memory")
	}
	if b.early && !a.early {
		words = append(words, "moves data before it waits for others")
	}
	fewer(b.Rounds, a.Rounds, "rounds:")
	fewer(b.moves, a.moves, "moves of a rank:")
	fewer(b.signals, a.signals, "signals of a tile iteration:")
	part(b.Volume, a.Volume, "sends %.3gx of the buffer instead of %.3gx")
	if part(b.Scratch, a.Scratch, "scratch of %.3gx the buffer instead of %.3gx"); b.Scratch == 0 && a.Scratch > 0 {
		words[len(words)-1] = "no scratch"
	}
	if lanes := [2]int{max(a.Lanes, 1), max(b.Lanes, 1)}; lanes[0] != lanes[1] {
		words = append(words, fmt.Sprintf("%s instead of %d", diag.Counted(lanes[1], "lane"), lanes[0]))
	}
	if a.Several() && b.Several() && a.Copies != b.Copies {
		words = append(words, fmt.Sprintf("%d copies of scratch instead of %d", cmp.Or(b.Copies, core.UsualCopies),
			cmp.Or(a.Copies, core.UsualCopies)))
	}
	if together := [2]int{max(a.Together, 1), max(b.Together, 1)}; together[0] != together[1] {
		words = append(words, fmt.Sprintf("%d replicas of lanes that only send in a CTA instead of %d", together[1],
			together[0]))
	}
	if b.Instances > a.Instances {
		words = append(words, fmt.Sprintf("%d instances instead of %d", b.Instances, a.Instances))
	}
	return words
}
