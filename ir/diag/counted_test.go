package diag

import "testing"

func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"1 class": Counted(1, "class"), "0 classes": Counted(0, "class"), "2 steps": Counted(2, "step"),
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
