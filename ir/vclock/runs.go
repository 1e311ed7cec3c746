package vclock

// A run stands for counts from the end of the run before up to end: value, value + slope and so on.
type run struct{ end, value, slope int32 }

// fill writes the counts of runs to list.
func fill(list []int32, runs []run) {
	at := int32(0)
	for _, x := range runs {
		for value := x.value; at < x.end; at++ {
			list[at] = value
			value += x.slope
		}
	}
}

// raise sets each count of list to the larger one of itself and that of runs.
func raise(list []int32, runs []run) {
	at := int32(0)
	for _, x := range runs {
		for value := x.value; at < x.end; at++ {
			list[at] = max(list[at], value)
			value += x.slope
		}
	}
}

// within reports, with sign 1, whether no count of runs is larger than that of list; with sign -1, whether none is
// smaller.
func within(runs []run, list []int32, sign int64) bool {
	at := int32(0)
	for _, x := range runs {
		for value := x.value; at < x.end; at++ {
			if sign*int64(value) > sign*int64(list[at]) {
				return false
			}
			value += x.slope
		}
	}
	return true
}

// A cursor goes through runs. The count that it is at is value, in a run that ends at end. rest are the runs after it.
type cursor struct {
	end, value, slope int32
	rest              []run
}

func (p *Pool) cursor(r *piece) cursor {
	runs := p.zeros
	if r != nil {
		runs = r.runs
	}
	return cursor{runs[0].end, runs[0].value, runs[0].slope, runs[1:]}
}

// pass moves the cursor from count at to count end, which is at most the end of the run.
func (c *cursor) pass(at, end int32) {
	if end < c.end {
		c.value += c.slope * (end - at)
	} else if len(c.rest) > 0 {
		c.end, c.value, c.slope, c.rest = c.rest[0].end, c.rest[0].value, c.rest[0].slope, c.rest[1:]
	}
}

// A writer writes runs, from the first count on. It appends last to runs when a count does not continue it.
type writer struct {
	runs []run
	last run
	n    int32 // how many counts last has
	next int64 // the count that would continue last
}

func (w *writer) begin() { w.runs, w.last, w.n = w.runs[:0], run{}, 0 }

// end writes the last run.
func (w *writer) end() {
	if w.n > 0 {
		w.runs = append(w.runs, w.last)
	}
}

// larger writes n counts: the larger ones of two runs, which begin with x and y.
func (w *writer) larger(n, x, xSlope, y, ySlope int32) {
	gap, turn := int64(x)-int64(y), int64(xSlope)-int64(ySlope)
	end := gap + turn*int64(n-1)
	switch {
	case gap >= 0 && end >= 0:
		w.put(n, x, xSlope)
	case gap <= 0 && end <= 0:
		w.put(n, y, ySlope)
	case gap > 0:
		m := int32(gap/-turn) + 1 // x is not the smaller one so long
		w.put(m, x, xSlope)
		w.put(n-m, y+m*ySlope, ySlope)
	default:
		m := int32((turn - 1 - gap) / turn) // x is the smaller one so long
		w.put(m, y, ySlope)
		w.put(n-m, x+m*xSlope, xSlope)
	}
}

// put writes n counts from value on. They become a part of the last run if they continue it.
func (w *writer) put(n, value, slope int32) {
	switch {
	case w.n > 1 && w.next == int64(value) && (n == 1 || slope == w.last.slope):
		slope = w.last.slope
	case w.n == 1 && (n == 1 || slope == value-w.last.value):
		slope = value - w.last.value
		w.last.slope = slope
	default:
		if w.n > 0 {
			w.runs = append(w.runs, w.last)
		}
		w.last.value, w.last.slope, w.n = value, slope, 0
	}
	w.last.end += n
	w.n += n
	w.next = int64(value) + int64(slope)*int64(n)
}
