package synthcmd

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/picture"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// draw draws the machine with the trees of one rank, and what proves the bound in colour.
func draw(w io.Writer, t *topology.Topology, doc *Document, c *certificate.Certificate) error {
	if len(t.Places) > picture.MostPlaces {
		return cli.Usagef("--svg draws machines of up to %d GPUs, NICs and switches: %s has %d", picture.MostPlaces, t.Name,
			len(t.Places))
	}
	m := &picture.Machine{Topology: t, Cut: map[[2]int]string{}}
	list, back := c.Spread, false
	if len(list) == 0 {
		list, back = c.Gather, true
	}
	root := slices.MinFunc(list, func(a, b certificate.Tree) int { return cmp.Compare(a.Root, b.Root) }).Root
	for _, tree := range list {
		if tree.Root == root {
			m.Ways = append(m.Ways, ways(&tree, back))
		}
	}
	shown := fmt.Sprintf("The %s of GPU %d are drawn, a colour each.", doc.shape, c.Ranks[root])
	switch {
	case len(c.Lengths) > 0:
		shown += " Red links limit it, the thicker the more."
		lengths(m, c.Lengths)
	case len(c.Cuts) > 0:
		shown += " The red links limit it: those of a cut, one side of which is shaded."
		cut(m, t, &c.Cuts[0])
	}
	m.Title = fmt.Sprintf("%s by %s, for %s", doc.Collective, doc.shape, doc.on())
	m.Notes = append(doc.lines(), shown)
	return m.Write(w)
}

// ways returns the ways of a tree. Data goes against the hops of trees that gather.
func ways(t *certificate.Tree, back bool) (list []picture.Way) {
	for _, h := range t.Hops {
		for _, w := range h.Ways {
			one := picture.Way{Width: 1 + math.Log2(float64(w.Count))/2}
			for i := range w.Places {
				if p := w.Places[i]; !back {
					one.Places = append(one.Places, p)
				} else {
					one.Places = append([]int{p}, one.Places...)
				}
			}
			list = append(list, one)
		}
	}
	return list
}

// cut marks the links that lead out of a cut, or into it, and the GPUs of its smaller side. Where all GPUs reach each
// other without the network, its links do not count (package bound).
func cut(m *picture.Machine, t *topology.Topology, c *certificate.Cut) {
	inside := map[int32]bool{}
	for _, p := range c.Places {
		inside[int32(p)] = true
	}
	domains, apart, in := t.Domains(), false, 0
	for g := range int32(t.Ranks()) {
		apart = apart || domains[g] != domains[0]
		if inside[g] {
			in++
		}
	}
	for g := range int32(t.Ranks()) {
		if inside[g] == (2*in <= t.Ranks()) {
			m.Inside = append(m.Inside, int(g))
		}
	}
	for _, l := range t.Links {
		if inside[l.From] != inside[l.To] && (apart || !t.Classes[l.Class].Network) {
			m.Cut[[2]int{int(l.From), int(l.To)}] = "4"
		}
	}
}

// lengths marks links by their lengths.
func lengths(m *picture.Machine, list []certificate.Length) {
	most := int64(1)
	for _, l := range list {
		most = max(most, l.Value)
	}
	for _, l := range list {
		m.Cut[[2]int{l.From, l.To}] = fmt.Sprintf("%.1f", 1.5+3.5*float64(l.Value)/float64(most))
	}
}
