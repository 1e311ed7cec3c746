package diag

import (
	"fmt"
	"slices"
)

// filesNamed bounds the files that a note of FoldFiles names.
const filesNamed = 3

// FoldFiles makes one warning of those of several files that say the same: that of the first file stays, with a note
// that names the others. Texts say the same if they differ in numbers only. Errors and warnings of one file stay as
// they are.
func (l List) FoldFiles() List {
	var list List
	others := map[int][]string{} // by index in list, the other files
	first := map[likeness]int{}  // index in list of the first warning of its likeness
	for _, d := range l {
		if !d.Code.Warning() {
			list = append(list, d)
			continue
		}
		i, again := first[d.likeness()]
		switch {
		case again && d.Span.Filename != list[i].Span.Filename:
			if files := others[i]; len(files) == 0 || files[len(files)-1] != d.Span.Filename {
				others[i] = append(files, d.Span.Filename)
			}
			continue
		case !again:
			first[d.likeness()] = len(list)
		}
		list = append(list, d)
	}
	for i, files := range others {
		list[i] = list[i].WithNote(Span{}, "%s", alsoIn(files))
	}
	return list
}

// alsoIn says which other files have a warning.
func alsoIn(files []string) string {
	items := slices.Clone(files[:min(len(files), filesNamed)])
	if n := len(files) - len(items); n > 0 {
		items = append(items, fmt.Sprintf("%d more", n))
	}
	has := "have"
	if len(files) == 1 {
		has = "has"
	}
	return fmt.Sprintf("%s %s a warning like this one: %s", Counted(len(files), "more file"), has, joined(items))
}
