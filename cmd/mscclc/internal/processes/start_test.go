package processes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// TestStartCancelled: a context that ends before the processes are started is the error, and no process is started.
func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := Start(ctx, cli.NewApp(nil, nil, &out, &out, nil), 3); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v, and the processes said %q", err, out.String())
	}
}

// TestUnstarted: a child whose files get numbers above the limit has too many files, whatever Linux calls it.
func TestUnstarted(t *testing.T) {
	for _, c := range []struct{ cause, want error }{
		{syscall.EBADF, syscall.EMFILE},
		{syscall.EMFILE, syscall.EMFILE},
		{syscall.ENOENT, syscall.ENOENT},
	} {
		if err := unstarted(&os.PathError{Op: "fork/exec", Path: "mscclc", Err: c.cause}); !errors.Is(err, c.want) {
			t.Errorf("%v gives %v, not %v", c.cause, err, c.want)
		}
	}
}

// TestEnded has processes that were not started beside one that failed, and beside one that was killed.
func TestEnded(t *testing.T) {
	failed := exec.Command("sh", "-c", "exit 3")
	killed := exec.Command("sh", "-c", "kill -9 $$")
	if failed.Run() == nil || killed.Run() == nil || failed.ProcessState == nil || killed.ProcessState == nil {
		t.Skip("no shell")
	}
	none := end{late: true}
	for _, c := range []struct {
		ends []end
		want string
	}{
		{[]end{none, {ProcessState: failed.ProcessState}}, cli.ReportedError{Code: 3}.Error()},
		{[]end{none, {ProcessState: killed.ProcessState}}, "process 1 of 2 has ended by a signal: killed"},
		{[]end{none, {ProcessState: killed.ProcessState, late: true}},
			"process 1 of 2 was killed: it did not end within 10s after another one failed"},
	} {
		if err := ended(c.ends); err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%v, not %q", err, c.want)
		}
	}
}
