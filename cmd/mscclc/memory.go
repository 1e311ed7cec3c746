package main

import (
	"bytes"
	"fmt"
	"os"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// checkMemory refuses a run whose buffers, references and scratch this machine
// has no memory for. Where it does not say how much it has, nothing is refused.
func checkMemory(p *ir.Program, geo data.Geometry, size int64) error {
	need, longest := float64(0), int64(0)
	for r := range p.Coll.Ranks {
		in, out, _, _, mem := geo.Buffers(r)
		need += float64(size) * (2*float64(in) + float64(out))
		if mem > 0 {
			need += float64(size) * (float64(mem) - float64(in) - float64(out))
		}
		if r < len(p.Scratch) {
			need += float64(size) * float64(p.Scratch[r]) * float64(geo.Chunk)
		}
		longest = max(longest, out)
	}
	need += 16 * float64(longest) // the reference and its bounds
	return refuseMemory(need, "give fewer --bytes")
}

// checkMemory refuses to measure sizes whose buffers, and scratch of the file's
// two-sided programs, this machine has no memory for. One-sided scratch is of a tile.
func (w *benchWorld) checkMemory() error {
	most := float64(0)
	for _, c := range w.calls() {
		need, size := float64(0), float64(c.DType.Size())
		geo := c.Geometry()
		for r := range c.Coll.Ranks {
			in, out, _, _, mem := geo.Buffers(r)
			if c.Coll.Inplace {
				in, out = mem, 0
			}
			need += size * (float64(in) + float64(out))
			for _, p := range w.given {
				if p != nil && p.OneSided == nil && p.Coll.Inplace == c.Coll.Inplace && r < len(p.Scratch) {
					need += size * float64(p.Scratch[r]) * float64(c.Elems) / float64(max(p.Coll.Chunks, 1))
				}
			}
		}
		most = max(most, need)
	}
	return refuseMemory(most, "end at a smaller size (-e)")
}

func refuseMemory(need float64, hint string) error {
	if available := availableMemory(); available > 0 && need > available {
		return diag.List{diag.New(diag.Unavailable, diag.Span{},
			"the run needs %.1f GiB of memory, and this machine has %.1f GiB left", need/(1<<30), available/(1<<30)).
			WithHint("%s", hint)}
	}
	return nil
}

// availableMemory is what the system can hand out, or 0 where it does not say.
func availableMemory() float64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(text, []byte("MemAvailable:"))
	var kib float64
	if _, err := fmt.Sscan(string(rest[:min(len(rest), 64)]), &kib); !ok || err != nil {
		return 0
	}
	return kib * 1024
}
