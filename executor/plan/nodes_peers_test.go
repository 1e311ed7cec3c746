//go:build cgo && linux

package plan_test

import (
	"testing"

	"mscclc/executor/data"
	"mscclc/lang"
)

// TestNodesPeers has each rank of a ring of 64 be a node: it is connected with its two neighbours only.
func TestNodesPeers(t *testing.T) {
	world(t)
	list := start(t, catalog(t, "allreduce/ring", lang.Params{"ranks": "64"}, nil), nodesOf(64, 1, 1), 1, 1024)
	for i, m := range list {
		if peers := m.Peers(); len(peers) != 2 {
			t.Errorf("process %d is connected with %v", i, peers)
		}
	}
	must(t, list, 6400, data.I32, data.Sum, 1, 1)
}
