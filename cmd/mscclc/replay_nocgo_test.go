//go:build !cgo

package main

import (
	"bytes"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// Without the CPU device nothing is replayed, and that is said.
func TestReplayWithoutCgo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := main1([]string{"verify", "--replay", "allreduce/ring"}, strings.NewReader(""), &stdout, &stderr)
	if code != cli.ExitMachine || !strings.Contains(stderr.String(), "cgo") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
