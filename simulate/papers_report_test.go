package simulate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/simulate"
)

// between returns what page has from first on, up to end after it.
func between(page, first, end string) string {
	if i := strings.Index(page, first); i >= 0 {
		if n := strings.Index(page[i+len(first):], end); n >= 0 {
			return page[i : i+len(first)+n]
		}
	}
	return ""
}

const papersHead = `# The papers' comparisons, simulated

What MSCCLang (Cowan and others, ASPLOS 2023), MSCCL++ (Shah and others, 2025) and Swing (De Sensi and others, NSDI
2024) publish of their algorithms, beside what the simulator says of the catalog's on the same machines. The torus of
GPUs for Swing does not exist. A ratio is the time of the baseline by that of the algorithm, each in its fastest
protocol and number of instances for the size. MSCCL++'s are one-sided programs, in their fastest number of lanes,
copies of scratch and replicas. Links are those of topology/machines, costs those of simulate/devices; neither was
fitted to anything here. TestPapers writes this page.

Benchmarks launch calls one after the other and divide, so both sides' times are intervals of such calls. A call of two
kernels has no interval of its own: there, both sides' times are latencies, and the baseline's is the sum of its
kernels'.

| | source | machine | ranks | sizes | published | simulated | is faster |
|---|---|---|---|---|---|---|---|
`

// report returns a comparison's row of the page's table, and its part.
func (x *papers) report(t *testing.T, c *comparison) (line, part string) {
	rows, base := make([]row, len(c.sizes())), x.times(t, c, c.base)
	for i, us := range x.times(t, c, c.ours) {
		rows[i] = row{c.sizes()[i], us, base[i]}
	}
	best := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.ratio(), b.ratio()) })
	faster := fasterAt(rows)
	line = fmt.Sprintf("| %s | %s | %s | %d | %s to %s | %s | up to %.1f | %s |\n", c.title, c.source, c.topology,
		c.ranks, size(c.from), size(rows[len(rows)-1].bytes), c.published, best.ratio(), faster)
	w := &strings.Builder{}
	fmt.Fprintf(w, "\n## %s\n\n", c.title)
	fmt.Fprintf(w, "%s, %d ranks of %s. Baseline: %s. Times are %s.\n\n", c.source, c.ranks, c.topology, c.baseline,
		map[simulate.Figure]string{
			simulate.Latency: "latencies", simulate.Interval: "intervals"}[c.figure])
	fmt.Fprintf(w, "| | ratio |\n|---|---|\n| published | %s |\n| simulated | up to %.1f, at %s; faster %s |\n",
		c.published, best.ratio(), size(best.bytes), faster)
	for _, v := range c.vary {
		most := 0.
		for i, us := range x.times(t, c, v.base) {
			most = max(most, us/rows[i].ours)
		}
		fmt.Fprintf(w, "| simulated %s | up to %.1f |\n", v.what, most)
	}
	if c.why != "" {
		fmt.Fprintf(w, "\n%s\n", c.why)
	}
	fmt.Fprintf(w, "\n| bytes | baseline, us | %s, us | ratio |\n|---|---|---|---|\n",
		strings.ToLower(strings.SplitN(c.title, " against", 2)[0]))
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.2f |\n", size(r.bytes), r.base, r.ours, r.ratio())
	}
	return line, w.String()
}

// fasterAt says at which sizes ours is faster by more than a fiftieth.
func fasterAt(rows []row) string {
	var runs []string
	for i := 0; i < len(rows); i++ {
		first := i
		for i < len(rows) && rows[i].ratio() > 1.02 {
			i++
		}
		switch i - first {
		case 0:
		case 1:
			runs = append(runs, "at "+size(rows[first].bytes))
		default:
			runs = append(runs, fmt.Sprintf("from %s to %s", size(rows[first].bytes), size(rows[i-1].bytes)))
		}
	}
	return cmp.Or(strings.Join(runs, ", "), "never")
}

// size returns a power of two in words.
func size(bytes int64) string {
	for i, unit := range []string{"GB", "MB", "KB"} {
		if shift := 30 - 10*i; bytes >= 1<<shift {
			return fmt.Sprintf("%d %s", bytes>>shift, unit)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
