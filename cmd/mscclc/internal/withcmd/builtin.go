package withcmd

import (
	"os"
	"os/exec"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/executor/cuda"
	"mscclc/ir/diag"
)

// ofMachine returns the file with the bundle for this machine: of the rules that mscclc tune measured here, or else of
// those that are built in for the GPU.
func (f *withFlags) ofMachine(a *cli.App, nccl string) (string, error) {
	version := ""
	if nccl != "" && nccl != none {
		version = nccllib.Version(nccl)
	}
	if f.tune {
		if err := f.runTune(a); err != nil {
			return "", err
		}
	}
	doc, err := tuned.Find(version)
	if err != nil {
		a.Note("", "what mscclc tune found does not count: %v", err)
	}
	if doc != nil {
		a.Note("", "the rules were %s", doc.Title())
		return tuned.Cached(a, doc.Spec())
	}
	device, err := cuda.NameOf(0)
	if err != nil {
		d := diag.New(diag.Unavailable, diag.Span{}, "no bundle is known for this machine: %v", err)
		return "", diag.List{d.WithHint("mscclc bundle --device NAME writes a bundle; give it by --bundle FILE")}
	}
	spec, ok := bundle.BuiltInFor(device)
	if !ok {
		d := diag.New(diag.Unavailable, diag.Span{}, "no rules are built in for %s", diag.Printable(device))
		return "", diag.List{d.WithHint("mscclc tune measures rules for this machine in a few minutes")}
	}
	a.Note("", "the rules are built in for %s; mscclc tune measures this machine's", diag.Printable(device))
	spec.Maker = "mscclc " + cli.Version()
	return tuned.Cached(a, spec)
}

// runTune has mscclc tune measure what it has not measured yet.
func (f *withFlags) runTune(a *cli.App) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"tune"}
	if f.nccl != "" {
		args = append(args, "--nccl", f.nccl)
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = a.Stderr, a.Stderr // the job's results go to stdout
	if err := cmd.Run(); err != nil {
		a.Note("", "mscclc tune did not end well (%v): what it found until then counts", err)
	}
	return nil
}

// noteMachine notes that a bundle was measured on another machine than this one.
func noteMachine(a *cli.App, b *bundle.Bundle, nccl string) {
	there := tuned.MeasuredOn(b.Info().Note)
	if there == "" {
		return
	}
	version := ""
	if nccl != "" && nccl != none {
		version = nccllib.Version(nccl)
	}
	if here, err := tuned.Here(version); err == nil && here.String() != there {
		a.Note("", "the bundle was measured on another machine (%s), and this one is %v", there, here)
	}
}
