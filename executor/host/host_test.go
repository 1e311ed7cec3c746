package host

import (
	"slices"
	"testing"

	"mscclc/executor"
	"mscclc/executor/gpu/gputest"
)

// tested has four shares of two threads, or the number that a test asks for.
var tested = gputest.NewDevice("cpu", "MSCCLC_GPUTEST_HOST", func(numbers ...int) executor.GPUs {
	n := 4
	if len(numbers) > 0 {
		n = slices.Max(numbers) + 1
	}
	return New(Options{GPUs: n, Threads: 2})
})

func TestMain(m *testing.M) { gputest.MainHost(m, tested) }

func TestPlans(t *testing.T) { gputest.RunHost(t, tested) }
