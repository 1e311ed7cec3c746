package bound

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// A program is a linear program: maximise c·x for x >= 0, where each row says a·x <= b. Rows are added as they are
// found to be needed. It is a dense dictionary: each basic variable is its value less the row's sum over nonbasic ones.
//
// Such programs have many ties, among which the simplex method may circle. So it decides by values and costs that are
// moved a little, each by another amount, and carries the true ones along. Its results are rounded: callers verify what
// they make of them.
type program struct {
	n     int         // variables
	rows  [][]float64 // coefficients of the nonbasic variables
	value []number    // of the basic variables
	basic []int       // indexed by row: a variable, or n and the number of a row's slack
	free  []int       // indexed by column: the nonbasic variable
	cost  []number    // of the nonbasic variables
	where []int       // indexed by variable: its row, or -1 less its column
	added int         // rows so far
	total float64     // the objective, by what moved values and costs say
	noise *rand.Rand  // nil where nothing is moved any more
}

// A number is what decides, and what is true.
type number struct{ moved, plain float64 }

func (a *number) less(f float64, b number) {
	a.moved -= float64(f * b.moved)
	a.plain -= float64(f * b.plain)
}

func (a *number) divide(x float64) { a.moved, a.plain = a.moved/x, a.plain/x }

const (
	tiny      = 1e-9
	moves     = 1e-6  // how far values and costs are moved
	mostPivot = 50000 // of one solution
	stalled   = 200   // pivots without progress, from which on the first eligible variable is taken (Bland)
)

var errNumbers = errors.New("the linear program did not converge")

func newProgram(c []float64) *program {
	p := &program{n: len(c), noise: rand.New(rand.NewPCG(3, 4))}
	for j, x := range c {
		p.cost = append(p.cost, number{x - p.move(), x})
		p.free = append(p.free, j)
		p.where = append(p.where, -1-j)
	}
	return p
}

// move returns how far a number is moved.
func (p *program) move() float64 {
	if p.noise == nil {
		return 0
	}
	return moves * (1 + p.noise.Float64())
}

// slack returns by how much, of 1, a row must be violated to be added.
func (p *program) slack() float64 {
	if p.noise == nil {
		return 1e-8
	}
	return 8 * moves
}

// add adds the row a·x <= b, whose coefficients are by variable. It reports whether the solution so far violates it.
func (p *program) add(a map[int]float64, b float64) bool {
	row, value := make([]float64, len(p.free)), number{b + p.move(), b}
	for _, k := range slices.Sorted(maps.Keys(a)) {
		x := a[k]
		if at := p.where[k]; at < 0 {
			row[-1-at] += x
		} else {
			for j, y := range p.rows[at] {
				row[j] -= float64(x * y)
			}
			value.less(x, p.value[at])
		}
	}
	p.rows, p.value = append(p.rows, row), append(p.value, value)
	p.basic = append(p.basic, p.n+p.added)
	p.where = append(p.where, len(p.rows)-1)
	p.added++
	return value.moved < -tiny
}

// solve finds an optimum. Either all values are at least 0, as where all b are, or no cost is above 0, as after solve.
func (p *program) solve(ctx context.Context) error {
	last, still := p.total, 0
	for pivots := range mostPivot {
		if pivots%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r, c, ok := p.leaving(still > stalled)
		if !ok { // all values are at least 0
			if r, c, ok = p.entering(still > stalled); !ok {
				return nil
			}
		}
		if r < 0 || c < 0 {
			return errNumbers
		}
		p.pivot(r, c)
		if still++; math.Abs(p.total-last) > 1e-12*math.Abs(last) {
			last, still = p.total, 0
		}
	}
	return errNumbers
}

// settle goes from the optimum of moved numbers to that of the true ones. Nothing is moved afterwards.
func (p *program) settle(ctx context.Context) error {
	p.noise = nil
	for i := range p.value {
		p.value[i].moved = p.value[i].plain
	}
	for j := range p.cost {
		p.cost[j].moved = p.cost[j].plain
	}
	return p.solve(ctx)
}

// entering returns the pivot of a primal step: the column of a cost above 0, and the row that limits it, or -1. It
// returns false where no cost is above 0.
func (p *program) entering(bland bool) (r, c int, ok bool) {
	c = -1
	for j, d := range p.cost {
		if d.moved > tiny && (c < 0 || bland && p.free[j] < p.free[c] || !bland && d.moved > p.cost[c].moved) {
			c = j
		}
	}
	if c < 0 {
		return 0, 0, false
	}
	r = -1
	for i, row := range p.rows {
		if row[c] <= tiny {
			continue
		}
		if r < 0 {
			r = i
			continue
		}
		here, best := p.value[i].moved/row[c], p.value[r].moved/p.rows[r][c]
		if here < best-1e-12 || here < best+1e-12 && (bland && p.basic[i] < p.basic[r] || !bland && row[c] > p.rows[r][c]) {
			r = i
		}
	}
	return r, c, true
}

// leaving returns the pivot of a dual step: the row of a value below 0, and the column that keeps costs below 0, or -1.
// It returns false where no value is below 0.
func (p *program) leaving(bland bool) (r, c int, ok bool) {
	r = -1
	for i, v := range p.value {
		if v.moved < -tiny && (r < 0 || bland && p.basic[i] < p.basic[r] || !bland && v.moved < p.value[r].moved) {
			r = i
		}
	}
	if r < 0 {
		return 0, 0, false
	}
	c = -1
	row := p.rows[r]
	for j, x := range row {
		if x >= -tiny {
			continue
		}
		if c < 0 {
			c = j
			continue
		}
		here, best := p.cost[j].moved/x, p.cost[c].moved/row[c]
		if here < best-1e-12 || here < best+1e-12 && (bland && p.free[j] < p.free[c] || !bland && x < row[c]) {
			c = j
		}
	}
	return r, c, true
}

// pivot exchanges the basic variable of row r and the nonbasic one of column c.
func (p *program) pivot(r, c int) {
	row := p.rows[r]
	x := row[c]
	for j := range row {
		row[j] /= x
	}
	row[c] = 1 / x
	p.value[r].divide(x)
	for i, other := range p.rows {
		f := other[c]
		if i == r || f == 0 {
			continue
		}
		for j, y := range row {
			other[j] -= float64(f * y)
		}
		other[c] = -f / x
		p.value[i].less(f, p.value[r])
	}
	d := p.cost[c]
	for j, y := range row {
		p.cost[j].less(y, d)
	}
	p.total += float64(d.moved * p.value[r].moved)
	p.cost[c] = number{-d.moved / x, -d.plain / x}
	p.basic[r], p.free[c] = p.free[c], p.basic[r]
	p.where[p.basic[r]], p.where[p.free[c]] = r, -1-c
}

// x returns the value of variable k.
func (p *program) x(k int) float64 {
	if at := p.where[k]; at >= 0 {
		return max(p.value[at].moved, 0)
	}
	return 0
}

// dual returns the dual value of the row that was added as the k-th.
func (p *program) dual(k int) float64 {
	if at := p.where[p.n+k]; at < 0 {
		return max(-p.cost[-1-at].moved, 0)
	}
	return 0
}
