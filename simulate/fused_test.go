package simulate_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mscclc/internal/covering"
)

// TestNothingFused: the compiler makes no x*y + z of the simulation one operation, which would round once in place of
// twice. So all machines simulate the same times, to the last bit. On amd64 Go fuses nothing unless it is asked to; on
// arm64 it does where float64(x*y) + z does not forbid it.
func TestNothingFused(t *testing.T) {
	covering.ForCI(t) // it compiles Go's library for arm64, which takes longer than all other tests of the package
	build := exec.Command("go", "build", "-gcflags=-S", "./...")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	text := string(out)
	if n := strings.Count(text, "\tFMULD\t"); n < 20 {
		t.Fatalf("%d products in the assembly: that tests nothing", n)
	}
	at := map[string]bool{}
	for _, x := range regexp.MustCompile(`(\w+\.go:\d+)\)\tFN?M(ADD|SUB)D`).FindAllStringSubmatch(text, -1) {
		if !at[x[1]] {
			t.Errorf("%s: a product and a sum are one operation on arm64; write float64(x*y) + z", x[1])
		}
		at[x[1]] = true
	}
}
