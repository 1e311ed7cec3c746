package bench

import (
	"cmp"
	"slices"
)

// Widths lists the replicas, threads of a block and bytes of a tile that a search tries, each in ascending order.
type Widths struct {
	Columns, Threads, Tiles []int64

	// First are the widths that Tune and Judge begin at beside a form's own: what is fastest of few replicas is seldom a
	// neighbour of what is of many.
	First []Width
}

// A Width is how wide a form runs. Where a number is 0, the form keeps its own.
type Width struct {
	Columns, Threads int
	Tile             int64
}

// Of is f as wide.
func (w Width) Of(f Form) *Form {
	f.Columns, f.Threads, f.Tile = cmp.Or(w.Columns, f.Columns), cmp.Or(w.Threads, f.Threads), cmp.Or(w.Tile, f.Tile)
	return &f
}

// usual are the widths of a search that has no limits.
var usual = &Widths{
	Columns: []int64{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 132},
	Threads: []int64{64, 128, 256, 512},
	Tiles:   []int64{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20},
	First: []Width{{Columns: 8, Threads: 256}, {Columns: 8, Threads: 512}, {Columns: 32, Threads: 256},
		{Columns: 32, Threads: 512}, {Columns: 64, Threads: 256}, {Columns: 64, Threads: 512},
		{Columns: 128, Threads: 256}, {Columns: 128, Threads: 512}},
}

// neighbours are forms a step wider or narrower in one of the three. What the
// executor chose is not known, so that from there the middle is tried.
func neighbours(f *Form, w *Widths) []*Form {
	var list []*Form
	add := func(steps []int64, now int64, set func(f *Form, v int64)) {
		i, there := slices.BinarySearch(steps, now)
		around := []int{i - 1, i}
		if there {
			around = []int{i - 1, i + 1}
		}
		if now == 0 {
			around = []int{len(steps) / 4, len(steps) / 2, 3 * len(steps) / 4}
		}
		for _, k := range around {
			if k >= 0 && k < len(steps) {
				g := *f
				set(&g, steps[k])
				list = append(list, &g)
			}
		}
	}
	add(w.Columns, int64(f.Columns), func(f *Form, v int64) { f.Columns = int(v) })
	add(w.Threads, int64(f.Threads), func(f *Form, v int64) { f.Threads = int(v) })
	add(w.Tiles, f.Tile, func(f *Form, v int64) { f.Tile = v })
	return list
}
