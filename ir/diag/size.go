package diag

import "fmt"

// Units are those that sizes are read in, the largest first: each is 1<<Shift bytes.
var Units = [...]struct {
	Shift int
	Name  string
}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}}

// SizeText returns a number of bytes as a person reads it: 128 MiB, in the largest unit that divides it.
// A number less than 1 KiB below a multiple of a GiB or MiB is named by that: 4 GiB less 128 B. All others are in B.
func SizeText(n int64) string {
	for _, u := range Units {
		if n >= 1<<u.Shift && n%(1<<u.Shift) == 0 {
			return fmt.Sprintf("%d %s", n>>u.Shift, u.Name)
		}
	}
	for _, u := range Units[:2] {
		if less := -n & (1<<u.Shift - 1); n > 1<<u.Shift && less < 1<<10 {
			return fmt.Sprintf("%d %s less %d B", n>>u.Shift+1, u.Name, less)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// RoughSize is n in three digits.
func RoughSize(n int64) string {
	for _, u := range Units {
		if n >= 1<<u.Shift {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(int64(1)<<u.Shift), u.Name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
