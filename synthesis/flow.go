package synthesis

import (
	"math"

	"mscclc/internal/maxflow"
)

// infinite is a capacity that no flow uses up.
const infinite = math.MaxInt64 / 4

// A flow finds maximum flows in a network.
type flow struct {
	maxflow.Network
	of map[[2]int32]int32 // by ends: the edge of a network's arc
}

// newFlow makes the flow of a network, with room for some more vertices after its own.
func newFlow(net *network, more int) *flow {
	f := &flow{of: map[[2]int32]int32{}}
	f.Grow(net.n + more)
	for _, k := range net.sorted() {
		u, v := k[0], k[1]
		if u > v && len(net.arcs[[2]int32{v, u}]) > 0 {
			continue // added with its reverse
		}
		e := f.Add(u, v, net.cap(u, v), net.cap(v, u))
		f.of[[2]int32{u, v}], f.of[[2]int32{v, u}] = e, e+1
	}
	return f
}

// arc adds an arc, which is there until Cut takes it away.
func (f *flow) arc(u, v int32, c int64) { f.Add(u, v, c, 0) }

// set changes the capacity of an arc of the network.
func (f *flow) set(u, v int32, c int64) { f.Set(f.of[[2]int32{u, v}], c) }
