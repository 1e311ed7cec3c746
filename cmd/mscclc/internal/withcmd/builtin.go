package withcmd

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/cuda"
	"mscclc/ir/diag"
	"mscclc/kernels"
	"mscclc/runtime"
)

// builtIn returns the file with the bundle of the rules that are built in for this machine's GPU. The bundle is made
// once, with machine code of the driver's, and kept in the user's cache.
func builtIn(a *cli.App) (string, error) {
	device, err := cuda.NameOf(0)
	if err != nil {
		d := diag.New(diag.Unavailable, diag.Span{}, "no bundle is known for this machine: %v", err)
		return "", diag.List{d.WithHint("mscclc bundle --device NAME writes a bundle; give it by --bundle FILE")}
	}
	spec, ok := bundle.BuiltInFor(device)
	if !ok {
		d := diag.New(diag.Unavailable, diag.Span{}, "no rules are built in for %s", diag.Printable(device))
		return "", diag.List{d.WithHint("mscclc bundle --device %q --unmeasured -o FILE.bundle writes a bundle of rules "+
			"that nobody measured, and mscclc bench COLLECTIVE --tune --staged measures rules; give it by --bundle", device)}
	}
	spec.Maker = "mscclc " + cli.Version()
	path, err := cachePath(&spec)
	if err != nil {
		return "", unavailable("%v", err)
	}
	if _, err := readBundle(path); err == nil {
		return path, nil
	}
	return path, makeBuiltIn(a, spec, path)
}

// cachePath returns the name of the file in the user's cache for the bundle of a built-in spec. It depends on all that
// the bundle is made of; such a spec has no programs of the user's.
func cachePath(spec *bundle.Spec) (string, error) {
	cache, err := runtime.CacheDir()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256(fmt.Appendf(text, "%d %x", bundle.Version, kernels.Hash()))
	return filepath.Join(cache, "mscclc", "bundles", fmt.Sprintf("%x.bundle", id[:12])), nil
}

// makeBuiltIn makes the bundle of a spec, and writes it to a file at once, so that others never see a part of it.
func makeBuiltIn(a *cli.App, spec bundle.Spec, path string) error {
	b, err := bundle.Build(spec)
	if err != nil {
		return err
	}
	if err := devices.Finish(b); err != nil {
		a.Note("", "the driver compiles the kernels each time that a job starts, since it did not do so now: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return unavailable("%v", err)
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".bundle")
	if err != nil {
		return unavailable("%v", err)
	}
	defer cli.Unfinished(out.Name())()
	defer os.Remove(out.Name())
	_, err = out.Write(bundle.Encode(b))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return unavailable("%v", err)
	}
	return nil
}
