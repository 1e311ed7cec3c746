package diag

import (
	"slices"
	"strings"
)

// Spelled returns the name that word is, in capitals or not. It is not ok where word is none of names.
func Spelled(word string, names []string) (name string, ok bool) {
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, word) })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// Meant returns the name that word is, or is most probably a slip of, in capitals or not, or "".
func Meant(word string, names []string) string {
	if name, ok := Spelled(word, names); ok {
		return name
	}
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	if near := Nearest(strings.ToLower(word), lower); near != "" {
		return names[slices.Index(lower, near)]
	}
	return ""
}

// Slip returns the name that word is but for capitals or one edit (distance), or "". A word that is one of names is no
// slip.
func Slip(word string, names []string) string {
	if slices.Contains(names, word) || len(word) > 64 {
		return ""
	}
	if name, ok := Spelled(word, names); ok {
		return name
	}
	for _, name := range names {
		if max(len(name)-len(word), len(word)-len(name)) <= 1 && distance(word, name) == 1 {
			return name
		}
	}
	return ""
}

// Nearest returns the candidate that name is most probably a slip of, or "". Of two as near it is the one that begins
// with name. Names of more than 64 bytes are nobody's slip.
func Nearest(name string, candidates []string) string {
	best, at := "", max(1, min(3, len(name)/3))+1
	candidates = slices.Sorted(slices.Values(candidates))
	for _, c := range candidates {
		if c == name || len(name) > 64 || len(c) > 64 {
			continue
		}
		d := distance(name, c)
		if d < len(c) && (d < at || d == at && best != "" && strings.HasPrefix(c, name) && !strings.HasPrefix(best, name)) {
			best, at = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b from a.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
