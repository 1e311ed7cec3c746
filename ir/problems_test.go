package ir

import (
	"strings"
	"testing"

	"mscclc/ir/diag"
)

func TestProblemsAreBounded(t *testing.T) {
	var p Problems
	for i := range problemLimit + 50 {
		p.Add(diag.New(diag.Race, diag.Span{}, "problem %d", i))
	}
	list := p.Done()
	if len(list) != problemLimit+1 || !strings.Contains(list[problemLimit].Text, "50 more problems are not listed") {
		t.Errorf("%d problems: %s", len(list), list[len(list)-1].Text)
	}
	if got := len(p.Done()); got != len(list) {
		t.Errorf("counted twice: %d", got)
	}
}
