package bench

// Outside returns how many buffers something was written beside.
func (r *Report) Outside() (n int64) {
	for _, p := range r.results() {
		n += p.Outside
	}
	return n
}

// Wrong returns how many elements of ours are not what they should be.
func (r *Report) Wrong() (n int64) {
	for _, p := range r.results() {
		n += p.Wrong
	}
	return n
}

// results returns the results that have a time.
func (r *Report) results() (list []*Result) {
	for _, row := range r.Rows {
		for _, p := range row.places() {
			if p != nil && p.Err == nil {
				list = append(list, p)
			}
		}
	}
	return list
}

// AvgBusBW returns the mean of all bus bandwidths, in GB/s.
func (r *Report) AvgBusBW() float64 {
	sum, n := 0.0, 0
	for _, row := range r.Rows {
		for _, p := range row.places() {
			if p != nil && p.Err == nil {
				_, bus := Bandwidths(r.Coll, row.Bytes, p.Time)
				sum += bus
				n++
			}
		}
	}
	return sum / float64(max(n, 1))
}

// A Speedup says how many times as fast as NCCL a placement is.
type Speedup struct {
	Place     string  `json:"place"`
	GeoMean   float64 `json:"geometric_mean"`
	Least     float64 `json:"least"`
	LeastSize int64   `json:"least_size" doc:"the size of least"`
	Sizes     int     `json:"sizes"`
}

// Speedups returns those of both placements, as far as they were measured.
func (r *Report) Speedups() (list []Speedup) {
	for i, place := range [2]string{"out-of-place", "in-place"} {
		s := Speedup{Place: place}
		var ratios []float64
		for _, row := range r.Rows {
			ratio := row.places()[i].Ratio()
			if ratio == 0 {
				continue
			}
			ratios = append(ratios, ratio)
			if s.Least == 0 || ratio < s.Least {
				s.Least, s.LeastSize = ratio, row.Bytes
			}
		}
		if s.GeoMean, s.Sizes = geoMean(ratios), len(ratios); s.Sizes > 0 {
			list = append(list, s)
		}
	}
	return list
}
