package gputest

import (
	"fmt"
	"regexp"
	"testing"
)

// testPCI: each GPU says its own PCI address, by which a device of a net plugin is chosen.
func testPCI(t *testing.T, d Device) {
	gpus, err := d.Open().GPUs()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, g := range gpus {
		address := g.(interface{ PCI() string }).PCI()
		if !regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.0$`).MatchString(address) {
			t.Errorf("GPU %d is at %q", i, address)
		}
		if other, twice := seen[address]; twice {
			t.Errorf("GPUs %d and %d are both at %s", other, i, address)
		}
		seen[address] = i
		if want := fmt.Sprintf("0000:%02x:1f.0", 0xa0+i); d.StandIn() && address != want {
			t.Errorf("GPU %d is at %s instead of %s", i, address, want)
		}
	}
}
