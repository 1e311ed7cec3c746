package diag

import (
	"regexp"
	"slices"
)

// MaxUnfolded is how many diagnostics a stage collects before Folded makes one of those that many ranks share.
const MaxUnfolded = 1 << 12

// Folded returns l sorted and folded by FoldRanks, and of that at most as many diagnostics as Fprint prints.
func (l List) Folded() List {
	folded := l.Sort().FoldRanks()
	return folded[:min(len(folded), Shown)]
}

// FoldRanks makes one diagnostic of those that say the same of one source position, and one of those that say the same
// of one block and step, or of no step, on several ranks, each at a position of its own or at none. At one position the
// first stays, and else that of the lowest rank. A note counts the others or names the ranks. Texts say the same if
// they differ in numbers only.
func (l List) FoldRanks() List {
	list := make(List, 0, len(l))
	for _, f := range foldOperations(foldPositions(l)) {
		list = append(list, f.diagnostic())
	}
	return list
}

// A fold is a diagnostic and the ranks of all that it stands for, its own first.
type fold struct {
	Diagnostic
	ranks []int
	apart bool // not all are at one position
	next  Span // position of the first that is at another
}

// A likeness is what diagnostics have in common that say the same.
type likeness struct {
	code Code
	text string // without its numbers
}

var digits = regexp.MustCompile(`\d+`)

func (d *Diagnostic) likeness() likeness {
	return likeness{d.Code, digits.ReplaceAllString(d.Text, "")}
}

// foldPositions folds what is said of one source position.
func foldPositions(l List) (folds []fold) {
	type key struct {
		likeness
		pos Pos
	}
	first := map[key]int{}
	for _, d := range l {
		k := key{d.likeness(), d.Span.Pos}
		i, again := first[k]
		if again && d.Span.Line > 0 && d.Rank >= 0 {
			folds[i].ranks = append(folds[i].ranks, d.Rank)
			continue
		}
		first[k] = len(folds)
		folds = append(folds, fold{Diagnostic: d, ranks: []int{d.Rank}})
	}
	return folds
}

// foldOperations folds what is said of one block and step on several ranks. Operations of a loop's body have the step
// of the loop: what is said of them is paired in its order.
func foldOperations(folds []fold) (folded []fold) {
	type key struct {
		likeness
		file             string
		block, step, nth int
	}
	type onRank struct {
		key
		rank int
	}
	first, count := map[key]int{}, map[onRank]int{}
	for _, f := range folds {
		if f.onOneRank() && f.Rank >= 0 {
			k := key{f.likeness(), f.Span.Filename, f.Block, f.Step, 0}
			at := onRank{k, f.Rank}
			k.nth = count[at]
			count[at]++
			if i, again := first[k]; again {
				folded[i].add(f)
				continue
			}
			first[k] = len(folded)
		}
		folded = append(folded, f)
	}
	return folded
}

// onOneRank reports whether f stands for diagnostics of one rank only.
func (f *fold) onOneRank() bool {
	return !slices.ContainsFunc(f.ranks, func(r int) bool { return r != f.Rank })
}

// add has f stand for what g stands for, which is at another position or at none. What the lower rank says stays.
func (f *fold) add(g fold) {
	if g.Rank < f.Rank {
		f.Diagnostic, g.Diagnostic = g.Diagnostic, f.Diagnostic
		f.apart = false
	}
	if !f.apart {
		f.apart, f.next = true, g.Span
	}
	f.ranks = append(f.ranks, g.ranks...)
}

// diagnostic returns the diagnostic of f with a note about the others.
func (f *fold) diagnostic() Diagnostic {
	others := len(f.ranks) - 1
	slices.Sort(f.ranks)
	ranks := slices.Compact(f.ranks)
	var runs [][2]int
	for _, r := range ranks {
		runs = Extended(runs, r)
	}
	switch {
	case others == 0:
		return f.Diagnostic
	case f.apart && f.next.Line > 0:
		return f.WithNote(f.next, "%s have errors like this one; here is another", RanksText(runs))
	case f.apart:
		return f.WithNote(Span{}, "%s have errors like this one", RanksText(runs))
	case len(ranks) == 1:
		return f.WithNote(Span{}, "%s like this one here", Counted(others, "more error"))
	}
	return f.WithNote(Span{}, "this line has errors like this one on %s", RanksText(runs))
}
