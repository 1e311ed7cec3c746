//go:build cgo && linux

package transport_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Over UCX a killed process is gone and a stopped one is silent; one that was stopped briefly is neither.
func TestKilledAndStopped(t *testing.T) {
	if out, err := exec.Command("ldconfig", "-p").Output(); err != nil || !strings.Contains(string(out), "libucp.so.0") {
		t.Skip("UCX is not installed (Debian: libucx0)")
	}
	t.Setenv("UCX_TLS", "tcp,self")
	for _, c := range []struct{ mode, ms, want string }{
		{"kill", "20000", "code 2 after"},
		{"stop", "2000", "code 0: it goes on"},
		{"stop", "20000", "code 3 after"},
	} {
		out, err := exec.Command(driver(t, "hop", ""), "ucx", c.mode, "8", c.ms).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s %s ms: %v\n%s", c.mode, c.ms, err, out)
		}
	}
}
