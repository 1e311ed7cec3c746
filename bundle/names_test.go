package bundle

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
)

// TestLongNames: rules whose programs have longer names than a bundle holds are built and proven. Names stay different,
// and are equal for equal rules.
func TestLongNames(t *testing.T) {
	text, err := algorithms.Open("allreduce/allpairs")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("né", 40) + ".mscl"
	var rules []string
	for _, name := range []string{"allreduce/recursive_halving_doubling", long} {
		for copies := 3; copies < 5; copies++ {
			rules = append(rules, fmt.Sprintf(`{"collective":"allreduce","ranks":4,"nodes":"1,1,1,1","when":"eager",`+
				`"up_to":%d,"program":%q,"protocol":"Simple","lanes":2,"copies":%d,"tile":4096}`, len(rules)+1, name, copies))
		}
	}
	build := func() *Bundle {
		spec := lanedSpec(t, `{"version": 1, "device": "d", "rules": [`+strings.Join(rules, ",\n")+"]}")
		spec.Own = choose.UserPrograms{{Name: long, File: long, Tree: treeOf(long, string(text))}}
		b, err := Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := build()
	seen := map[string]bool{}
	for _, p := range b.Programs {
		if seen[p.Title()] || len(p.Title()) > limits.Name || !strings.Contains(p.Title(), "~") {
			t.Errorf("a program is %q", p.Title())
		}
		seen[p.Title()] = true
		t.Log(p.Title())
	}
	if _, _, err := Verify("x.bundle", Encode(b)); err != nil || len(seen) != len(rules) {
		t.Errorf("%d programs: %v", len(seen), err)
	}
	if !bytes.Equal(Encode(build()), Encode(b)) {
		t.Error("equal rules give other bytes")
	}
}
