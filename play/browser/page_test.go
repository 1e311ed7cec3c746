package browser

import (
	"strings"
	"testing"
)

// TestReady opens the page, and waits for the first verdict.
func TestReady(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	if said := p.says(); !strings.Contains(said, "Proven") {
		t.Errorf("it says %q", said)
	}
	t.Logf("the first verdict was there %.0f ms after the page was asked for", eval[float64](p, "performance.now()"))
}
