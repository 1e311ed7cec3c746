package cuda

import (
	"testing"

	"mscclc/executor/gpu/gputest"
)

var device = gputest.Device{Name: "cuda", Variable: "MSCCLC_LIBCUDA", Open: Device}

func TestMain(m *testing.M) { gputest.Main(m, device) }

func TestGPUs(t *testing.T) { gputest.Run(t, device) }

func BenchmarkBandwidth(b *testing.B) { gputest.Bench(b, device) }

func BenchmarkLaunch(b *testing.B) { gputest.BenchLaunch(b, device) }
