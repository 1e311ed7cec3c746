package vclock

// A piece is a part of a row's counts, which all rows with these counts may share. A nil piece has zeros. It changes
// only while one row has it.
type piece struct {
	runs  []run
	list  []int32 // in place of runs, or nil
	users int32
}

// at returns count k.
func (r *piece) at(k int32) int32 {
	switch {
	case r == nil:
		return 0
	case r.list != nil:
		return r.list[k]
	}
	low, high := 0, len(r.runs)-1 // k is in one of the runs low to high
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

func (r *piece) share() *piece {
	if r != nil {
		r.users++
	}
	return r
}

func (r *piece) size() int64 {
	if r.list != nil {
		return int64(len(r.list))
	}
	return 3 * int64(len(r.runs))
}

// drop records that one row fewer has r.
func (p *Pool) drop(r *piece) {
	if r == nil {
		return
	}
	if r.users--; r.users == 0 {
		p.empty(r)
		p.pieces = append(p.pieces, r)
	}
}

// empty removes the counts of r.
func (p *Pool) empty(r *piece) {
	p.Entries -= r.size()
	if r.list != nil {
		p.lists = append(p.lists, r.list)
	}
	r.list, r.runs = nil, r.runs[:0]
}

// fresh returns a piece without counts, for one row.
func (p *Pool) fresh() *piece {
	if n := len(p.pieces); n > 0 {
		r := p.pieces[n-1]
		p.pieces = p.pieces[:n-1]
		r.users = 1
		return r
	}
	return &piece{users: 1}
}

// unusedList returns a list with arbitrary content.
func (p *Pool) unusedList() []int32 {
	if n := len(p.lists); n > 0 {
		list := p.lists[n-1]
		p.lists = p.lists[:n-1]
		return list
	}
	return make([]int32, p.n)
}

// largest is Largest for pieces. k is negative if the row's count k is in another piece. If all larger counts are those
// of a, or of b, that piece itself is the result, so that rows that know the same share pieces.
func (p *Pool) largest(a, b *piece, k, n int32) *piece {
	switch {
	case (b == nil || b == a) && (k < 0 || a.at(k) >= n):
		return a
	case a == nil && (k < 0 || b.at(k) >= n):
		return b.share()
	case a == nil || b == nil || a == b:
	case (k < 0 || b.at(k) >= n) && p.covers(b, a):
		p.drop(a)
		return b.share()
	case (k < 0 || a.at(k) >= n) && p.covers(a, b):
		return a
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
		p.drop(a)
	}
	return to
}

// covers reports whether no count of r is smaller than that of o.
func (p *Pool) covers(r, o *piece) bool {
	switch {
	case r.list != nil && o.list != nil:
		list := o.list[:len(r.list)] // for the compiler: no check in the loop
		for i, x := range r.list {
			if x < list[i] {
				return false
			}
		}
		return true
	case r.list != nil:
		return within(o.runs, r.list, 1)
	case o.list != nil:
		return within(r.runs, o.list, -1)
	}
	x, y := p.cursor(r), p.cursor(o)
	for at := int32(0); at < p.n; {
		end := min(x.end, y.end)
		gap, turn := int64(x.value)-int64(y.value), int64(x.slope)-int64(y.slope)
		if gap < 0 || gap+turn*int64(end-1-at) < 0 {
			return false
		}
		x.pass(at, end)
		y.pass(at, end)
		at = end
	}
	return true
}

// inRuns writes largest of a and b, which both have runs, to to, which may be a.
func (p *Pool) inRuns(to, a, b *piece, k, n int32) {
	x, y := p.cursor(a), p.cursor(b)
	w := &p.writer
	w.begin()
	for at := int32(0); at < p.n; {
		end := min(x.end, y.end)
		if at < k {
			end = min(end, k)
		}
		if at == k {
			end = k + 1
			w.put(1, max(x.value, y.value, n), 0)
		} else {
			w.larger(end-at, x.value, x.slope, y.value, y.slope)
		}
		x.pass(at, end)
		y.pass(at, end)
		at = end
	}
	w.end()
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

// inList writes largest of a and b, of which at least one has a list, to to, which may be a.
func (p *Pool) inList(to, a, b *piece, k, n int32) {
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
	if k >= 0 {
		list[k] = max(list[k], n)
	}
	p.Work += int64(p.n/64 + 1)
	if to.list == nil {
		p.empty(to)
		to.list = list
		p.Entries += to.size()
	}
	p.shorten(to)
}

// copyRow copies the counts of r to list, unless list is r's own.
func copyRow(list []int32, r *piece) {
	if r.list == nil {
		fill(list, r.runs)
	} else if &list[0] != &r.list[0] {
		copy(list, r.list)
	}
}

// larger sets each count of to to the larger one of a's and b's.
func larger(to, a, b []int32) {
	a, b = a[:len(to)], b[:len(to)] // for the compiler: no check in the loop
	for i := range to {
		to[i] = max(a[i], b[i])
	}
}

// shorten makes runs of r, which has a list, if these are few: at most half as many as a piece may have. With more,
// pieces would change between runs and lists again and again.
func (p *Pool) shorten(r *piece) {
	bends, before := 0, int32(0) // at most one run begins at each bend
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
	w.end()
	p.empty(r)
	r.runs = append(r.runs, w.runs...)
	p.Entries += r.size()
}
