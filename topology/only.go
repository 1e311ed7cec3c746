package topology

import "mscclc/ir/diag"

// Only returns t with some of its GPUs as ranks. gpus is indexed by rank. Other GPUs are left out with their links.
// It fails with a diag.List where the ranks are not node by node, equally many of each node.
func (t *Topology) Only(gpus []int32) (*Topology, error) {
	nodes := t.nodesOf(gpus)
	if nodes == nil {
		return nil, diag.List{diag.New(diag.Unsupported, diag.Span{},
			"the ranks are not node by node, equally many GPUs of each node")}
	}
	less := &Topology{Name: t.Name, Doc: t.Doc, Params: t.Params, Nodes: len(nodes), GPUs: len(gpus) / len(nodes),
		Device: t.Device, Classes: t.Classes, Notes: t.Notes}
	number := make([]int32, len(t.Places)) // indexed by place: its number in less and 1, or 0
	for r, g := range gpus {
		place := t.Places[g]
		place.Node, place.Index = r/less.GPUs, r%less.GPUs
		less.Places = append(less.Places, place)
		number[g] = int32(len(less.Places))
	}
	for i, place := range t.Places[t.Ranks():] {
		if n, ok := nodes[place.Node]; ok {
			place.Node = n
		} else {
			place.Node = -1
		}
		less.Places = append(less.Places, place)
		number[t.Ranks()+i] = int32(len(less.Places))
	}
	for _, l := range t.Links {
		if from, to := number[l.From], number[l.To]; from > 0 && to > 0 {
			l.From, l.To = from-1, to-1
			less.Links = append(less.Links, l)
		}
	}
	return less, nil
}

// nodesOf numbers the nodes of GPUs in their order. It is nil where the GPUs are not node by node, or not equally many
// of each.
func (t *Topology) nodesOf(gpus []int32) map[int]int {
	nodes, each := map[int]int{}, []int{}
	for _, g := range gpus {
		node := int(g) / t.GPUs
		n, known := nodes[node]
		switch {
		case !known:
			nodes[node] = len(each)
			each = append(each, 0)
		case n != len(each)-1:
			return nil
		}
		each[len(each)-1]++
	}
	for _, count := range each {
		if count != each[0] {
			return nil
		}
	}
	return nodes
}
