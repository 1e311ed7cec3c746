package tunecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
)

// This file starts the processes that measure. After a failure of NCCL they cannot go on, nor after a launch that never
// ends: the driver may wait for it in any call. Then others are started for the rest.

// withoutFlag names the tasks that were begun before, or windowsTask.
const withoutFlag = "without"

// windowsTask is a report's task while windows are made, before the first task that has them.
const windowsTask = "windows"

// startAgain is the exit code with which processes ask for others.
const startAgain = 75

// mostSilence is how long process 0 may report no size, where waits are short. A size takes 5 s, and a wait that times
// out besides.
const mostSilence = 30 * time.Second

// name names a task among those of a number of ranks.
func (t *task) name() string {
	if t.Windows {
		return t.Collective + "+" + windowsTask
	}
	if t.Bits != "" {
		return t.Collective + "+" + t.Bits
	}
	return t.Collective
}

// among reports whether a list of --without has the task.
func (t *task) among(without []string) bool {
	return slices.Contains(without, t.name()) || t.Windows && slices.Contains(without, windowsTask)
}

// title says for users what a task is.
func (t *task) title() string {
	text := fmt.Sprintf("%s of %s ranks", t.Collective, ranksText(t.Ranks, t.Nodes))
	if t.Windows {
		text += " between windows"
	}
	return text + bitsText(t.Bits)
}

// lost says what runs the calls of a task that cannot be measured, as a note begins.
func (t *task) lost() string {
	if t.Bits != "" {
		return "programs that nobody measured run"
	}
	return "NCCL runs"
}

func progressTitle(ranks int) string { return fmt.Sprintf("tune %d ranks", ranks) }

// team has processes measure all of n ranks. It returns an error where nothing more can be measured.
func (p *plan) team(ctx context.Context, a *cli.App, n int, until time.Time, args []string) error {
	var begun []string
	for {
		reports, err := p.once(ctx, a, n, until, args, begun)
		var crash *processes.Crash
		var reported cli.ReportedError
		crashed := errors.As(err, &crash)
		again := errors.As(err, &reported) && reported.Code == startAgain
		if ctx.Err() != nil || !crashed && !again || len(reports) == 0 {
			return err
		}
		last := reports[len(reports)-1]
		if crashed {
			if err := p.leave(a, n, last, crash); err != nil {
				return err
			}
		}
		begun = append(begun, slices.DeleteFunc(reports, func(s string) bool { return s == windowsTask && s != last })...)
		if !slices.ContainsFunc(p.tasks(n, ""), func(t task) bool { return !t.among(begun) }) {
			return nil
		}
	}
}

// once starts processes once. It returns the tasks that they began.
func (p *plan) once(ctx context.Context, a *cli.App, n int, until time.Time, args, without []string) (tasks []string,
	err error) {
	bar := a.Progress(0, progressTitle(n))
	stop := bar.Watch()
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := max(mostSilence, 3*p.wait)
	watch := time.AfterFunc(silent, func() {
		text := fmt.Sprintf("a GPU or a process is stuck: nothing was received for %v", silent)
		cancel(&processes.Crash{Text: text})
	})
	defer watch.Stop()
	t := processes.Team{Count: n, Arguments: p.childArguments(n, time.Until(until), args, without),
		Stderr: over{bar, a.Stderr}, Hold: true}
	t.Receive = func(process int, r processes.Report) {
		if process > 0 {
			return
		}
		watch.Reset(silent)
		bar.Set(r.Done, r.Total)
		if r.Task != "" && !slices.Contains(tasks, r.Task) {
			tasks = append(tasks, r.Task)
		}
	}
	return tasks, t.Start(ctx, a)
}

// over writes where a bar stands.
type over struct {
	bar *cli.Progress
	to  io.Writer
}

// Write implements io.Writer.
func (o over) Write(text []byte) (n int, err error) {
	o.bar.Over(func() { n, err = o.to.Write(text) })
	return n, err
}

// leave leaves a task to NCCL, since a process crashed at it.
func (p *plan) leave(a *cli.App, n int, name string, crash *processes.Crash) error {
	if name == windowsTask {
		a.Note("", "NCCL runs calls between windows of %d ranks: %s", n, crash.Text)
		return nil
	}
	doc, err := tuned.Read(p.machine)
	if err != nil {
		return cli.Unavailable("what was found cannot be read: %v", err)
	}
	for _, t := range p.tasks(n, "") {
		if t.name() == name {
			a.Note("", "%s %s: %s", t.lost(), t.title(), crash.Text)
			found := doc.Of(t.Group)
			found.Done = true
			doc.Put(found, time.Now())
		}
	}
	if err := doc.Write(); err != nil {
		return cli.Unavailable("what was found cannot be kept: %v", err)
	}
	return nil
}

// childArguments are those of the processes that measure n ranks.
func (f *tuneFlags) childArguments(n int, share time.Duration, args, without []string) []string {
	list := append([]string{"tune"}, args...)
	list = append(list, "--ranks", strconv.Itoa(n), "--time", max(share.Round(time.Second), time.Second).String(), "--end",
		f.end, "--timeout", f.wait.String())
	if f.nccl != "" {
		list = append(list, "--nccl", f.nccl)
	}
	if f.again {
		list = append(list, "--again")
	}
	if f.bits != "" {
		list = append(list, "--bits", f.bits)
	}
	for _, name := range without {
		list = append(list, "--"+withoutFlag, name)
	}
	return list
}
