package simulate_test

import (
	"testing"

	"mscclc"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/simulate/devices"
)

// lowered compiles a text to a one-sided program whose messages are those of a two-sided one.
func lowered(t *testing.T, text string) *either.Program {
	t.Helper()
	proto := ir.Simple
	p, err := mscclc.Compile("pinned.mscl", []byte(text), mscclc.Options{Lang: lang.Options{Protocol: &proto}})
	if err != nil {
		t.Fatal(err)
	}
	p, err = mscclc.Lower(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMessagesOfNodes: a message costs the proxies of both ends a time each, and they do one after the other: the next
// while the last is on its way. Up to 64 replicas have one message. Between ranks of a node there is no proxy. The way
// is 4 us from node to node, and links move 1,000 bytes a microsecond.
func TestMessagesOfNodes(t *testing.T) {
	const way, message = 4, 10
	costs := free()
	costs.Network.Message = message
	for _, c := range []struct {
		name  string
		text  string
		bytes int64
		many  int // replicas, whose tiles are whole; below 0 they are not
		want  float64
	}{
		{"one", pairs(8, [2]int{0, 4}), 100_000, 1, message + way + 100 + message},
		{"two from one rank, by one NIC", pairs(8, [2]int{0, 4}, [2]int{0, 5}), 100_000, 1, message + way + 200 + message},
		{"two short ones from one rank", pairs(8, [2]int{0, 4}, [2]int{0, 5}), 1000, 1, 2*message + way + 1 + message},
		{"two short ones from two ranks", pairs(8, [2]int{0, 4}, [2]int{1, 5}), 1000, 1, message + way + 2 + message},
		{"of four replicas, side by side", pairs(8, [2]int{0, 4}), 100_000, 4, message + way + 100 + message},
		{"of four replicas, with the counts", pairs(8, [2]int{0, 4}), 8000, 4, message + way + 8 + message},
		{"of 128 replicas, with the counts", pairs(8, [2]int{0, 4}), 8192, 128, 2*message + way + 4.096 + message},
		{"of 128 replicas", pairs(8, [2]int{0, 4}), 128_000, 128, message + way + 128 + message},
		{"of four replicas, whose tiles are not whole", pairs(8, [2]int{0, 4}), 12_000, -4, 4*message + way + 3 + message},
	} {
		call := simulate.Call{Bytes: c.bytes, DType: data.F32,
			Width: launch.Width{Replicas: max(c.many, -c.many), Tile: c.bytes}}
		if c.many > 0 {
			call.Tile /= int64(c.many)
		}
		topo := machine(t, map[string]int{"nodes": 2, "nics": 1})
		exact(t, c.name, run(t, lowered(t, c.text), topo, costs, call).Micros, c.want)
	}
}

// TestSharedCosts: a signal for another node holds its block up, and one within a node does not. The ranks of a node
// share its memory.
func TestSharedCosts(t *testing.T) {
	topo, call := machine(t, map[string]int{"nodes": 2, "nics": 1}), simulate.Call{Bytes: 100_000, DType: data.F32,
		Width: launch.Width{Replicas: 1, Tile: 100_000}}
	took := func(to int, change func(*devices.Costs)) float64 {
		costs := free()
		change(costs)
		return run(t, lowered(t, pairs(8, [2]int{0, to})), topo, costs, call).Micros
	}
	signals := func(c *devices.Costs) { c.Network.Signal = 7 }
	exact(t, "a signal each way", took(4, signals), took(4, func(*devices.Costs) {})+2*7)
	exact(t, "a signal within a node", took(1, signals), took(1, func(*devices.Costs) {}))
	for _, c := range []struct{ memory, node, is float64 }{{1e6, 400, 100}, {50, 400, 50}, {200, 0, 200}} {
		exact(t, "memory", took(4, func(s *devices.Costs) { s.Memory, s.Node = c.memory, c.node }),
			took(4, func(s *devices.Costs) { s.Memory = c.is }))
	}
}
