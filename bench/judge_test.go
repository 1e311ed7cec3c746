package bench

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// What is chosen is judged against the best width of the best form, as far as that computes the right result.
func TestJudge(t *testing.T) {
	p := either.OfOneSided(&onesided.Program{})
	chosen := &Form{Name: "close", Program: p, Choice: wide(16, 512, 64<<10)}
	var forms []*Form
	for _, name := range []string{"slow", "broken", "close", "good"} {
		forms = append(forms, &Form{Name: name, Program: p})
	}
	finals := map[string]int{}
	site := &fakeSite{time: hill}
	search := &Search{Site: site, Most: 200, Within: time.Hour, Seen: func(t Tried, final bool) {
		if final {
			finals[t.Name]++
		}
	}}
	found, err := search.Judge(context.Background(), &Call{}, chosen, forms)
	if err != nil {
		t.Fatal(err)
	}
	if best := found.Best; best.Name != "good" || best.Choice.Replicas != 16 || found.Chosen.Name != "close" ||
		math.Abs(found.Ratio()-1.1) > 1e-9 || found.Tried < 20 {
		t.Errorf("%+v", found)
	}
	if finals["close"] < 1 || finals["good"] < 1 || finals["slow"]+finals["broken"] > 0 {
		t.Errorf("finals %v", finals)
	}
	// What is wrong is not the best.
	site.wrong = func(f *Form) bool { return f.Name == "good" }
	if found, err = search.Judge(context.Background(), &Call{}, chosen, forms); err != nil || found.Best != found.Chosen ||
		found.Ratio() != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	// What is chosen must be right, and run.
	site.wrong = func(f *Form) bool { return f.Name == "close" }
	if _, err = search.Judge(context.Background(), &Call{}, chosen, forms); err == nil ||
		!strings.Contains(err.Error(), "1 of 10 elements are wrong") {
		t.Errorf("got %v", err)
	}
	if _, err = search.Judge(context.Background(), &Call{}, forms[1], forms); err == nil ||
		!strings.Contains(err.Error(), "what is chosen, broken: no room") {
		t.Errorf("got %v", err)
	}
	// One width of each form is measured whatever the limits are, and then no more but the finals.
	site.wrong, site.measured = nil, 0
	search.Most, search.Within = 1, time.Nanosecond
	if found, err = search.Judge(context.Background(), &Call{}, chosen, forms); err != nil || found.Tried != 4 ||
		site.measured > 4+1+judgeRounds*4 {
		t.Errorf("%+v after %d measurements: %v", found, site.measured, err)
	}
}
