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
	runs, lists, several, common := 0, 0, 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rnd.Int32N([]int32{4, 20, 200}[seed%3])
		p := NewPool(n, []int32{1, 3, 7, n}[seed/3%4])
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
			entries, seen, pieces := int64(0), map[*Row]int32{}, map[*piece]int32{}
			for x, r := range rows {
				if got := r.all(n); !slices.Equal(got, want[x]) {
					t.Fatalf("seed %d, step %d: row %d is %v, not %v", seed, step, x, got, want[x])
				}
				if r == nil {
					continue
				}
				if seen[r]++; seen[r] > 1 {
					continue
				}
				for _, x := range r.pieces {
					if x == nil {
						continue
					}
					if pieces[x]++; pieces[x] == 1 {
						entries += x.size()
					}
					if x.list != nil {
						lists++
					} else {
						runs++
					}
				}
				several += len(r.pieces) - 1
			}
			for r, users := range seen {
				if users != r.users {
					t.Fatalf("seed %d, step %d: a row has %d users, and says %d", seed, step, users, r.users)
				}
			}
			for x, users := range pieces {
				if users != x.users {
					t.Fatalf("seed %d, step %d: a piece has %d users, and says %d", seed, step, users, x.users)
				}
				common += int(users) - 1
			}
			if entries != p.Entries {
				t.Fatalf("seed %d, step %d: rows have %d entries, and the pool says %d", seed, step, entries, p.Entries)
			}
		}
	}
	if min(runs, lists, several, common) < 1000 {
		t.Errorf("%d pieces were runs, %d were lists, %d were second and later ones, and %d were another row's too: that "+
			"tests too little", runs, lists, several, common)
	}
}

// TestRing has each of many ranks learn what the one before it knows, round by round: rows stay short.
func TestRing(t *testing.T) {
	const n = 500
	p := NewPool(n, n)
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
			if x := rows[r].pieces[0]; x.list != nil || len(x.runs) > 5 {
				t.Fatalf("round %d: rank %d has %d runs", round, r, len(x.runs))
			}
		}
	}
	for k := range int32(n) {
		if got, want := rows[0].At(k), 3*(2*n-1-(n-k)%n)+1; k > 0 && got != want+3 {
			t.Fatalf("count %d is %d, not %d", k, got, want+3)
		}
	}
}

// TestLargestOf asks that the parts that are asked for are those of Largest, and that others are between the first row
// and Largest.
func TestLargestOf(t *testing.T) {
	partly := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		n := 1 + rnd.Int32N(700)
		p := NewPool(n, 1+rnd.Int32N(3))
		rows := make([]*Row, 5)
		for range 100 {
			i, j, k, count, parts := rnd.IntN(5), rnd.IntN(5), rnd.Int32N(n), rnd.Int32N(100), rnd.Uint64()&rnd.Uint64()
			before, full := rows[i].all(n), p.Largest(rows[i].Share(), rows[j], k, count)
			rows[i] = p.LargestOf(rows[i], rows[j], k, count, parts)
			for x, want := range full.all(n) {
				got := rows[i].At(int32(x))
				if parts&p.Part(int32(x)) == 0 && got >= before[x] && got < want {
					partly++
				} else if got != want {
					t.Fatalf("seed %d: count %d is %d, and was %d; Largest has %d", seed, x, got, before[x], want)
				}
			}
			p.Drop(full)
		}
	}
	if partly < 1000 {
		t.Errorf("only %d counts are smaller than those of Largest", partly)
	}
}

// TestWithin has each rank learn, round by round, what the ranks of its place on other nodes know: rows stay short
// where their counts are in the order of places, and do not where they are in that of ranks.
func TestWithin(t *testing.T) {
	const nodes, gpus = 32, 8
	node := make([]int32, nodes*gpus)
	for r := range node {
		node[r] = int32(r / gpus)
	}
	within := Within(node, nodes*gpus)
	if want := []int32{0, 1, 2, 3, 4, 5, 6, 7, 0}; !slices.Equal(within[:9], want) || within[nodes*gpus-1] != gpus-1 {
		t.Fatalf("places within nodes are %v", within)
	}
	if got := Within(nil, 3); !slices.Equal(got, []int32{0, 0, 0}) {
		t.Errorf("places are %v without nodes", got)
	}
	lists := func(count func(rank int32) int32) (lists int) {
		p := NewPool(nodes*gpus, nodes*gpus)
		rows := make([]*Row, nodes*gpus)
		for round := range int32(nodes - 1) {
			next := make([]*Row, len(rows))
			for r := range int32(len(rows)) {
				from := (r + gpus) % int32(len(rows))
				next[r] = p.Largest(rows[r].Share(), rows[from], count(from), 3*round+1)
				if next[r].pieces[0].list != nil {
					lists++
				}
			}
			for r := range rows {
				p.Drop(rows[r])
				rows[r] = next[r]
			}
		}
		return lists
	}
	if n := lists(func(r int32) int32 { return within[r]*nodes + r/gpus }); n > 0 {
		t.Errorf("%d rows are lists in the order of places", n)
	}
	if n := lists(func(r int32) int32 { return r }); n == 0 {
		t.Error("no row is a list in the order of ranks: that tests nothing")
	}
}
