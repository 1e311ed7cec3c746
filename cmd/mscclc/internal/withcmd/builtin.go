package withcmd

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/executor/cuda"
	"mscclc/internal/usercache"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// ofMachine returns the file with the bundle for this machine: of the rules that mscclc tune measured here, or else of
// those that are built in for the GPU, and of candidates, among which the library learns.
func (f *withFlags) ofMachine(a *cli.App, nccl string) (string, error) {
	if f.tune {
		if err := f.runTune(a); err != nil {
			return "", err
		}
		if machine, err := cuda.Machine(); invariant() && err == nil && machine.GPUs > 2 {
			if err := f.runTune(a, "--bits", selection.Invariant); err != nil {
				return "", err
			}
		}
	}
	doc, err := tuned.Find(nccllib.Version(nccl))
	if err != nil {
		a.Note("", "what mscclc tune found does not count: %v", err)
	}
	machine, err := cuda.Machine()
	if err != nil {
		d := diag.New(diag.Unavailable, diag.Span{}, "no bundle is known for this machine: %v", err)
		return "", diag.List{d.WithHint("mscclc bundle --device NAME writes a bundle; give it by --bundle FILE")}
	}
	device := diag.Printable(machine.Device)
	_, builtIn := bundle.BuiltInFor(machine.Device)
	switch {
	case doc != nil:
		a.Note("", "the rules were %s", doc.Title())
	case builtIn:
		a.Note("", "the rules are built in for %s; mscclc tune measures this machine's", device)
	case f.nccl == none:
		a.Note("", "nobody measured rules for %s; mscclc tune --nccl none measures some", device)
	case !learns():
		a.Note("", "nobody measured rules for %s, and learning is off (MSCCLC_LEARN, CUBLAS_WORKSPACE_CONFIG), so NCCL runs "+
			"all calls; mscclc tune measures rules", device)
	default:
		a.Note("", "nobody measured rules for %s, so the library learns which programs are faster than NCCL; mscclc tune "+
			"measures them", device)
	}
	here := tuned.Machine{Device: machine.Device, GPUs: machine.GPUs, Links: machine.Links}
	return tuned.Cached(a, tuned.SpecOf(here, doc))
}

// learned returns the file in the user's cache for what the library learns, or nothing where there is no cache.
func learned() string {
	folder, err := usercache.Open("learned")
	if err != nil {
		return ""
	}
	defer folder.Close()
	return filepath.Join(folder.Path(), "choices")
}

// runTune has mscclc tune measure what it has not measured yet. Whoever stops that does not want the job either.
func (f *withFlags) runTune(a *cli.App, more ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"tune"}, more...)
	if f.nccl != "" {
		args = append(args, "--nccl", f.nccl)
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = a.Stderr, a.Stderr // the job's results go to stdout
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt) // the terminal signals both processes
	defer signal.Stop(stopped)
	err = cmd.Run()
	select {
	case <-stopped:
		return cli.Unavailable("interrupted, and the job was not started; what mscclc tune found until then is kept")
	default:
	}
	if err != nil {
		a.Note("", "mscclc tune did not end well (%v): what it found until then counts", err)
	}
	return nil
}

// noteMachine notes that a bundle was measured on another machine than this one.
func noteMachine(a *cli.App, b *bundle.Bundle, nccl string) {
	info := b.Info()
	if device, err := cuda.NameOf(0); err == nil && info.Device != "" && info.Device != device {
		a.Note("", "the bundle is for %s, and this machine has %s: NCCL runs all calls", diag.Printable(info.Device),
			diag.Printable(device))
		return
	}
	there := tuned.MeasuredOn(info.Note)
	if there == "" {
		return
	}
	if here, err := tuned.Here(nccllib.Version(nccl)); err == nil && here.String() != there {
		a.Note("", "the bundle was measured on another machine (%s), and this one is %v", there, here)
	}
}
