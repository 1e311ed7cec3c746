package simulate

import (
	"testing"

	"mscclc/executor/launch"
	"mscclc/transport"
)

// TestMessageSizes compares what a simulation knows of messages between nodes with the transport's own numbers.
func TestMessageSizes(t *testing.T) {
	if launch.Together != transport.Together || launch.Inside != transport.Inside {
		t.Errorf("launch has %d and %d, transport %d and %d", launch.Together, launch.Inside, transport.Together,
			transport.Inside)
	}
}
