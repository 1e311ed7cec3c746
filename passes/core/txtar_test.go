package core

import (
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/irtest/parse"
	"mscclc/passes/passestest"
)

// TestPasses runs each pass on the cases of testdata/PASS.txtar. A case has the sections
//
//	NAME/options    optional: words and numbers, such as even 1, onepass 1, most 4 or lanes 2
//	NAME/in         the text form of a State without its first line: runs, or Moves; for the pass runs a chunk DAG
//	NAME/out        what the pass makes of it, without the header; or the error
//
// What the pass needs and `in` lacks, required passes before it make. The properties are checked before and after.
// Where the order of the list is not the pass's to keep, other orders of it must have the properties too.
func TestPasses(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		if find(Table, strings.TrimSuffix(filepath.Base(file), ".txtar")) < 0 {
			t.Errorf("%s is about no pass", file)
		}
	}
	for i := range Table {
		name := Table[i].Name
		t.Run(name, func(t *testing.T) {
			passestest.Cases(t, "testdata/"+name+".txtar", func(t *testing.T, in string, o []passestest.Option) string {
				return runCase(t, i, in, caseOptions(t, o))
			})
		})
	}
}

func caseOptions(t *testing.T, list []passestest.Option) (o Options) {
	for _, x := range list {
		switch x.Name {
		case "even":
			o.Even = x.Value != 0
		case "onepass":
			o.OnePass = x.Value != 0
		case "most":
			o.MaxInsts = x.Value
		case "lanes":
			o.Lanes = x.Value
		default:
			t.Fatalf("%s is no option", x.Name)
		}
	}
	return o
}

// runCase returns what a pass makes of in.
func runCase(t *testing.T, pass int, in string, opt Options) (got string) {
	for seed := range int64(4) {
		s, have := prepared(t, pass, in, opt)
		if seed > 0 && have&(Depends|Ordered) == 0 {
			shuffle(s, rand.New(rand.NewSource(seed)))
		}
		if err := throughFrom(s, pass, pass+1); err != nil {
			return described(err)
		}
		if err := check(s, have|Table[pass].Gives); err != nil {
			t.Fatalf("after the pass, order %d: %v\n%s", seed, err, stateText(t, s))
		}
		if seed == 0 {
			got = bodyOf(stateText(t, s))
		}
	}
	return got
}

// prepared is in before a pass, and what it has then.
func prepared(t *testing.T, pass int, in string, opt Options) (s *State, have Property) {
	at := 0 // the next pass
	if Table[pass].Name == "runs" {
		c, err := parse.Chunks("in", []byte("chunks in\n"+in))
		if err != nil {
			t.Fatal(described(err))
		}
		return newState(c, opt), 0
	}
	kind := "moves in\n"
	if pass <= find(Table, "moves") {
		kind = "runs in\n"
	}
	s, err := parseState(kind+in, opt)
	if err != nil {
		t.Fatal(described(err))
	}
	for i := range pass {
		have |= Table[i].Gives
	}
	switch {
	case s.groups != nil:
		at = find(Table, "place")
	case s.order != nil:
		at = find(Table, "group")
	case s.moves != nil:
		at = find(Table, "depend")
	default:
		at = pass
	}
	if err := throughFrom(s, at, pass); err != nil {
		t.Fatal(err)
	}
	if err := check(s, have); err != nil {
		t.Fatalf("before the pass: %v\n%s", err, stateText(t, s))
	}
	return s, have
}

// throughFrom takes s through the passes from one on, up to another, as Lower does.
func throughFrom(s *State, from, to int) error {
	for i := from; i < to; i++ {
		if _, err := Table[i].Run(s); err != nil {
			return err
		}
		if s.again(Table[i].Gives&Proven != 0) {
			i = find(Table, "join") - 1
		}
	}
	return nil
}

// bodyOf returns the text form of a State from the first line on that is not of the header.
func bodyOf(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for k, line := range lines {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "even" || isItem(word) {
			return strings.Join(lines[k:], "")
		}
	}
	return ""
}

// described returns an error with its hints.
func described(err error) string {
	var list diag.List
	if !errors.As(err, &list) {
		return fmt.Sprintf("fault: %v\n", err)
	}
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "error: %s [%s]\n", d.Text, d.Code)
		if d.Hint != "" {
			fmt.Fprintf(&b, "hint: %s\n", d.Hint)
		}
	}
	return b.String()
}
