package processes

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
)

// Most is how many processes --procs starts.
const Most = 1024

// grace is how long processes have to end, after one of them has failed.
const grace = 10 * time.Second

// Start starts the command a given number of times, as its user called it, and waits for all, as a Team.
func Start(ctx context.Context, a *cli.App, count int) error {
	t := Team{Count: count, Arguments: os.Args[1:], Stderr: a.Stderr}
	return t.Start(ctx, a)
}

func afterGrace(f func()) { time.AfterFunc(grace, f) }

// unstarted returns why a process was not started. os.StartProcess moves the files of a child above all that it gets,
// and Linux refuses a number above the limit as EBADF, where it refuses a new file as EMFILE (dup(2)).
func unstarted(err error) error {
	var fork *os.PathError
	if errors.As(err, &fork) && fork.Err == syscall.EBADF {
		return &os.PathError{Op: fork.Op, Path: fork.Path, Err: syscall.EMFILE}
	}
	return err
}

// An end is how a process ended, and whether it had its grace before.
type end struct {
	*os.ProcessState // nil if the process was not started
	late             bool
	says             *speaker
}

// ended returns the error of processes that did not end well. One that was not started is none of these: it was not
// started because another one had failed.
func ended(ends []end) error {
	worst := cli.ExitGood
	for i, e := range ends {
		if e.ProcessState == nil {
			continue
		}
		code := e.ExitCode()
		if code < 0 && e.late {
			return cli.Unavailable("process %d of %d was killed: it did not end within %v after another one failed", i,
				len(ends), grace)
		}
		if code < 0 {
			return cli.Unavailable("process %d of %d has ended by a %v", i, len(ends), e)
		}
		worst = max(worst, code)
	}
	if worst > cli.ExitGood {
		return cli.ReportedError{Code: worst}
	}
	return nil
}
