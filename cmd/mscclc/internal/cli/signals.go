package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
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

// RemoveOnSignal has signals that end the process remove its temporary files and folders first.
func RemoveOnSignal() {
	ending := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup has it
			signal.Notify(ending, s)
		}
	}
	go func() {
		for s := range ending {
			if _, waits := graceful.LoadAndDelete(s); waits {
				continue
			}
			temps.Lock()
			for name := range temps.names {
				os.RemoveAll(name)
			}
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
				time.Sleep(time.Second) // until the signal ends the process, whose status then names it
			}
			os.Exit(ExitInterrupted)
		}
	}()
}
