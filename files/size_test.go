package files

import "testing"

func TestCutSizeUnit(t *testing.T) {
	type cut struct {
		digits string
		power  int
	}
	for size, want := range map[string]cut{
		"": {"", 0}, "7": {"7", 0}, "7B": {"7", 0}, "64k": {"64", 10}, "64K": {"64", 10}, "1MB": {"1", 20}, "1MiB": {"1", 20},
		"2gib": {"2", 30}, "1Mi": {"1MI", 0}, "1I": {"1I", 0}, "K": {"", 10},
	} {
		if digits, power := CutSizeUnit(size); (cut{digits, power}) != want {
			t.Errorf("CutSizeUnit(%q) = %q, %d, want %v", size, digits, power, want)
		}
	}
}
