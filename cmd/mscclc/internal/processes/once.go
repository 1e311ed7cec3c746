package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/exchange"
	"mscclc/ir/diag"
)

// This file has one process of a job report why all have failed, and the others say so in a line.

// meetAgain is how long a process that has failed early waits for the others.
const meetAgain = 2 * time.Second

// Once reports err, and returns an error that has been reported. If another process of the job reports the same, it
// prints a line with the cause, and returns when the other has reported. Processes that have not met yet meet now, so
// that those which wait for this one are notified of err, too. j may be nil: a process alone reports nothing here, and
// err is returned.
func (j *Job) Once(ctx context.Context, a *cli.App, err error) error {
	var reported cli.ReportedError
	if j == nil || err == nil || errors.As(err, &reported) || ctx.Err() != nil {
		return err
	}
	x := j.x
	if x == nil && (j.joined || os.Getenv(envStarted) != "") { // --procs prints equal lines once
		return err
	}
	if x == nil {
		within, cancel := context.WithTimeout(ctx, meetAgain)
		defer cancel()
		var failed error
		if x, failed = exchange.Join(within, j.place, j.Index, j.Size); failed != nil {
			return err
		}
		defer x.Close()
	}
	reporter, done := x.Reporter(ctx, err)
	defer done()
	if reporter != j.Index {
		return Short(a, reporter, err)
	}
	return cli.ReportedError{Code: a.Fail(err)}
}

// In does something in the job of the environment, and has one process report an error, as Once does. job is nil in a
// process alone.
func In(ctx context.Context, a *cli.App, do func(job *Job) error) error {
	job, err := Of(os.Getenv)
	if err != nil {
		return err
	}
	defer job.Leave()
	return job.Once(ctx, a, do(job))
}

// Short prints a line with the cause of err, which another process reports in full: unless --procs has started both, on
// one terminal. An error of usage is such a line.
func Short(a *cli.App, reporter int, err error) error {
	var usage cli.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(a.Stderr, "mscclc: %s\n", usage.Error())
		return cli.ReportedError{Code: cli.ExitUsage}
	}
	list, code := cli.FailureOf(err, a.File)
	if os.Getenv(envStarted) == "" {
		fmt.Fprintf(a.Stderr, "mscclc: %s (process %d reports more)\n", diag.Shorten(list[0].Text), reporter)
	}
	return cli.ReportedError{Code: code}
}
