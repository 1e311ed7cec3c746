package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mscclc/ir/diag"
)

// graceful holds the signals at which the command ends by itself: the first of each leaves the process to it.
var graceful sync.Map

// EndsBy returns a context that the signals end. The command must watch it, and then come to its end.
func EndsBy(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	for _, s := range signals {
		graceful.Store(s, true)
	}
	return signal.NotifyContext(ctx, signals...)
}

// undos holds functions that undo what the command has begun. Each returns what it has done. When a signal ends the
// process, it is locked for good.
var undos struct {
	sync.Mutex
	list []*func() string
}

// UndoOnSignal has a signal that ends the process call undo first, which returns what it has done. forget ends that. It
// does not return while a signal ends the process.
func UndoOnSignal(undo func() string) (forget func()) {
	undos.Lock()
	defer undos.Unlock()
	undos.list = append(undos.list, &undo)
	return func() {
		undos.Lock()
		defer undos.Unlock()
		undos.list = slices.DeleteFunc(undos.list, func(f *func() string) bool { return f == &undo })
	}
}

// signalNames are the signals that end the process.
var signalNames = map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}

// undoAll undoes what the command has begun, and returns what that was.
func undoAll() (done []string) {
	undos.Lock()
	for _, undo := range undos.list {
		done = append(done, (*undo)())
	}
	temps.Lock()
	for name := range temps.names {
		os.RemoveAll(name)
	}
	if n := len(temps.names); n > 0 {
		done = append(done, "removed "+diag.Counted(n, "temporary file"))
	}
	return done
}

// mostUndoing is how long a signal waits for what it undoes and says: stderr may be a pipe that nobody reads.
const mostUndoing = 5 * time.Second

// undone undoes what the command has begun, and says so.
func undone(s os.Signal) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		line := "mscclc: interrupted by " + signalNames[s]
		if done := undoAll(); len(done) > 0 {
			line += "; " + strings.Join(done, ", ")
		}
		fmt.Fprintln(os.Stderr, line)
	}()
	select {
	case <-over:
	case <-time.After(mostUndoing):
	}
}

// RemoveOnSignal has signals that end the process undo what it has begun, remove its temporary files and folders, and
// say so.
func RemoveOnSignal() {
	ending := make(chan os.Signal, 1)
	for s := range signalNames {
		if !signal.Ignored(s) { // as nohup has it
			signal.Notify(ending, s)
		}
	}
	go func() {
		for s := range ending {
			if _, waits := graceful.LoadAndDelete(s); waits {
				continue
			}
			undone(s)
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
				time.Sleep(time.Second) // until the signal ends the process, whose status then names it
			}
			os.Exit(ExitInterrupted)
		}
	}()
}

// mostAbandoning is how long Abandon undoes what the command has begun.
const mostAbandoning = time.Second

// Abandon undoes what the command has begun, and ends the process, of which nobody wants anything any more.
func Abandon() {
	time.AfterFunc(mostAbandoning, func() { os.Exit(ExitInterrupted) })
	undoAll()
	os.Exit(ExitInterrupted)
}
