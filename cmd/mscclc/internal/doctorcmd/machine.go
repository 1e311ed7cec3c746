package doctorcmd

import (
	"fmt"
	"runtime"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/executor/gpu"
	"mscclc/ir/diag"
	"mscclc/transport"
)

// A Machine is what doctor without a folder prints with --json.
type Machine struct {
	Schema   int     `json:"schema"`
	Version  string  `json:"version"`
	Platform string  `json:"platform"`
	Checks   []Check `json:"checks" doc:"what this machine has, and what is missing"`
	Run      string  `json:"run" doc:"what mscclc run does here"`
	With     string  `json:"with" doc:"what mscclc with does here"`
	cli.Noted
}

// A Check is one line: a part of the machine.
type Check struct {
	Part  string `json:"part"`
	State string `json:"state" doc:"ok, none (it is missing), or bad (it is there, and hinders)"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty" doc:"what to do"`
}

// Values of State.
const (
	ok   = "ok"
	none = "none"
	bad  = "bad"
)

// machine prints what this machine has, and what mscclc would do here.
func machine(a *cli.App) error {
	m := &Machine{Schema: cli.Schema, Version: cli.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	m.look()
	if a.JSON {
		m.Noted = a.Notes.List()
		return a.WriteJSON(m)
	}
	fmt.Fprintf(a.Stdout, "mscclc %s, %s\n", m.Version, m.Platform)
	var rows []string
	for _, c := range m.Checks {
		rows = append(rows, c.State+"\t"+c.Part+"\t"+c.Text)
		if c.Hint != "" {
			rows = append(rows, "\t\t  "+c.Hint)
		}
	}
	for line := range strings.Lines(cli.Table(rows...)) {
		fmt.Fprintln(a.Stdout, strings.TrimRight(line, " \n"))
	}
	fmt.Fprintf(a.Stdout, "mscclc run, bench: %s\nmscclc with: %s\n", m.Run, m.With)
	return nil
}

// add adds a line. Texts may be of drivers and of the environment, so they are made printable.
func (m *Machine) add(part, state, hint, format string, args ...any) {
	m.Checks = append(m.Checks, Check{part, state, diag.Printable(fmt.Sprintf(format, args...)), diag.Printable(hint)})
}

// look looks at all parts of the machine.
func (m *Machine) look() {
	m.system()
	is := m.gpus()
	version := m.nccl()
	m.launchers()
	m.network()
	m.sharedMemory()
	haveCache := m.cache()
	haveLibrary := m.library()
	m.Run = cli.List(devices.Built()) + " are built in"
	if is == nil {
		m.Run += "; the CPU runs programs, since there is no GPU"
		m.With = "fails without NVIDIA GPUs, unless --bundle FILE names a bundle"
		return
	}
	m.Run += fmt.Sprintf("; --device cuda runs programs on %s", diag.Counted(is.GPUs, "GPU"))
	rules := m.rules(is, version)
	switch {
	case !haveLibrary || !haveCache:
		m.With = "fails: see the lines above that are not ok"
	case is.GPUs < 2:
		m.With = "NCCL runs all calls of one GPU; rules count for ranks on several"
	default:
		m.With = rules
	}
}

// gpus looks for GPUs, and returns NVIDIA's, or nil.
func (m *Machine) gpus() *gpu.Machine {
	is, err := gpu.MachineOf(gpu.CUDA)
	if err == nil {
		m.add("GPUs", ok, "", "%d x %s, %s", is.GPUs, is.Device, is.Driver)
		if is.GPUs > 1 {
			m.add("links", ok, "", "%s", is.Links)
		}
		return is
	}
	if amd, err := gpu.MachineOf(gpu.HIP); err == nil {
		m.add("GPUs", none, "mscclc run --device hip runs programs; mscclc with is for NVIDIA's GPUs", "%d x %s, %s",
			amd.GPUs, amd.Device, amd.Driver)
		return nil
	}
	state, hint := noGPU()
	m.add("GPUs", state, hint, "%v", err)
	return nil
}

// nccl looks for NCCL, and returns its version.
func (m *Machine) nccl() string {
	path, err := nccllib.Find("")
	if err != nil || path == "" {
		m.add("NCCL", none, "with --nccl FILE names one, and --nccl none runs without",
			"%s is not on LD_LIBRARY_PATH, in the system's list, or in python3's packages", nccllib.Soname)
		return ""
	}
	version := nccllib.Version(path)
	m.add("NCCL", ok, "", "%s, %s", version, path)
	return version
}

// network looks for what carries messages between nodes.
func (m *Machine) network() {
	p, err := transport.Open("ucx")
	if err != nil {
		m.add("UCX", none, "only programs on several nodes need it: install libucx0", "%v", err)
	} else {
		p.Close()
		m.add("UCX", ok, "", "it opens")
	}
	cards := networkCards()
	if len(cards) == 0 {
		m.add("network", none, "nodes are connected by TCP; pass /dev/infiniband to a container that has cards",
			"there is no card for RDMA")
		return
	}
	if limit := lockedMemory(); limit != "" {
		m.add("network", bad, "ulimit -l unlimited; docker run --ulimit memlock=-1", "%s, but a process may lock only %s",
			cli.List(cards), limit)
		return
	}
	m.add("network", ok, "", "%s", cli.List(cards))
}

// rules says what runs the calls of a job.
func (m *Machine) rules(is *gpu.Machine, nccl string) string {
	doc, err := tuned.Find(nccl)
	if err != nil {
		m.add("rules", bad, "mscclc tune measures anew", "what mscclc tune found does not count: %v", err)
	}
	_, builtIn := bundle.BuiltInFor(is.Device)
	switch {
	case doc != nil:
		m.add("rules", ok, "", "%s", doc.Title())
		return "rules that were measured here choose programs or NCCL"
	case builtIn:
		m.add("rules", ok, "mscclc tune measures this machine's", "built in for %s", is.Device)
		return "built-in rules choose programs or NCCL, and the library learns for other calls"
	}
	m.add("rules", none, "mscclc tune measures them, in minutes", "nobody measured rules for %s", is.Device)
	return "the library learns which programs are faster than NCCL"
}
