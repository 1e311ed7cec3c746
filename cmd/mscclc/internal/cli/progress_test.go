package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestProgressInLogs holds that without a terminal long work is told of in lines, and steps print nothing.
func TestProgressInLogs(t *testing.T) {
	var b bytes.Buffer
	p := NewApp(nil, nil, io.Discard, &b, nil).Progress(21, "simulate")
	p.Step()
	if b.Len() > 0 {
		t.Errorf("a step prints %q", b.String())
	}
	p.log()
	if !strings.HasPrefix(b.String(), "simulate: 1 of 21 after ") {
		t.Errorf("%q", b.String())
	}
	quiet := NewApp(nil, nil, io.Discard, &b, nil)
	quiet.JSON = true
	if quiet.Progress(1, "simulate").w != nil {
		t.Error("--json has lines of progress")
	}
}
