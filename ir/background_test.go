package ir_test

import (
	"testing"

	"mscclc/ir"
)

func TestAtOnceRunsBoth(t *testing.T) {
	var f, g int
	ir.AtOnce(func() { f = 1 }, func() { g = 2 })
	if f != 1 || g != 2 {
		t.Errorf("f gave %d and g %d, want 1 and 2", f, g)
	}
}

// A panic beside the caller's thread would end the process before the command can report a fault of mscclc.
func TestAtOncePanicsWhereTheOtherThreadDoes(t *testing.T) {
	defer func() {
		if got := recover(); got != "f failed" {
			t.Errorf("AtOnce panicked with %v, want f's panic", got)
		}
	}()
	ir.AtOnce(func() { panic("f failed") }, func() {})
	t.Error("AtOnce returned")
}
