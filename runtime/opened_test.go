package runtime_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/internal/covering"
)

// TestTimes holds what a user waits for: a bundle for 2, 4 and 8 ranks is made in 60 s, and the library opens what a
// communicator uses of it in 50 ms of its processor. The least of some times counts, and limits have covering.Patience.
func TestTimes(t *testing.T) {
	const times = 20
	most, mostOpen := covering.Patience(60*time.Second), covering.Patience(50*time.Millisecond)
	spec := bundle.Spec{Device: device, Ranks: []int{2, 4, 8}, DTypes: bundle.DefaultDTypes}
	start := time.Now()
	for _, n := range spec.Ranks {
		rules, _ := bundle.RulesFor(n, bundle.DefaultCTAs, bundle.BuiltIn(), true)
		spec.Rules = append(spec.Rules, rules...)
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	text := bundle.Encode(b)
	took := time.Since(start)
	t.Logf("%d programs for 2, 4 and 8 ranks, %d bytes, are made in %v", len(b.Programs), len(text), took)
	if took > most {
		t.Errorf("making the bundle takes %v, more than %v", took, most)
	}
	file := write(t, text)
	for _, n := range spec.Ranks {
		out, err := exec.Command(program(t, "layout", engineObjects), file, strconv.Itoa(n), device,
			strconv.Itoa(times)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		micros, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Duration(micros) * time.Microsecond
		t.Logf("the set for %d ranks is opened in %v", n, took)
		if took > mostOpen {
			t.Errorf("opening the set for %d ranks takes %v, more than %v", n, took, mostOpen)
		}
	}
}
