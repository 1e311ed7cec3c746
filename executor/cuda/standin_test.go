package cuda

import (
	"testing"

	"mscclc/executor/gpu/gputest"
)

var tested = gputest.Device{Name: "cuda", Variable: "MSCCLC_LIBCUDA", Open: Device}

func TestMain(m *testing.M) { gputest.Main(m, tested) }

func TestGPUs(t *testing.T) { gputest.Run(t, tested) }
