package vclock

// A run is the counts up to end, from where the run before ends: value, value + slope and so on.
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

// raise makes no count of list smaller than that of runs.
func raise(list []int32, runs []run) {
	at := int32(0)
	for _, x := range runs {
		for value := x.value; at < x.end; at++ {
			list[at] = max(list[at], value)
			value += x.slope
		}
	}
}

// within says whether no count of runs is larger than that of list, with sign 1; or smaller, with -1.
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

// A cursor goes through runs, of which value is the count it is at.
type cursor struct {
	runs  []run
	value int32
}

func (p *Pool) cursor(r *piece) cursor {
	runs := p.zeros
	if r != nil {
		runs = r.runs
	}
	return cursor{runs, runs[0].value}
}

// pass goes from count at on to end, which is not beyond the run.
func (c *cursor) pass(at, end int32) {
	if end < c.runs[0].end {
		c.value += c.runs[0].slope * (end - at)
	} else if c.runs = c.runs[1:]; len(c.runs) > 0 {
		c.value = c.runs[0].value
	}
}

// A writer writes runs from the first count on.
type writer struct {
	runs  []run
	first int32 // of the last run
}

func (w *writer) begin() { w.runs = w.runs[:0] }

// larger writes the larger of n counts each of two runs.
func (w *writer) larger(n, x, xSlope, y, ySlope int32) {
	gap, turn := int64(x)-int64(y), int64(xSlope)-int64(ySlope)
	end := gap + turn*int64(n-1)
	switch {
	case gap >= 0 && (n == 1 || end >= 0):
		w.put(n, x, xSlope)
	case gap <= 0 && (n == 1 || end <= 0):
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

// put writes n counts from value on, to the last run if they go on with it.
func (w *writer) put(n, value, slope int32) {
	end := int32(0)
	if last := len(w.runs) - 1; last >= 0 {
		r := &w.runs[last]
		end = r.end
		if step := value - r.value; end-w.first == 1 && (n == 1 || slope == step) {
			r.slope, r.end = step, end+n
			return
		}
		next := int64(r.value) + int64(r.slope)*int64(end-w.first)
		if end-w.first > 1 && (n == 1 || slope == r.slope) && next == int64(value) {
			r.end = end + n
			return
		}
	}
	w.first = end
	w.runs = append(w.runs, run{end + n, value, slope})
}
