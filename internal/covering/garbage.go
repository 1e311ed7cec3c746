package covering

import (
	"os"
	"runtime/debug"
	"testing"
)

// A fifth of the CPU time of tests that compile, prove and simulate went to collecting garbage, of which they make much
// beside little that lives. So tests collect it less often, as the command does, up to some memory.
const (
	garbage = 400     // per cent of what lives
	most    = 1 << 30 // bytes, from which on it is collected more
)

func init() {
	if !testing.Testing() || os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(garbage)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most)
	}
}
