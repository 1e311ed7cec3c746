package topology

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/diag"
)

// Without returns t without the links that each of names says:
//
//   - pcie: a class
//   - 3, nic[0], node1.nic[0]: all links of a rank, of the NICs 0 of all nodes, of that of node 1
//   - 0-4, gpu[0]-nvswitch: the links between two vertices; 0>4 is one direction
//
// It fails with a diag.List where a name says no link.
func (t *Topology) Without(names []string) (*Topology, error) {
	down := make([]bool, len(t.Links))
	for _, name := range names {
		is, err := t.named(name)
		if err != nil {
			return nil, err
		}
		some := false
		for i := range t.Links {
			if is(&t.Links[i]) {
				some, down[i] = true, true
			}
		}
		if !some {
			return nil, t.noLink(name)
		}
	}
	less := &Topology{Name: t.Name, Doc: t.Doc, Params: t.Params, Nodes: t.Nodes, GPUs: t.GPUs, Apart: t.Apart,
		Device: t.Device, Classes: t.Classes, Places: t.Places, Notes: t.Notes}
	for i, l := range t.Links {
		if !down[i] {
			less.Links = append(less.Links, l)
		}
	}
	return less, nil
}

func (t *Topology) noLink(name string) error {
	var classes []string
	for _, c := range t.Classes {
		classes = append(classes, c.Name)
	}
	return diag.List{diag.New(diag.Parameter, diag.Span{}, "%s has no link %q", t.Name, diag.Printable(name)).
		WithHint("a link is a class (%s), a rank, a vertex as nic[0] or node1.nic[0], or two of these: 0-4, 0>4",
			strings.Join(classes, ", "))}
}

// named returns which links a name says.
func (t *Topology) named(name string) (func(*Link) bool, error) {
	if k := slices.IndexFunc(t.Classes, func(c Class) bool { return c.Name == name }); k >= 0 {
		return func(l *Link) bool { return int(l.Class) == k }, nil
	}
	at := strings.IndexAny(name, "->")
	if at < 0 {
		ends, err := t.ends(name)
		return func(l *Link) bool { return ends[l.From] || ends[l.To] }, err
	}
	from, err := t.ends(name[:at])
	if err != nil {
		return nil, err
	}
	to, err := t.ends(name[at+1:])
	return func(l *Link) bool {
		return from[l.From] && to[l.To] || name[at] == '-' && from[l.To] && to[l.From]
	}, err
}

var placeName = regexp.MustCompile(`^(?:node(\d+)\.)?([A-Za-z_]\w*)(?:\[(\d+)\])?$`)

// ends returns the places that a name says: of a rank, or of a group.
func (t *Topology) ends(name string) (map[int32]bool, error) {
	ends := map[int32]bool{}
	if rank, err := strconv.Atoi(name); err == nil {
		if rank < 0 || rank >= t.Ranks() {
			return nil, diag.List{diag.New(diag.Parameter, diag.Span{}, "%s has ranks 0 to %d, and no rank %d", t.Name,
				t.Ranks()-1, rank)}
		}
		ends[int32(rank)] = true
		return ends, nil
	}
	if m := placeName.FindStringSubmatch(name); m != nil {
		for i, p := range t.Places {
			if p.Group == m[2] && (m[1] == "" || m[1] == fmt.Sprint(p.Node)) && (m[3] == "" || m[3] == fmt.Sprint(p.Index)) {
				ends[int32(i)] = true
			}
		}
	}
	if len(ends) == 0 {
		return nil, t.noLink(name)
	}
	return ends, nil
}
