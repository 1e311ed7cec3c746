package hip

import (
	"testing"

	"mscclc/executor/gpu/gputest"
)

var device = gputest.NewDevice("hip", "MSCCLC_LIBHIP", Device)

func TestMain(m *testing.M) { gputest.Main(m, device) }

func TestGPUs(t *testing.T) { gputest.Run(t, device) }
