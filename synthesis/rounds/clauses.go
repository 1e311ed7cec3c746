package rounds

import (
	"slices"
	"strconv"
)

// onlyClauses returns a formula of clauses, of which p's limits are made by counters.
func (p *Problem) onlyClauses() *Problem {
	q := &Problem{Vars: p.Vars, Clauses: slices.Clip(p.Clauses)}
	for _, l := range p.Limits {
		last := l.Most[len(l.Most)-1]
		count := q.counter(l.Lits, min(len(l.Lits), last+1))
		for k, most := range l.Most {
			switch {
			case most >= len(count):
			case k < len(l.More):
				q.clause(-count[most], l.More[k])
			default:
				q.clause(-count[most])
			}
		}
	}
	return q
}

// counter returns variables that are true where more literals than their index are true, up to a number of variables
// (Sinz' sequential counter).
func (p *Problem) counter(lits []int, most int) []int {
	var count []int
	for _, l := range lits {
		next := make([]int, min(most, len(count)+1))
		for j := range next {
			next[j] = p.variable()
			if j < len(count) {
				p.clause(-count[j], next[j])
			}
			if j == 0 {
				p.clause(-l, next[0])
			} else {
				p.clause(-l, -count[j-1], next[j])
			}
		}
		count = next
	}
	return count
}

// dimacs writes clauses in DIMACS' format.
func (p *Problem) dimacs() []byte {
	b := append(strconv.AppendInt([]byte("p cnf "), int64(p.Vars), 10), ' ')
	b = append(strconv.AppendInt(b, int64(len(p.Clauses)), 10), '\n')
	for _, c := range p.Clauses {
		for _, l := range c {
			b = append(strconv.AppendInt(b, int64(l), 10), ' ')
		}
		b = append(b, "0\n"...)
	}
	return b
}
