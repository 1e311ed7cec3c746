package cuda

import (
	"testing"

	"mscclc/executor/gpu/gputest"
)

var device = gputest.NewDevice("cuda", "MSCCLC_LIBCUDA", Device)

func TestMain(m *testing.M) { gputest.Main(m, device) }

func TestGPUs(t *testing.T) { gputest.Run(t, device) }

func BenchmarkBandwidth(b *testing.B) { gputest.Bench(b, device) }

func BenchmarkRows(b *testing.B) { gputest.BenchRows(b, device) }

func BenchmarkLaunch(b *testing.B) { gputest.BenchLaunch(b, device) }
