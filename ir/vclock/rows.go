// Package vclock keeps vector clocks of very many blocks, which say what each block knows of all others. Clocks are
// trees that share what is alike, for the blocks of one rank. A Pool has rows of counts, for all ranks. Ranks
// mostly do the same one after the other, so that the counts of a row rise or fall evenly over long runs. A row of few
// runs is kept as these, and any other as a list. To find the larger counts of two rows then takes as long as they
// have runs, and not as they have counts.
package vclock

// A Pool makes rows of one length, and uses their memory again when they have no users any more. One goroutine at a
// time uses a Pool and its rows.
type Pool struct {
	Work    int64 // time that Largest took, in units of some ten nanoseconds, by which a caller bounds it
	Entries int64 // memory of the rows in use, in words of four bytes

	n      int32
	most   int // the most runs that a row may have
	zeros  []run
	rows   []*Row // unused
	lists  [][]int32
	writer writer
}

// A Row has n counts from 0 up. nil is a row of zeros. A row counts its users, and changes only while it has one.
type Row struct {
	runs  []run
	list  []int32 // in place of runs, or nil
	users int32
}

// NewPool returns a Pool of rows of n counts.
func NewPool(n int32) *Pool {
	return &Pool{n: n, most: int(max(4, n/16)), zeros: []run{{end: n}}}
}

// At returns count k.
func (r *Row) At(k int32) int32 {
	switch {
	case r == nil:
		return 0
	case r.list != nil:
		return r.list[k]
	}
	low, high := 0, len(r.runs)-1 // the run that k is in
	for low < high {
		if m := (low + high) / 2; r.runs[m].end <= k {
			low = m + 1
		} else {
			high = m
		}
	}
	first := int32(0)
	if low > 0 {
		first = r.runs[low-1].end
	}
	return r.runs[low].value + r.runs[low].slope*(k-first)
}

// Share returns r for one more user.
func (r *Row) Share() *Row {
	if r != nil {
		r.users++
	}
	return r
}

// Drop takes note that a user of r needs it no more.
func (p *Pool) Drop(r *Row) {
	if r == nil {
		return
	}
	if r.users--; r.users == 0 {
		p.empty(r)
		p.rows = append(p.rows, r)
	}
}

// empty takes its counts from r.
func (p *Pool) empty(r *Row) {
	p.Entries -= r.size()
	if r.list != nil {
		p.lists = append(p.lists, r.list)
	}
	r.list, r.runs = nil, r.runs[:0]
}

func (r *Row) size() int64 {
	if r.list != nil {
		return int64(len(r.list))
	}
	return 3 * int64(len(r.runs))
}

// Largest returns the row of the larger counts of a and b, whose count k is at least n. The caller gives up one use of
// a for one of the result. b stays as it is.
func (p *Pool) Largest(a, b *Row, k, n int32) *Row {
	switch {
	case (b == nil || b == a) && a.At(k) >= n:
		return a
	case a == nil && b.At(k) >= n:
		return b.Share()
	}
	to := a
	if to == nil || to.users > 1 {
		to = p.fresh()
	}
	if a != nil && a.list != nil || b != nil && b.list != nil {
		p.inList(to, a, b, k, n)
	} else {
		p.inRuns(to, a, b, k, n)
	}
	if to != a {
		p.Drop(a)
	}
	return to
}

// fresh is a row without counts, for one user.
func (p *Pool) fresh() *Row {
	if n := len(p.rows); n > 0 {
		r := p.rows[n-1]
		p.rows = p.rows[:n-1]
		r.users = 1
		return r
	}
	return &Row{users: 1}
}

// unusedList is a list that holds anything.
func (p *Pool) unusedList() []int32 {
	if n := len(p.lists); n > 0 {
		list := p.lists[n-1]
		p.lists = p.lists[:n-1]
		return list
	}
	return make([]int32, p.n)
}

// inRuns is Largest of rows of runs, written to to, which may be a.
func (p *Pool) inRuns(to, a, b *Row, k, n int32) {
	x, y := p.cursor(a), p.cursor(b)
	w := &p.writer
	w.begin()
	for at := int32(0); at < p.n; {
		end := min(x.runs[0].end, y.runs[0].end)
		switch {
		case at < k:
			end = min(end, k)
			w.larger(end-at, x.value, x.runs[0].slope, y.value, y.runs[0].slope)
		case at == k:
			end = k + 1
			w.put(1, max(x.value, y.value, n), 0)
		default:
			w.larger(end-at, x.value, x.runs[0].slope, y.value, y.runs[0].slope)
		}
		x.pass(at, end)
		y.pass(at, end)
		at = end
	}
	p.Work += int64(len(w.runs)/8 + 1)
	p.empty(to)
	if len(w.runs) > p.most {
		to.list = p.unusedList()
		fill(to.list, w.runs)
	} else {
		to.runs = append(to.runs, w.runs...)
	}
	p.Entries += to.size()
}

// inList is Largest of rows of which one is a list, written to to, which may be a.
func (p *Pool) inList(to, a, b *Row, k, n int32) {
	list := to.list
	if list == nil {
		list = p.unusedList()
	}
	switch {
	case a == nil || b == nil || a == b:
		only := a
		if a == nil {
			only = b
		}
		if to.list == nil {
			copyRow(list, only)
		}
	case a.list != nil && b.list != nil:
		larger(list, a.list, b.list)
	case a.list != nil:
		copyRow(list, a)
		raise(list, b.runs)
	default:
		copyRow(list, b)
		raise(list, a.runs)
	}
	list[k] = max(list[k], n)
	p.Work += int64(p.n/64 + 1)
	if to.list == nil {
		p.empty(to)
		to.list = list
		p.Entries += to.size()
	}
	p.shorten(to)
}

// copyRow fills list with the counts of r, unless it is r's own.
func copyRow(list []int32, r *Row) {
	if r.list == nil {
		fill(list, r.runs)
	} else if &list[0] != &r.list[0] {
		copy(list, r.list)
	}
}

// larger makes to the larger of a and b, count by count.
func larger(to, a, b []int32) {
	a, b = a[:len(to)], b[:len(to)] // for the compiler: no check in the loop
	for i := range to {
		to[i] = max(a[i], b[i])
	}
}

// shorten makes runs of r, which is a list, if it is of few: half as many as rows may have, or rows would go to and fro
// between both.
func (p *Pool) shorten(r *Row) {
	bends, before := 0, int32(0) // a run begins at one, at most
	for i := 1; i < len(r.list) && bends < p.most/2; i++ {
		if step := r.list[i] - r.list[i-1]; step != before {
			bends, before = bends+1, step
		}
	}
	if bends >= p.most/2 {
		return
	}
	w := &p.writer
	w.begin()
	for _, value := range r.list {
		w.put(1, value, 0)
	}
	p.empty(r)
	r.runs = append(r.runs, w.runs...)
	p.Entries += r.size()
}
