//go:build cgo && linux

package transport_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// Over UCX a killed process is gone and a stopped one is silent; one that was stopped briefly is neither.
func TestKilledAndStopped(t *testing.T) {
	if out, err := exec.Command("ldconfig", "-p").Output(); err != nil || !strings.Contains(string(out), "libucp.so.0") {
		t.Skip("UCX is not installed (Debian: libucx0)")
	}
	for _, c := range []struct {
		mode, ms, helpers, want string
		limit                   time.Duration // until the failure is seen
	}{
		{"kill", "20000", "0", `code 2 after (\d+) ms`, 2 * time.Second},
		{"kill", "20000", "2", `code 2 after (\d+) ms`, 2 * time.Second},
		{"stop", "2000", "0", `code (0): it goes on`, 0},
		{"stop", "20000", "2", `code 3 after (\d+) ms`, 5 * time.Second},
	} {
		t.Run(c.mode+c.helpers, func(t *testing.T) {
			t.Parallel() // it waits
			cmd := exec.Command(driver(t, "hop", ""), "ucx", c.mode, "8", c.ms)
			cmd.Env = append(os.Environ(), "UCX_TLS=tcp,self", "MSCCLC_NET_THREADS="+c.helpers)
			out, err := cmd.CombinedOutput()
			found := regexp.MustCompile(c.want).FindSubmatch(out)
			if err != nil || found == nil {
				t.Errorf("%s ms: %v\n%s", c.ms, err, out)
			} else if after, err := time.ParseDuration(string(found[1]) + "ms"); err != nil || after > covering.Patience(c.limit) {
				t.Errorf("%s ms: it is seen after %v; the limit is %v", c.ms, after, c.limit)
			}
		})
	}
}

// A number of helper threads that is none is refused, and says which numbers there are.
func TestThreadsThatAreNone(t *testing.T) {
	for _, text := range []string{"x", "2 ", "-1", "17", "2x", "99999999999999999999"} {
		t.Setenv("MSCCLC_NET_THREADS", text)
		out, err := exec.Command(driver(t, "hop", ""), "ucx", "lat", "8", "10").CombinedOutput()
		if want := "MSCCLC_NET_THREADS is \"" + text + "\", and must be a number from 0 to 16: how many helper"; err == nil ||
			!strings.Contains(string(out), want) {
			t.Errorf("%v, want %q:\n%s", err, want, out)
		}
	}
}

// Each region is deregistered by the connection that has registered it, before that is closed. The plugin aborts
// otherwise.
func TestDeregisteredBeforeClosed(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "libnccl-net-tests.so")
	if out, err := exec.Command("g++", "-std=c++17", "-DVERSION=11", "-shared", "-fPIC", "-o", plugin,
		"testdata/plugin.cc").CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	for _, helpers := range []string{"0", "2"} {
		t.Setenv("MSCCLC_NET_THREADS", helpers)
		out, err := exec.Command(driver(t, "hop", ""), "ncclnet:"+plugin, "bw", "100000", "20").CombinedOutput()
		if err != nil || strings.Contains(string(out), "net plugin of the tests: ") || !strings.Contains(string(out), "GB/s") {
			t.Errorf("%s helpers: %v\n%s", helpers, err, out)
		}
	}
}
