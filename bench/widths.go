package bench

import (
	"slices"

	"mscclc/executor/launch"
)

// Widths lists the replicas, threads of a block and bytes of a tile that a search tries, each in ascending order.
type Widths struct {
	Replicas, Threads, Tiles []int64

	// First are the widths that Tune and Judge begin at beside a form's own: what is fastest of few replicas is seldom a
	// neighbour of what is of many.
	First []launch.Width
}

// widened returns f as wide as w; where a number of w is 0, f keeps its own.
func widened(f Form, w launch.Width) *Form {
	f.Choice.Width = w.Or(f.Choice.Width)
	return &f
}

// usual are the widths of a search that has no limits.
var usual = &Widths{
	Replicas: []int64{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 132},
	Threads:  []int64{64, 128, 256, 512},
	Tiles:    []int64{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20},
	First: []launch.Width{{Replicas: 8, Threads: 256}, {Replicas: 8, Threads: 512}, {Replicas: 32, Threads: 256},
		{Replicas: 32, Threads: 512}, {Replicas: 64, Threads: 256}, {Replicas: 64, Threads: 512},
		{Replicas: 128, Threads: 256}, {Replicas: 128, Threads: 512}},
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
	at := f.Choice.Width
	add(w.Replicas, int64(at.Replicas), func(f *Form, v int64) { f.Choice.Replicas = int(v) })
	add(w.Threads, int64(at.Threads), func(f *Form, v int64) { f.Choice.Threads = int(v) })
	add(w.Tiles, at.Tile, func(f *Form, v int64) { f.Choice.Tile = v })
	return list
}
