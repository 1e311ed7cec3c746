package hip

import (
	"testing"

	"mscclc/executor/gpu/gputest"
)

var device = gputest.Device{Name: "hip", Variable: "MSCCLC_LIBHIP", Open: Device}

func TestMain(m *testing.M) { gputest.Main(m, device) }

func TestGPUs(t *testing.T) { gputest.Run(t, device) }
