//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children are the processes that a process has started and that live.
func children(pid int) (list []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if _, after, found := strings.Cut(string(text), ") "); err == nil && found {
			if fields := strings.Fields(after); fields[0] != "Z" && fields[1] == fmt.Sprint(pid) {
				list = append(list, filepath.Dir(file))
			}
		}
	}
	return list
}

// TestRunInterrupted: a signal ends run, and the processes that --procs has started. One line says so, and what is left
// is the status of the signal.
func TestRunInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		for _, procs := range []int{0, 2} {
			cmd := exec.Command("mscclc", "run", "allreduce/ring", "--ranks", "4", "--iters", "1000000", "--procs",
				fmt.Sprint(procs))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var started []string
			for begin := time.Now(); len(started) < procs && time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) {
				started = children(cmd.Process.Pid)
			}
			time.Sleep(300 * time.Millisecond) // until it runs; it may also be interrupted before
			cmd.Process.Signal(s)
			cmd.Wait()
			want := map[syscall.Signal]string{syscall.SIGTERM: "mscclc: interrupted by SIGTERM; ",
				syscall.SIGHUP: "mscclc: interrupted by SIGHUP; "}[s]
			if procs > 0 {
				want += "ended 2 processes, "
			}
			want += "left no shared memory\n"
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s ||
				stderr.String() != want {
				t.Errorf("%v of %d processes: %v, %q", s, procs, cmd.ProcessState, stderr.String())
			}
			for _, folder := range started {
				if exe, err := os.Readlink(folder + "/exe"); err == nil {
					t.Errorf("%v: process %s is left, of %s", s, folder, exe)
				}
			}
		}
	}
}
