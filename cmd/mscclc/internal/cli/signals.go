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

// undos undo what the command has begun, each of which returns what it has done. When a signal ends the process, it is
// locked for good.
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
	return append(done, "left no shared memory") // which is in no file, so it ends with the processes
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
			fmt.Fprintf(os.Stderr, "mscclc: interrupted by %s; %s\n", signalNames[s], strings.Join(undoAll(), ", "))
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
				time.Sleep(time.Second) // until the signal ends the process, whose status then names it
			}
			os.Exit(ExitInterrupted)
		}
	}()
}
