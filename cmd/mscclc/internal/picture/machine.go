package picture

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"mscclc/topology"
)

// A Machine is a picture of a topology: its places and links, and what is shown on them.
type Machine struct {
	Topology *topology.Topology
	Title    string
	Notes    []string          // lines below the title
	Ways     [][]Way           // a colour each: trees, or routes
	Cut      map[[2]int]string // by places: what limits the machine, with the width of its line
	Inside   []int             // places of the cut's set
}

// A Way is places one after the other, and how thick its line is.
type Way struct {
	Places []int
	Width  float64
}

// A picture's measures in pixels: how far GPUs of a node are from its middle, and how far ways lie beside each other.
const (
	leastRadius = 150
	gpuSpace    = 62 // on the circle
	besideRoom  = 46 // around a circle
	beside      = 5.
	placeRadius = 15
)

// MostPlaces is how many places a machine has at most that is drawn.
const MostPlaces = 400

// wayColours differ for those who see few colours, too (Okabe and Ito).
var wayColours = []string{"#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#555555"}

const cutColour, insideColour, linkColour = "#d00000", "#ffd6d6", "#cccccc"

// A spot is where a place is drawn.
type spot struct{ x, y float64 }

// Write draws m as SVG. Nodes are circles of GPUs side by side; NICs and switches lie between what they join.
func (m *Machine) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	radius := max(leastRadius, float64(m.Topology.GPUs)*gpuSpace/(2*math.Pi))
	across := int(math.Ceil(math.Sqrt(float64(m.Topology.Nodes))))
	down := (m.Topology.Nodes + across - 1) / across
	top := 24 + float64(len(m.Notes)+1)*lineHeight
	size := 2 * (radius + besideRoom)
	wide := max(float64(across)*size, 760)
	left := (wide - float64(across)*size) / 2
	svgHead(out, int(wide), int(top+float64(down)*size))
	svgText(out, 16, 20, ` font-size="14"`, m.Title)
	for i, note := range m.Notes {
		svgText(out, 16, 20+(i+1)*lineHeight, "", note)
	}
	spots := m.spots(radius, func(node int) spot {
		return spot{left + (float64(node%across)+0.5)*size, top + (float64(node/across)+0.5)*size}
	})
	m.links(out, spots)
	m.ways(out, spots)
	m.places(out, spots)
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// spots returns where places are: GPUs on circles, and others in the middle of what they have links with, NICs a little
// outside.
func (m *Machine) spots(radius float64, middle func(node int) spot) []spot {
	t := m.Topology
	list, near := make([]spot, len(t.Places)), make([][]int32, len(t.Places))
	for _, l := range t.Links {
		near[l.From] = append(near[l.From], l.To)
	}
	for p := range t.Places {
		c := middle(max(0, t.Places[p].Node))
		if list[p] = c; t.Places[p].Kind == topology.GPU {
			angle := 2*math.Pi*float64(t.Places[p].Index)/float64(t.GPUs) - math.Pi/2
			list[p] = spot{c.x + radius*math.Cos(angle), c.y + radius*math.Sin(angle)}
		}
	}
	for range 30 {
		for p := range t.Places {
			if t.Places[p].Kind == topology.GPU || len(near[p]) == 0 {
				continue
			}
			var s spot
			for _, o := range near[p] {
				s.x, s.y = s.x+list[o].x/float64(len(near[p])), s.y+list[o].y/float64(len(near[p]))
			}
			list[p] = s
		}
	}
	apart(list, func(p int) bool { return t.Places[p].Kind == topology.GPU })
	return list
}

// apart moves places that lie on others, unless they are fixed.
func apart(list []spot, fixed func(p int) bool) {
	const least = 2.4 * placeRadius
	for range 60 {
		for p := range list {
			for o := range list {
				dx, dy := list[p].x-list[o].x, list[p].y-list[o].y
				far := math.Hypot(dx, dy)
				if p == o || far >= least || fixed(p) {
					continue
				}
				if far < 1 {
					angle := float64(p) // any, but not that of another
					dx, dy, far = math.Cos(angle), math.Sin(angle), 1
				}
				list[p].x += dx / far * (least - far) / 2
				list[p].y += dy / far * (least - far) / 2
			}
		}
	}
}

// links draws the links of both directions as one line, and those of the cut in colour.
func (m *Machine) links(out io.Writer, spots []spot) {
	drawn := map[[2]int]bool{}
	for _, l := range m.Topology.Links {
		a, b := int(min(l.From, l.To)), int(max(l.From, l.To))
		if drawn[[2]int{a, b}] {
			continue
		}
		drawn[[2]int{a, b}] = true
		colour, width := linkColour, "1.5"
		for _, k := range [][2]int{{a, b}, {b, a}} {
			if text, cut := m.Cut[k]; cut {
				colour, width = cutColour, text
			}
		}
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%s" opacity="0.6"/>`+"\n",
			spots[a].x, spots[a].y, spots[b].x, spots[b].y, colour, width)
	}
}

// ways draws ways beside each other, with an arrow in the middle of each part.
func (m *Machine) ways(out io.Writer, spots []spot) {
	lanes := map[[2]int]int{}
	for i, tree := range m.Ways {
		colour := wayColours[i%len(wayColours)]
		for _, way := range tree {
			for k := 1; k < len(way.Places); k++ {
				a, b := way.Places[k-1], way.Places[k]
				lanes[[2]int{a, b}]++
				m.arrow(out, spots[a], spots[b], float64(lanes[[2]int{a, b}])*beside, colour, way.Width)
			}
		}
	}
}

// arrow draws a line from a to b, moved to its right side.
func (m *Machine) arrow(out io.Writer, a, b spot, by float64, colour string, width float64) {
	far := math.Hypot(b.x-a.x, b.y-a.y)
	if far < 1 {
		return
	}
	ux, uy := (b.x-a.x)/far, (b.y-a.y)/far
	by = min(by, placeRadius-2)
	a, b = spot{a.x - uy*by, a.y + ux*by}, spot{b.x - uy*by, b.y + ux*by}
	at := spot{a.x + (b.x-a.x)*0.6, a.y + (b.y-a.y)*0.6}
	const head = 7
	fmt.Fprintf(out, `<g stroke="%s" fill="%s"><line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="%.1f"/>`, colour,
		colour, a.x, a.y, b.x, b.y, width)
	fmt.Fprintf(out, `<path d="M%.1f %.1f L%.1f %.1f L%.1f %.1f Z"/></g>`+"\n", at.x+ux*head, at.y+uy*head,
		at.x-uy*head/2, at.y+ux*head/2, at.x+uy*head/2, at.y-ux*head/2)
}

// places draws GPUs as circles with their ranks, and others as small boxes.
func (m *Machine) places(out io.Writer, spots []spot) {
	order := make([]int, len(spots))
	for p := range order {
		order[p] = p
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(m.Topology.Places[b].Kind, m.Topology.Places[a].Kind)
	})
	for _, p := range order {
		fill := "#ffffff"
		if slices.Contains(m.Inside, p) {
			fill = insideColour
		}
		at, of := spots[p], m.Topology.Places[p]
		if of.Kind == topology.GPU {
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="%d" fill="%s" stroke="#333333"/>`+"\n", at.x, at.y, placeRadius, fill)
			svgText(out, int(at.x), int(at.y)+4, ` text-anchor="middle"`, fmt.Sprint(p))
			continue
		}
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="22" height="14" rx="3" fill="%s" stroke="#777777"/>`+"\n", at.x-11,
			at.y-7, fill)
		name := of.Group
		if r := []rune(name); len(r) > 4 {
			name = string(r[:4])
		}
		svgText(out, int(at.x), int(at.y)+3, ` text-anchor="middle" font-size="8"`, name)
	}
}
