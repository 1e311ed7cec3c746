// Package processes connects a command to the other processes of its job. A job has several processes if --procs,
// mpirun, torchrun or srun started it. The package finds the other processes by environment variables, and checks that
// all have the same arguments. For --procs, it starts the processes and collects their messages.
package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor"
	"mscclc/executor/exchange"
	"mscclc/executor/host"
)

// A Job is this process's place among those that run ranks together.
type Job struct {
	Index, Size int
	Local       int // among those of its machine
	Beside      int // how many those are, itself too; all, where the launcher does not say
	place       exchange.Place

	x      *exchange.Member // of Join, until Leave
	joined bool             // that Join was called
}

// The variables that say so: ours, which --procs sets, and those of mpirun, torchrun and srun. A script that sbatch
// runs has SLURM_PROCID too, and no step.
const (
	envHub   = "MSCCLC_HUB"
	envIndex = "MSCCLC_INDEX"
	envSize  = "MSCCLC_SIZE"

	envStarted = "MSCCLC_STARTED" // by --procs, and by nothing else
)

var launchers = [...]struct {
	index, size, local, beside string
	job                        func(getenv func(string) string) string // the launcher's name of the job, or ""
}{
	{envIndex, envSize, envIndex, envSize, nameless},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", openMPI},
	{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", torchrun},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", slurm},
}

// Started reports whether --procs has started this process.
func Started() bool { return os.Getenv(envIndex) != "" }

// Of reads a job from the environment; nil is a process alone.
func Of(getenv func(string) string) (*Job, error) {
	if (getenv(envIndex) == "") != (getenv(envSize) == "") {
		return nil, cli.Usagef("the environment's %s is %q and %s is %q: a process of a job has both", envIndex,
			getenv(envIndex), envSize, getenv(envSize))
	}
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
		if size > exchange.MaxProcesses {
			return nil, cli.Usagef("the environment's %s is %d, and a job has up to %d processes", l.size, size,
				exchange.MaxProcesses)
		}
		if size == 1 && l.index != envIndex {
			return nil, nil
		}
		local, beside := index, size
		if n, err := strconv.Atoi(getenv(l.local)); err == nil && n >= 0 {
			local = n
		}
		// Slurm writes 2(x4) for four machines of 2. Where they have unlike numbers it writes a list, which is no answer.
		alike, _, _ := strings.Cut(getenv(l.beside), "(")
		if n, err := strconv.Atoi(alike); err == nil && n >= 1 && n <= size && !strings.Contains(getenv(l.beside), ",") {
			beside = n
		}
		place, err := placeOf(getenv, l.job(getenv), l.beside != envSize && beside == size)
		return &Job{Index: index, Size: size, Local: local, Beside: beside, place: place}, err
	}
	if hub := getenv(envHub); hub != "" {
		return nil, cli.Usagef("the environment's %s is %q, and nothing says which process of how many this is: set %s and "+
			"%s, or start the processes by mpirun, torchrun or srun", envHub, hub, envIndex, envSize)
	}
	return nil, nil
}

// leastPatience is how long another process may be silent at least, on a machine that is busy.
const leastPatience = 5 * time.Second

// Join meets the other processes, who must come within a time. From then on the job ends when nothing comes from one of
// them for as long, or for leastPatience if that is longer.
func (j *Job) Join(ctx context.Context, within time.Duration) (*exchange.Member, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("--timeout %v has passed", within))
	defer cancel()
	j.joined = true
	x, err := exchange.Join(ctx, j.place, j.Index, j.Size)
	if err == nil {
		x.SetPatience(max(within, leastPatience))
		j.x = x
	}
	return x, err
}

// Leave leaves the other processes, if this one has met them. j may be nil.
func (j *Job) Leave() {
	if j != nil && j.x != nil {
		j.x.Close()
	}
}

// GPUs returns the GPUs of a device that this process of the job has: its own, or where it is shown only one, that. On
// the CPU it is its share of the host's processors. Without a job on the CPU there are none.
func (j *Job) GPUs(device string) executor.GPUs {
	open := devices.GPUs[device]
	switch {
	case open == nil && j == nil:
		return nil
	case open == nil:
		return host.New(host.Options{Threads: max(1, runtime.GOMAXPROCS(0)/j.Beside)})
	}
	own := open(j.Local)
	if _, err := own.GPUs(); errors.Is(err, executor.ErrNoDevice) {
		return open(0)
	}
	return own
}
