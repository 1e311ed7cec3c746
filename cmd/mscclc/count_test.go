package main

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 pass": count(1, "pass"), "2 passes": count(2, "pass"), "0 steps": count(0, "step"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
