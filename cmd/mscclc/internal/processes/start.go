package processes

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// Most is how many processes --procs starts.
const Most = 1024

// grace is how long processes have to end, after one of them has failed.
const grace = 10 * time.Second

// Start starts the command so many times, as its user called it, and waits for all. What the first prints is the
// product. When one fails, the others hear of it through their exchange. What has not ended by itself after grace, or
// when ctx ends or a signal comes, is killed.
func Start(ctx context.Context, a *cli.App, count int) error {
	return StartWith(ctx, a, count, os.Args[1:])
}

// StartWith is Start with other arguments.
func StartWith(ctx context.Context, a *cli.App, count int, arguments []string) error {
	if err := cli.UpTo("procs", count, Most); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	free, err := net.Listen("tcp", masterHost+":0")
	if err != nil {
		return cli.Unavailable("no port to meet at: %v", err)
	}
	hub := free.Addr().String()
	free.Close()
	secret := rand.Text() // against other users of the host, who do not see the environment of the processes
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	ends, errs := make([]end, count), make([]error, count)
	var late atomic.Bool
	overdue := sync.OnceFunc(func() { time.AfterFunc(grace, func() { late.Store(true); cancel() }) })
	stderr := &teller{to: a.Stderr, said: map[string]int{}}
	var wg sync.WaitGroup
	wg.Add(count)
	forget := cli.UndoOnSignal(func() string { // before any begins, so that none is left
		cancel()
		wg.Wait()
		return "ended " + diag.Counted(count, "process")
	})
	for i := range count {
		says := &speaker{teller: stderr, process: i}
		cmd := exec.CommandContext(within, self, arguments...)
		cmd.Env = append(os.Environ(), envHub+"="+hub, envIndex+"="+strconv.Itoa(i), envSize+"="+strconv.Itoa(count),
			envStarted+"=1", envSecret+"="+secret, envSecretFile+"=")
		cmd.Stdout, cmd.Stderr = io.Writer(a.Stdout), says
		if i > 0 {
			cmd.Stdout = io.Discard
		}
		go func() {
			defer wg.Done()
			var exit *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
				errs[i] = unstarted(err)
				cancel() // it never started: the others would wait for it
			}
			ends[i] = end{cmd.ProcessState, late.Load()}
			if ends[i].ProcessState != nil && !ends[i].Success() {
				overdue()
			}
			says.end()
		}()
	}
	wg.Wait()
	forget()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) { // which is of those that it ended
			return cli.Unavailable("process %d of %d: %v", i, count, err)
		}
	}
	return ended(ends)
}

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
