package covering

// Pairwise returns rows of one value for each factor, where factor f has the
// values 0 to sizes[f]-1, such that any two values of any two factors meet in
// some row. It is greedy: each row begins with the first pair that has not met
// yet, and fills up with the values that make the most new pairs.
func Pairwise(sizes []int) [][]int {
	u := newUnmet(sizes)
	var rows [][]int
	for f := range sizes {
		for g := f + 1; g < len(sizes); g++ {
			for v := range sizes[f] {
				for w := range sizes[g] {
					if u.pair[f][g][v*sizes[g]+w] {
						rows = append(rows, u.row(f, v, g, w, len(rows)))
					}
				}
			}
		}
	}
	if len(sizes) == 1 {
		for v := range sizes[0] {
			rows = append(rows, []int{v})
		}
	}
	return rows
}

// unmet says which pairs have not met: pair[f][g][v*sizes[g]+w] for f < g.
type unmet struct {
	sizes []int
	pair  [][][]bool
}

func newUnmet(sizes []int) *unmet {
	u := &unmet{sizes: sizes, pair: make([][][]bool, len(sizes))}
	for f := range sizes {
		u.pair[f] = make([][]bool, len(sizes))
		for g := f + 1; g < len(sizes); g++ {
			u.pair[f][g] = make([]bool, sizes[f]*sizes[g])
			for i := range u.pair[f][g] {
				u.pair[f][g][i] = true
			}
		}
	}
	return u
}

// at returns the mark of a pair, factors in any order.
func (u *unmet) at(f, v, g, w int) *bool {
	if f > g {
		f, v, g, w = g, w, f, v
	}
	return &u.pair[f][g][v*u.sizes[g]+w]
}

// row makes a row with value v of factor f and w of g, and marks its pairs as
// met. turn says where the search for the other values begins, so that ties
// spread.
func (u *unmet) row(f, v, g, w, turn int) []int {
	row := make([]int, len(u.sizes))
	for h := range row {
		row[h] = -1
	}
	row[f], row[g] = v, w
	for h := range row {
		if row[h] >= 0 {
			continue
		}
		best, gain := 0, -1
		for i := range u.sizes[h] {
			x := (turn + i) % u.sizes[h]
			if n := u.gain(row, h, x); n > gain {
				best, gain = x, n
			}
		}
		row[h] = best
	}
	for f := range row {
		for g := f + 1; g < len(row); g++ {
			*u.at(f, row[f], g, row[g]) = false
		}
	}
	return row
}

// gain returns the number of new pairs that value x of factor h makes with the
// values that row has.
func (u *unmet) gain(row []int, h, x int) int {
	n := 0
	for g, w := range row {
		if g != h && w >= 0 && *u.at(h, x, g, w) {
			n++
		}
	}
	return n
}
