//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// children returns the processes that a process has started and that live.
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

// interrupted starts run, has a signal end it after a pause, and returns how it ended, what it said and which processes
// it had started.
func interrupted(t *testing.T, s syscall.Signal, procs int, pause time.Duration) (*os.ProcessState, string, []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mscclc", "run", "allreduce/ring", "--ranks", "4", "--iters", "1000000", "--procs",
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
	time.Sleep(pause)
	cmd.Process.Signal(s)
	cmd.Wait()
	return cmd.ProcessState, stderr.String(), started
}

// TestRunInterrupted: a signal ends run, and the processes that --procs has started. One line says so, and what is left
// is the status of the signal.
func TestRunInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			continue // as nohup has it
		}
		for _, procs := range []int{0, 2} {
			state, stderr, started := interrupted(t, s, procs, 300*time.Millisecond)
			for pause := time.Second; stderr == "" && pause < 10*time.Second; pause *= 2 { // it had no handler yet
				state, stderr, started = interrupted(t, s, procs, pause)
			}
			want := map[syscall.Signal]string{syscall.SIGTERM: "mscclc: interrupted by SIGTERM",
				syscall.SIGHUP: "mscclc: interrupted by SIGHUP"}[s]
			if procs > 0 {
				want += "; ended 2 processes"
			}
			if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s ||
				stderr != want+"\n" {
				t.Errorf("%v of %d processes: %v, %q", s, procs, state, stderr)
			}
			for _, folder := range started {
				if exe, err := os.Readlink(folder + "/exe"); err == nil {
					t.Errorf("%v: process %s is left, of %s", s, folder, exe)
				}
			}
		}
	}
}

// TestParentKilled: processes end when the one that started them is killed, whatever they are at.
func TestParentKilled(t *testing.T) {
	for _, procs := range []string{"1", "2"} {
		cmd := exec.CommandContext(t.Context(), "mscclc", "run", "allreduce/ring", "--ranks", "4", "--iters", "1000000000",
			"--procs", procs)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var started []string
		for begin := time.Now(); fmt.Sprint(len(started)) != procs; time.Sleep(time.Millisecond) {
			if started = children(cmd.Process.Pid); time.Since(begin) > covering.Patience(3*time.Second) {
				t.Fatalf("%d processes were started, of %s", len(started), procs)
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		for _, folder := range started {
			for begin := time.Now(); ; time.Sleep(time.Millisecond) {
				if _, err := os.Readlink(folder + "/exe"); err != nil {
					break
				}
				if time.Since(begin) > covering.Patience(3*time.Second) {
					t.Fatalf("of %s processes, %s is left", procs, folder)
				}
			}
		}
	}
}
