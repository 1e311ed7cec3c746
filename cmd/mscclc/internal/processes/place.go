package processes

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/exchange"
	"mscclc/files"
)

// This file reads from the environment where the processes of a job meet, and what distinguishes it from other jobs
// there.

const (
	envJob        = "MSCCLC_JOB"         // a name of the job, instead of the launcher's
	envSecret     = "MSCCLC_SECRET"      // that the processes of the job know
	envSecretFile = "MSCCLC_SECRET_FILE" // a file that has it, which only its user can read
)

// The port of torchrun's own store is MASTER_PORT; ours is the one above.
const masterHost, masterPort = "127.0.0.1", 29400

// A job of processes that nobody named has no name.
func nameless(func(string) string) string { return "" }

// openMPI returns the name that mpirun gives a job: PMIx's of version 5 and 4, or ORTE's of 4 and before.
func openMPI(getenv func(string) string) string {
	return named("ompi", cmp.Or(getenv("PMIX_NAMESPACE"), getenv("OMPI_MCA_ess_base_jobid")))
}

// torchrun returns the name of a run, each start of which is a job of its own. "none" is what it is called if nobody
// names it.
func torchrun(getenv func(string) string) string {
	id := getenv("TORCHELASTIC_RUN_ID")
	if id == "none" {
		return ""
	}
	return named("torchrun", id, getenv("TORCHELASTIC_RESTART_COUNT"))
}

func slurm(getenv func(string) string) string {
	return named("slurm", getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"))
}

// named returns a name that no other launcher gives, or "" without an id.
func named(launcher, id string, rest ...string) string {
	if id == "" {
		return ""
	}
	return strings.Join(append([]string{launcher, id}, rest...), " ")
}

// placeOf returns where a job with the launcher's name meets. Beside says that the launcher has all its processes on
// one host. A port that somebody gave is the first; after one that is only implied, and instead of none, come those of
// the name.
func placeOf(getenv func(string) string, job string, beside bool) (p exchange.Place, err error) {
	job = cmp.Or(named("named", getenv(envJob)), job)
	secret, err := secretOf(getenv)
	if err != nil {
		return p, err
	}
	if hub := getenv(envHub); hub != "" {
		host, port, err := net.SplitHostPort(hub)
		if n, e := strconv.Atoi(port); err != nil || host == "" || strings.ContainsAny(host, " \t\n") || e != nil || n < 1 ||
			n > 65535 {
			return p, cli.Usagef("the environment's %s is %q, and must be HOST:PORT, with a port from 1 to 65535", envHub,
				hub).Hint("all processes have that of process 0, as in %s=%s:%d", envHub, masterHost, masterPort+1)
		}
		p = exchange.At(hub)
		p.Job, p.Secret = job, secret
		return p, nil
	}
	p = exchange.Place{Host: cmp.Or(getenv("MASTER_ADDR"), masterHost), Job: job, Secret: secret}
	p.Local = exchange.Loopback(p.Host) && (beside || getenv("MASTER_ADDR") == "")
	if text := getenv("MASTER_PORT"); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65534 {
			return p, cli.Usagef("the environment's MASTER_PORT is %q, and must be a port from 1 to 65534: mscclc takes the "+
				"port above it", text)
		}
		p.Ports = []int{port + 1}
	}
	switch {
	case job != "":
		p.Ports = append(p.Ports, exchange.Ports(job)...)
	case p.Ports == nil:
		p.Ports = []int{masterPort + 1}
	}
	return p, nil
}

// mostSecret is the most bytes of a secret.
const mostSecret = 4096

// secretOf returns the secret of a job, or nil.
func secretOf(getenv func(string) string) ([]byte, error) {
	text, name := getenv(envSecret), getenv(envSecretFile)
	switch {
	case text != "" && name != "":
		return nil, cli.Usagef("the environment has %s and %s: one of them is enough", envSecret, envSecretFile)
	case text != "":
		return []byte(text), nil
	case name == "":
		return nil, nil
	}
	text, err := readSecret(name)
	if err != nil {
		return nil, cli.Usagef("the environment's %s: %v", envSecretFile, err)
	}
	return []byte(text), nil
}

func readSecret(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return "", fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("other users may read or write %s, so that it is no secret (chmod 600)", name)
	case files.Owner(info) != os.Geteuid() && files.Owner(info) != 0:
		return "", fmt.Errorf("%s belongs to another user", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostSecret+1))
	secret := strings.TrimRight(string(text), "\r\n")
	switch {
	case err != nil:
		return "", err
	case secret == "":
		return "", fmt.Errorf("%s is empty", name)
	case len(secret) > mostSecret:
		return "", fmt.Errorf("%s has over %d bytes", name, mostSecret)
	}
	return secret, nil
}
