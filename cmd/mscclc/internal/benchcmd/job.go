package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/exchange"
)

// A processJob is this process's place among those that run a rank each.
type processJob struct {
	index, size int
	local       int    // among those of its machine
	hub         string // where process 0 listens
}

// The variables that say so: ours, which --procs sets, and those of mpirun and
// torchrun.
const (
	envHub   = "MSCCLC_HUB"
	envIndex = "MSCCLC_INDEX"
	envSize  = "MSCCLC_SIZE"
)

var launchers = [...]struct{ index, size, local string }{
	{envIndex, envSize, envIndex},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
	{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
}

// The port of torchrun's own store is MASTER_PORT; ours is the one above.
const masterHost, masterPort = "127.0.0.1", 29400

// jobOf reads a job from the environment; nil is a process alone.
func jobOf(getenv func(string) string) (*processJob, error) {
	for _, l := range launchers {
		if getenv(l.index) == "" || getenv(l.size) == "" {
			continue
		}
		index, err1 := strconv.Atoi(getenv(l.index))
		size, err2 := strconv.Atoi(getenv(l.size))
		if err1 != nil || err2 != nil || size < 1 || index < 0 || index >= size {
			return nil, cli.Usagef("the environment's %s and %s are %q and %q, no place among processes", l.index, l.size,
				getenv(l.index), getenv(l.size))
		}
		if size == 1 && l.index != envIndex {
			return nil, nil
		}
		local := index
		if n, err := strconv.Atoi(getenv(l.local)); err == nil && n >= 0 {
			local = n
		}
		hub, err := hubOf(getenv)
		return &processJob{index, size, local, hub}, err
	}
	return nil, nil
}

func hubOf(getenv func(string) string) (string, error) {
	if hub := getenv(envHub); hub != "" {
		return hub, nil
	}
	host, port := getenv("MASTER_ADDR"), masterPort
	if host == "" {
		host = masterHost
	}
	if text := getenv("MASTER_PORT"); text != "" {
		var err error
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65534 {
			return "", cli.Usagef("the environment's MASTER_PORT is %q, and no port", text)
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(port+1)), nil
}

// join meets the other processes, who must come within a time.
func (j *processJob) join(ctx context.Context, within time.Duration) (*exchange.Member, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("--timeout %v has passed", within))
	defer cancel()
	return exchange.Join(ctx, j.hub, j.index, j.size)
}

// startAll starts the command once a rank, as its user called it, and waits for
// all. What the first prints is the product. When one fails, the others hear of it
// through their exchange; what does not end by itself is ended with ctx.
func startAll(ctx context.Context, a *cli.App, count int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	free, err := net.Listen("tcp", masterHost+":0")
	if err != nil {
		return fmt.Errorf("no port to meet at: %w", err)
	}
	hub := free.Addr().String()
	free.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	codes := make([]int, count)
	errs := make([]error, count)
	var wg sync.WaitGroup
	for i := range count {
		cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
		cmd.Env = append(os.Environ(), envHub+"="+hub, envIndex+"="+strconv.Itoa(i), envSize+"="+strconv.Itoa(count))
		cmd.Stdout, cmd.Stderr = io.Writer(a.Stdout), a.Stderr
		if i > 0 {
			cmd.Stdout = io.Discard
		}
		wg.Go(func() {
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				codes[i] = exit.ExitCode()
			} else if err != nil {
				errs[i] = err
				cancel() // it never started: the others would wait for it
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("a process of %d: %w", count, err)
	}
	worst := 0
	for _, c := range codes {
		if c < 0 { // by a signal
			c = cli.ExitMachine
		}
		worst = max(worst, c)
	}
	if worst > 0 {
		return cli.ReportedError{Code: worst}
	}
	return nil
}
