package scarce

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// inherited is set where the process that started this one has two pipes with it (package processes).
const inherited = "MSCCLC_PARENT"

// bounded says what bounds the memory of this process, or "".
func bounded() string {
	for _, l := range []struct {
		which int
		flag  string
	}{{unix.RLIMIT_AS, "v"}, {unix.RLIMIT_DATA, "d"}} {
		var limit unix.Rlimit
		if unix.Getrlimit(l.which, &limit) == nil && limit.Cur != unix.RLIM_INFINITY {
			return fmt.Sprintf("ulimit -%s is %d KiB", l.flag, limit.Cur>>10)
		}
	}
	if mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err == nil && strings.TrimSpace(string(mode)) == "2" {
		return "vm.overcommit_memory is 2"
	}
	return ""
}

// watch starts this program once more, hands on what it says, and returns how it ended.
func watch(talk *talk) (code int, err error) {
	runtime.LockOSThread() // the worker dies with the thread that has started it
	worker := exec.Command("/proc/self/exe", os.Args[1:]...)
	worker.Args[0] = os.Args[0]
	worker.Stdin, worker.Stdout, worker.Stderr = os.Stdin, os.Stdout, talk
	worker.Env = append(os.Environ(), variable+"=1")
	if os.Getenv(inherited) != "" {
		worker.ExtraFiles = []*os.File{os.NewFile(3, "pipe"), os.NewFile(4, "pipe")}
	}
	worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	if err := worker.Start(); err != nil {
		signal.Stop(signals)
		return 0, err
	}
	go func() {
		for s := range signals {
			if s == unix.SIGTERM || !atTerminal() {
				worker.Process.Signal(s)
			}
		}
	}()
	err = worker.Wait()
	talk.end()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if ended, ok := worker.ProcessState.Sys().(syscall.WaitStatus); ok && ended.Signaled() {
		if crash(ended.Signal()) {
			fmt.Fprintf(&talk.died, "%s%v\n", crashed, ended.Signal())
			return 1, nil // failure reports it
		}
		dieBy(ended.Signal())
	}
	return worker.ProcessState.ExitCode(), nil
}

// crash reports whether a signal is that of a fault in a process. C code has it where it gets no memory and does not
// look. Go's runtime would write all that it knows if this process died by it.
func crash(s syscall.Signal) bool {
	return s == unix.SIGSEGV || s == unix.SIGBUS || s == unix.SIGABRT || s == unix.SIGILL || s == unix.SIGFPE ||
		s == unix.SIGTRAP
}

// atTerminal reports whether a terminal sends its signals to the worker, too.
func atTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// dieBy ends this process by a signal, as the worker ended.
func dieBy(s syscall.Signal) {
	signal.Reset(s)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // the worker has left its own, if any
	unix.Kill(os.Getpid(), s)
	select {}
}
