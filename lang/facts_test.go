package lang

import (
	"slices"
	"strings"
	"testing"

	"mscclc/lang/syntax"
)

const stepped = `algorithm stepped(ranks = 3)
collective allgather(ranks)

def to(r, q) { chunk(r, input, 0).copy(q, output, r) }
for r in 0..ranks, q in 0..ranks if q != 1 {
    let both = [r, q]
    to(both[0], q)
}
`

// TestFacts runs a file that leaves a wrong result, and looks at what the run saw.
func TestFacts(t *testing.T) {
	f, err := syntax.Parse("stepped.mscl", []byte(stepped))
	if err != nil {
		t.Fatal(err)
	}
	facts := NewFacts()
	if _, err = Expand(f, Options{Facts: facts}); err == nil || facts.Made == nil || len(facts.Made.Ops) != 6 {
		t.Fatalf("%v, and %v was made", err, facts.Made)
	}
	if d, err := Expand(f, Options{Unjudged: true}); err != nil || len(d.Ops) != 6 {
		t.Errorf("unjudged: %v", err)
	}
	seen := map[string]string{}
	lines := strings.Split(stepped, "\n")
	for span, v := range facts.Values {
		seen[lines[span.Line-1][span.Column-1:span.Column-1+span.Len]] += strings.Join(v.Texts, " ") + ";"
	}
	for text, want := range map[string]string{"both": "[0, 0] [0, 2] [1, 0] [1, 2] [2, 0] [2, 2];",
		"chunk(r, input, 0)": "input[0] of rank 0 input[0] of rank 1 input[0] of rank 2;"} {
		if !strings.Contains(seen[text], want) {
			t.Errorf("%s was %s, not %s", text, seen[text], want)
		}
	}
	rounds := []int64{}
	for _, n := range facts.Rounds {
		rounds = append(rounds, n)
	}
	if slices.Sort(rounds); !slices.Equal(rounds, []int64{3, 6}) {
		t.Errorf("the loops ran %v times", rounds)
	}
	where := Where(f, Options{}, []int32{0, 5})
	for i, want := range []string{"where r = 0, q = 0", "where r = 2, q = 2"} {
		text := ""
		for _, n := range where[i] {
			text += n.Text + "\n"
		}
		if !strings.Contains(text, want) || !strings.Contains(text, "in this call of to(r = ") {
			t.Errorf("an operation was made %q, not %s", text, want)
		}
	}
}
