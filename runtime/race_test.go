package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/bundle"
)

// TestRaces runs the ranks as threads under the thread sanitizer, which sees the engine and not the mock driver.
func TestRaces(t *testing.T) {
	sanitize := "-fsanitize=thread"
	file := program(t, "engine", func() ([]string, error) { return compiled("races", sanitize, "-g") }, sanitize,
		"testdata/ranks.cc", "-lstdc++", "-lpthread")
	suppressed := filepath.Join(t.TempDir(), "suppressed")
	if err := os.WriteFile(suppressed, []byte("race:/mscclc/standin/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := write(t, bundle.Encode(makeBundle(t, engineTypes, 2, 2)))
	engine(t, file, b, "threads", 2, strings.Fields("mixes streams captures watched abortgraph"),
		"TSAN_OPTIONS=halt_on_error=1 suppressions="+suppressed)
}
