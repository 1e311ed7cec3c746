package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// TestProgressInLogs holds that without a terminal long work is reported in lines, and steps print nothing.
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
	b.Reset()
	p = NewApp(nil, nil, io.Discard, &b, nil).Progress(0, "tune")
	p.log()
	p.Set(3, 9)
	p.start = time.Now().Add(-30 * time.Second)
	p.log()
	if b.String() != "tune: 3 of 9 after 30 s, about 60 s left\n" {
		t.Errorf("%q", b.String())
	}
	quiet := NewApp(nil, nil, io.Discard, &b, nil)
	quiet.JSON = true
	if quiet.Progress(1, "simulate").w != nil {
		t.Error("--json has lines of progress")
	}
}
