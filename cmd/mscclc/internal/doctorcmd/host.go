package doctorcmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/runtime"
)

// This file looks at what is no GPU: the system, launchers, folders and the library.

// system says what the processes of a job find: processors, and whether this is a container.
func (m *Machine) system() {
	text := diag.Counted(goruntime.NumCPU(), "processor")
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(file); err == nil {
			text += ", in a container"
			break
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		text += ", in a pod"
	}
	if job := os.Getenv("SLURM_JOB_ID"); job != "" {
		text += ", in job " + job + " of Slurm"
	}
	m.add("system", ok, "", "%s", text)
}

// noGPU says why there may be no GPU, as the files of NVIDIA's driver show, and the way out.
func noGPU() (state, hint string) {
	card := "/dev/nvidia0"
	_, loaded := os.Stat("/proc/driver/nvidia/version")
	f, err := os.OpenFile(card, os.O_RDWR, 0)
	switch {
	case err == nil:
		f.Close()
		return bad, "the card is there, and the driver's library is not: install libcuda1, or pass it to the container"
	case errors.Is(err, os.ErrPermission):
		return bad, "this user may not open " + card + ": add it to the group that owns the file"
	case loaded == nil:
		return bad, "the driver is loaded, and no GPU is visible: docker run --gpus all, or ask the scheduler for a GPU"
	}
	return none, "compiling, proving and running on the CPU need none; NVIDIA's driver is needed for GPUs"
}

// launchers looks for what starts the processes of a job.
func (m *Machine) launchers() {
	var found []string
	for _, name := range []string{"mpirun", "srun", "torchrun"} {
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		}
	}
	if slices.Contains(found, "mpirun") {
		m.add("MPI", ok, "", "launchers on PATH: %s", cli.List(found))
		return
	}
	others := "run --procs starts processes of one host"
	if len(found) > 0 {
		others += ", and " + cli.List(found) + " is on PATH"
	}
	m.add("MPI", none, "install openmpi-bin, if you start jobs with it; "+others, "mpirun is not on PATH")
}

// networkCards returns the names of the cards for RDMA, as Linux lists them.
func networkCards() (names []string) {
	list, _ := filepath.Glob("/sys/class/infiniband/*")
	for _, path := range list {
		names = append(names, filepath.Base(path))
	}
	return names
}

// room is the least that mscclc with needs in the cache, and leastShared what NCCL needs of /dev/shm.
const (
	room        = 100 << 20
	leastShared = 256 << 20
)

// sharedMemory looks at /dev/shm, which NCCL and data loaders of frameworks use. mscclc does not.
func (m *Machine) sharedMemory() {
	free, err := freeBytes("/dev/shm")
	switch {
	case err != nil:
		m.add("/dev/shm", none, "NCCL needs it: mount a tmpfs there", "%v", err)
	case free < leastShared:
		m.add("/dev/shm", bad, "docker run --shm-size=1g; a pod: an emptyDir of medium Memory", "%s are free, and NCCL needs more",
			diag.SizeText(free))
	default:
		m.add("/dev/shm", ok, "", "%s are free", diag.SizeText(free))
	}
}

// cache looks at the folder for bundles, and reports whether files can be made there.
func (m *Machine) cache() bool {
	const hint = "MSCCLC_CACHE=FOLDER names a folder of your own"
	dir, err := runtime.CacheFolder("bundles")
	if err == nil {
		dir = filepath.Dir(dir)
		err = writable(dir)
	}
	if err != nil {
		m.add("cache", bad, hint, "%v", err)
		return false
	}
	if free, err := freeBytes(nearest(dir)); err == nil && free < room {
		m.add("cache", bad, hint, "%s: only %s are free", dir, diag.SizeText(free))
		return false
	}
	m.add("cache", ok, "", "%s", dir)
	return true
}

// nearest returns the folder, or the nearest above it that exists.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// library looks for the library of mscclc with, and reports whether it is there or can be built.
func (m *Machine) library() bool {
	other := ""
	if self, err := os.Executable(); err == nil {
		dir, err := runtime.Prebuilt(self)
		if err == nil && dir != "" {
			m.add("library", ok, "", "installed in %s", dir)
			return true
		}
		if errors.Is(err, runtime.ErrOther) {
			other = "that in " + dir + " is of another version; "
		}
	}
	dir, built, err := runtime.Where()
	switch {
	case errors.Is(err, runtime.ErrNoCompiler):
		m.add("library", bad, "install a package of mscclc, which has the library, or g++", "%s%s", other,
			strings.TrimSuffix(err.Error(), ": "+runtime.ErrNoCompiler.Error()))
		return false
	case err != nil:
		m.add("library", bad, "install a package of mscclc, which has the library", "%s%v", other, err)
		return false
	case built:
		m.add("library", ok, "", "%sbuilt in %s", other, dir)
	default:
		m.add("library", ok, "", "%sit is built once, with g++, by the first mscclc with", other)
	}
	return true
}
