package channels

import (
	"math/rand"
	"testing"
)

// TestComponents compares the components of random graphs with which nodes reach each other.
func TestComponents(t *testing.T) {
	cycles := 0
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		n := 1 + rnd.Intn(7)
		edges, reach := make([][]int32, n), make([][7]bool, n)
		for range rnd.Intn(2 * n) {
			i, j := rnd.Intn(n), rnd.Intn(n)
			edges[i] = append(edges[i], int32(j))
			reach[i][j] = true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		of, cycle := components(edges)
		last := int32(-1)
		for i := range n {
			for j := range n {
				if same := i == j || reach[i][j] && reach[j][i]; same != (of[i] == of[j]) {
					t.Fatalf("%v: %d and %d are of components %d and %d", edges, i, j, of[i], of[j])
				}
				if i != j && of[i] == of[j] {
					last = int32(i)
				}
			}
		}
		if cycle != last {
			t.Fatalf("%v: cycle at %d, want %d", edges, cycle, last)
		}
		if last >= 0 {
			cycles++
		}
	}
	if cycles < 50 {
		t.Errorf("only %d graphs had a cycle", cycles)
	}
}
