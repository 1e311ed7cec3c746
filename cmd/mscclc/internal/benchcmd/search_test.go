package benchcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/launch"
	"mscclc/selection"
)

// TestSearchInterrupted: the document of a search that was interrupted has the table so far, and says that it was
// interrupted.
func TestSearchInterrupted(t *testing.T) {
	var stdout bytes.Buffer
	a := cli.NewApp(nil, nil, &stdout, os.Stderr, nil)
	a.JSON = true
	err := printTable(a, "", &selection.Table{}, context.Canceled)
	var doc SearchedDocument
	if err != (cli.ReportedError{Code: cli.ExitInterrupted}) || json.Unmarshal(stdout.Bytes(), &doc) != nil {
		t.Fatalf("%v, and\n%s", err, stdout.String())
	}
	if len(doc.Problems) != 1 || doc.Problems[0].Message != "interrupted" || doc.Version != selection.Version {
		t.Errorf("the document is\n%s", stdout.String())
	}
}

// TestReportedStays: what has been reported stays so where another process is gone.
func TestReportedStays(t *testing.T) {
	want := cli.ReportedError{Code: cli.ExitInterrupted}
	if err := devices.Impossible(want); err != want {
		t.Errorf("%v", err)
	}
}

// TestRuled holds how far each rule of a table reaches: to its last size, the last rule half a factor beyond it, and to
// all that is larger than what is large.
func TestRuled(t *testing.T) {
	for _, c := range []struct {
		sizes  []int64
		factor int64
		want   string
	}{
		{[]int64{1 << 10, 4 << 10, 16 << 10}, 4, "[1024 4096 32768]"},
		{[]int64{1 << 10, 3 << 10}, 9, "[1024 9216]"},
		{[]int64{1 << 10, 1 << 30}, 1 << 20, "[1024 0]"},
	} {
		var rules []selection.Rule
		for i := range c.sizes {
			rules = ruled(rules,
				selection.Rule{Choice: selection.Choice{Width: launch.Width{Replicas: 1 + i}}}, c.sizes, i, c.factor)
		}
		var ends []int64
		for _, r := range rules {
			ends = append(ends, r.UpTo)
		}
		if got := fmt.Sprint(ends); got != c.want {
			t.Errorf("%v, each %d times the one before: rules up to %s, not %s", c.sizes, c.factor, got, c.want)
		}
	}
}
