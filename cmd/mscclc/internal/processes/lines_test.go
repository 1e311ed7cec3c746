package processes

import (
	"fmt"
	"strings"
	"testing"
)

// TestLines has what several processes say alike told once, and all else as they say it.
func TestLines(t *testing.T) {
	var told strings.Builder
	all := &teller{to: &told, said: map[string]int{}}
	var list []*speaker
	for i := range 3 {
		list = append(list, &speaker{teller: all, process: i})
	}
	fmt.Fprint(list[1], "error: no such")
	fmt.Fprint(list[0], "a bar\na bar\n")
	fmt.Fprint(list[2], "error: no such file\nonly 2\n")
	fmt.Fprint(list[1], " file\nonly 1")
	fmt.Fprint(list[0], "error: no such file\n")
	for _, s := range list {
		s.end()
	}
	if want := "a bar\na bar\nerror: no such file\nonly 2\nonly 1\n"; told.String() != want {
		t.Errorf("told %q", told.String())
	}
}
