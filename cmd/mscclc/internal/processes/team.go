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

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// A Team is processes that this one starts together, each of which is this program again.
type Team struct {
	Count     int
	Arguments []string
	Stderr    io.Writer                   // takes what they say, each line once
	Receive   func(process int, r Report) // takes what they report, one at a time; nil: nobody does
	Hold      bool                        // errors wait for the end of all; if one crashes, the others are killed

	last      []Report   // of each
	receiving sync.Mutex // of Receive
	watch     *os.File   // the end of a pipe that the processes read until this one is gone
	printer   *printer   // of Stderr
	env       func(process int) []string
}

// Start starts the processes, and waits for all. What the first prints is the product. When one fails, the others
// receive of it through their exchange. What has not ended by itself after grace, or when ctx ends or a signal comes,
// is killed. The error is a *Crash if a process died of a fault.
func (t *Team) Start(ctx context.Context, a *cli.App) error {
	if err := cli.UpTo("procs", t.Count, Most); err != nil {
		return err
	}
	free, err := net.Listen("tcp", masterHost+":0")
	if err != nil {
		return cli.Unavailable("no port to meet at: %v", err)
	}
	hub := free.Addr().String()
	free.Close()
	secret := rand.Text() // against other users of the host, who do not see the environment of the processes
	t.env = func(i int) []string {
		return append(os.Environ(), envHub+"="+hub, envIndex+"="+strconv.Itoa(i), envSize+"="+strconv.Itoa(t.Count),
			envStarted+"=1", envSecret+"="+secret, envSecretFile+"=", EnvParent+"=1")
	}
	watch, alive, err := os.Pipe()
	if err != nil {
		return cli.Unavailable("the processes cannot be started: %v", err)
	}
	defer watch.Close()
	defer alive.Close()
	t.watch, t.last, t.printer = watch, make([]Report, t.Count), &printer{to: t.Stderr, said: map[string]int{}}
	ends, errs := t.run(ctx, a)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) { // which is of those that it ended
			return cli.Unavailable("process %d of %d: %v", i, t.Count, err)
		}
	}
	if crash := t.crash(ends); crash != nil {
		return crash
	}
	for i := range ends {
		ends[i].says.release()
	}
	return ended(ends)
}

// run runs all processes to their ends. The errors are of those that were not started.
func (t *Team) run(ctx context.Context, a *cli.App) ([]end, []error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	ends, errs := make([]end, t.Count), make([]error, t.Count)
	var late atomic.Bool
	overdue := sync.OnceFunc(func() { afterGrace(func() { late.Store(true); cancel() }) })
	var wg sync.WaitGroup
	wg.Add(t.Count)
	forget := cli.UndoOnSignal(func() string { // before any begins, so that none is left
		t.printer.hush()
		cancel()
		wg.Wait()
		return "ended " + diag.Counted(t.Count, "process")
	})
	for i := range t.Count {
		ends[i].says = &speaker{printer: t.printer, process: i, hold: t.Hold}
		stdout := io.Discard
		if i == 0 {
			stdout = a.Stdout
		}
		go func() {
			defer wg.Done()
			state, err := t.one(within, i, stdout, ends[i].says)
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				errs[i] = unstarted(err)
				cancel() // it never started: the others would wait for it
			}
			ends[i].says.end()
			ends[i].ProcessState, ends[i].late = state, late.Load()
			switch {
			case state == nil || state.Success():
			case t.Hold && ends[i].crashed():
				cancel() // nothing that the others say counts
			default:
				overdue()
			}
		}()
	}
	wg.Wait()
	forget()
	return ends, errs
}

// one runs process i to its end.
func (t *Team) one(ctx context.Context, i int, stdout io.Writer, stderr *speaker) (*os.ProcessState, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	received, reports, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer received.Close()
	cmd := exec.CommandContext(ctx, self, t.Arguments...)
	cmd.Env, cmd.Stdout, cmd.Stderr = t.env(i), stdout, stderr
	cmd.ExtraFiles = []*os.File{watchFile: t.watch, reportFile: reports}
	err = cmd.Start()
	reports.Close()
	if err != nil {
		return nil, err
	}
	var reader sync.WaitGroup
	reader.Go(func() { t.receive(i, received) })
	err = cmd.Wait()
	reader.Wait()
	return cmd.ProcessState, err
}
