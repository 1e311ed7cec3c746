package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mscclc/executor/exchange"
)

// environment returns what looks variables up in a list of NAME=VALUE.
func environment(list ...string) func(string) string {
	return func(name string) string {
		for _, v := range list {
			if n, value, _ := strings.Cut(v, "="); n == name {
				return value
			}
		}
		return ""
	}
}

// TestPlaces: launchers name their jobs, each job has ports of its own, and a port that somebody gave comes first.
func TestPlaces(t *testing.T) {
	mpi, run := []string{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"}, []string{"RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"}
	step := []string{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2"}
	with := func(list []string, more ...string) []string { return append(slices.Clone(list), more...) }
	for _, c := range []struct {
		env   []string
		job   string
		first int // the first port, or 0 for one of the job's name
		count int
		local bool
	}{
		{mpi, "", 29401, 1, true},
		{with(mpi, "PMIX_NAMESPACE=prterun-a-12@1"), "ompi prterun-a-12@1", 0, 8, true},
		{with(mpi, "OMPI_MCA_ess_base_jobid=4711"), "ompi 4711", 0, 8, true},
		{with(mpi, "OMPI_MCA_ess_base_jobid=4711", "MASTER_ADDR=one"), "ompi 4711", 0, 8, false},
		{with(mpi, "OMPI_MCA_ess_base_jobid=4711", "MASTER_PORT=1000"), "ompi 4711", 1001, 9, true},
		{with(mpi, "OMPI_MCA_ess_base_jobid=4711", "MSCCLC_HUB=one:7"), "ompi 4711", 7, 1, false},
		{with(run, "TORCHELASTIC_RUN_ID=none", "TORCHELASTIC_RESTART_COUNT=1", "MASTER_PORT=29500"), "", 29501, 1, true},
		{with(run, "TORCHELASTIC_RUN_ID=x", "TORCHELASTIC_RESTART_COUNT=1"), "torchrun x 1", 0, 8, true},
		{with(run, "TORCHELASTIC_RUN_ID=x", "TORCHELASTIC_RESTART_COUNT=1", "MSCCLC_JOB=mine"), "named mine", 0, 8, true},
		{with(run, "MASTER_ADDR=localhost"), "", 29401, 1, true},
		{with(run[:2:2], "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=localhost"), "", 29401, 1, false},
		{with(step, "SLURM_JOB_ID=5", "SLURM_STEP_ID=0"), "slurm 5 0", 0, 8, true},
		{[]string{"MSCCLC_INDEX=0", "MSCCLC_SIZE=2", "MSCCLC_HUB=127.0.0.1:9", "SLURM_JOB_ID=5"}, "", 9, 1, true},
	} {
		job, err := Of(environment(c.env...))
		if err != nil || job == nil {
			t.Errorf("%v: %v", c.env, err)
			continue
		}
		p := job.place
		if p.Job != c.job || len(p.Ports) != c.count || c.first != 0 && p.Ports[0] != c.first || p.Local != c.local {
			t.Errorf("%v: %+v", c.env, p)
		}
		if c.count > 1 && fmt.Sprint(p.Ports[c.count-8:]) != fmt.Sprint(exchange.Ports(c.job)) {
			t.Errorf("%v: the ports are %v", c.env, p.Ports)
		}
	}
}

// TestSecrets: a secret is in a variable, or in a file that only its user can read.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chmod(at, mode)
		return "MSCCLC_SECRET_FILE=" + at
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env       []string
		secret, e string
	}{
		{nil, "", ""},
		{[]string{"MSCCLC_SECRET=s 1"}, "s 1", ""},
		{[]string{write("good", "s 2\n", 0o600)}, "s 2", ""},
		{[]string{write("read", "s", 0o400)}, "s", ""},
		{[]string{"MSCCLC_SECRET=s", write("both", "s", 0o600)}, "", "one of them is enough"},
		{[]string{write("open", "s", 0o640)}, "", "other users may read"},
		{[]string{write("empty", "\n", 0o600)}, "", "is empty"},
		{[]string{write("long", strings.Repeat("x", mostSecret+1), 0o600)}, "", "over 4096 bytes"},
		{[]string{"MSCCLC_SECRET_FILE=" + pipe}, "", "no regular file"},
		{[]string{"MSCCLC_SECRET_FILE=" + dir + "/none"}, "", "no such file"},
	} {
		job, err := Of(environment(append(c.env, "MSCCLC_INDEX=0", "MSCCLC_SIZE=2", "MSCCLC_HUB=h:1")...))
		switch {
		case c.e != "":
			if err == nil || !strings.Contains(err.Error(), c.e) {
				t.Errorf("%v: %v, not %q", c.env, err, c.e)
			}
		case err != nil || string(job.place.Secret) != c.secret:
			t.Errorf("%v: %+v, %v", c.env, job, err)
		}
	}
}
