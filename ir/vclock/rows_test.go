package vclock

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// rowsOf returns the counts of r as a list.
func (r *Row) all(n int32) []int32 {
	list := make([]int32, n)
	for k := range n {
		list[k] = r.At(k)
	}
	return list
}

// TestLargest makes rows of rows at random, shares and drops them, and keeps lists beside them that say what they hold.
func TestLargest(t *testing.T) {
	runs, lists := 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rnd.Int32N([]int32{4, 20, 200}[seed%3])
		p := NewPool(n)
		rows, want := make([]*Row, 6), make([][]int32, 6)
		for i := range want {
			want[i] = make([]int32, n)
		}
		even := rnd.IntN(3) > 0 // ranks do the same one after the other, or anything
		for step := range int32(300) {
			i, j, k, count := rnd.IntN(6), rnd.IntN(6), rnd.Int32N(n), rnd.Int32N(1000)
			if even {
				i, j, k, count = int(step%6), int((step+5)%6), step%n, 3*(step/n)
			}
			switch rnd.IntN(8) {
			case 0: // i becomes what j is
				before := rows[i]
				rows[i] = rows[j].Share()
				p.Drop(before)
				copy(want[i], want[j])
			case 1:
				rows[i] = p.Largest(rows[i], nil, k, count)
				want[i][k] = max(want[i][k], count)
			default:
				rows[i] = p.Largest(rows[i], rows[j], k, count)
				for x := range want[i] {
					want[i][x] = max(want[i][x], want[j][x])
				}
				want[i][k] = max(want[i][k], count)
			}
			entries, seen := int64(0), map[*Row]int32{}
			for x, r := range rows {
				if got := r.all(n); !slices.Equal(got, want[x]) {
					t.Fatalf("seed %d, step %d: row %d is %v, not %v", seed, step, x, got, want[x])
				}
				if r == nil {
					continue
				}
				if seen[r]++; seen[r] == 1 {
					entries += r.size()
				}
				if r.list != nil {
					lists++
				} else {
					runs++
				}
			}
			for r, users := range seen {
				if users != r.users {
					t.Fatalf("seed %d, step %d: a row has %d users, and says %d", seed, step, users, r.users)
				}
			}
			if entries != p.Entries {
				t.Fatalf("seed %d, step %d: rows have %d entries, and the pool says %d", seed, step, entries, p.Entries)
			}
		}
	}
	if runs < 1000 || lists < 1000 {
		t.Errorf("%d rows were runs, and %d were lists: that tests too little", runs, lists)
	}
}

// TestRing has each of many ranks learn what the one before it knows, round by round: rows stay short.
func TestRing(t *testing.T) {
	const n = 500
	p := NewPool(n)
	rows := make([]*Row, n)
	for round := range int32(2 * n) {
		next := make([]*Row, n)
		for r := range int32(n) {
			from := (r + n - 1) % n
			next[r] = p.Largest(rows[r].Share(), rows[from], from, 3*round+1)
		}
		for r := range rows {
			p.Drop(rows[r])
			rows[r] = next[r]
			if rows[r].list != nil || len(rows[r].runs) > 5 {
				t.Fatalf("round %d: rank %d has %d runs", round, r, len(rows[r].runs))
			}
		}
	}
	for k := range int32(n) {
		if got, want := rows[0].At(k), 3*(2*n-1-(n-k)%n)+1; k > 0 && got != want+3 {
			t.Fatalf("count %d is %d, not %d", k, got, want+3)
		}
	}
}
