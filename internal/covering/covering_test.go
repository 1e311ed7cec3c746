package covering

import (
	"fmt"
	"testing"
)

// pairsOf returns how many pairs of values of two factors are in rows.
func pairsOf(rows [][]int, f, g int) int {
	met := map[[2]int]bool{}
	for _, row := range rows {
		met[[2]int{row[f], row[g]}] = true
	}
	return len(met)
}

// covers asks that any two values of any two factors meet in rows.
func covers(t *testing.T, sizes []int, rows [][]int) {
	t.Helper()
	for f := range sizes {
		for g := f + 1; g < len(sizes); g++ {
			if n := pairsOf(rows, f, g); n != sizes[f]*sizes[g] {
				t.Errorf("%v: of factors %d and %d, %d pairs meet, want %d", sizes, f, g, n, sizes[f]*sizes[g])
			}
		}
	}
}

var factors = [][]int{{3}, {2, 2}, {15, 3, 4, 4, 2, 2}, {4, 3, 4, 4, 1, 2}, {1, 1, 1}, {16, 12, 4, 2, 2}, {24, 4, 2}}

func TestPairwise(t *testing.T) {
	for _, sizes := range factors {
		rows := Pairwise(sizes)
		largest, second := 0, 1
		for _, n := range sizes {
			if n >= largest {
				largest, second = n, max(largest, 1)
			} else {
				second = max(second, n)
			}
		}
		if least := largest * second; len(rows) < least || len(rows) > least+least/2+6 {
			t.Errorf("%v: %d rows, want %d and few more", sizes, len(rows), least)
		}
		covers(t, sizes, rows)
	}
}

func TestProduct(t *testing.T) {
	for _, sizes := range factors {
		want, seen := 1, map[string]bool{}
		for _, n := range sizes {
			want *= n
		}
		for _, row := range Product(sizes) {
			seen[fmt.Sprint(row)] = true
		}
		if len(seen) != want {
			t.Errorf("%v: %d rows, want %d", sizes, len(seen), want)
		}
	}
}

// TestEach: the rows of one turn hold each value of each factor, those of as many turns as the catalog has programs
// each pair of values.
func TestEach(t *testing.T) {
	const programs = 60
	for _, sizes := range factors {
		var all [][]int
		for turn := range programs {
			rows := Each(sizes, turn)
			for f, n := range sizes {
				if met := pairsOf(rows, f, f); met != n {
					t.Errorf("%v, turn %d: factor %d has %d values, want %d", sizes, turn, f, met, n)
				}
			}
			all = append(all, rows...)
		}
		covers(t, sizes, all)
	}
}

func TestTakes(t *testing.T) {
	for _, period := range []int{1, 3, 4, 16} {
		phases, taken := map[int]bool{}, 0
		for n := range period * period {
			if Takes(n, period) {
				taken++
				phases[n%period] = true
			}
		}
		if taken != period || len(phases) != period {
			t.Errorf("one in %d: %d of %d are taken, at %d phases", period, taken, period*period, len(phases))
		}
	}
}

func TestRows(t *testing.T) {
	sizes := []int{5, 3, 2}
	for _, c := range []struct {
		asked       string
		rows, share int
	}{{"", 5, 3}, {"ci", len(Pairwise(sizes)), 10}, {"full", 30, 10}} {
		t.Setenv(Variable, c.asked)
		if n, share := len(Rows(sizes, 1)), Share(10); n != c.rows || share != c.share {
			t.Errorf("%s=%s: %d rows, want %d; %d of 10, want %d", Variable, c.asked, n, c.rows, share, c.share)
		}
	}
}
