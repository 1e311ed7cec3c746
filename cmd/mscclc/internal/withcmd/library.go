package withcmd

import (
	"errors"
	"os"
	"path/filepath"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/ir/diag"
	"mscclc/runtime"
)

// folder returns the folder of the libraries: that of --lib, that of the package, or one where they are built. Those
// that it builds to stand in the place of NCCL hand on all functions that this NCCL exports.
func (f *withFlags) folder(a *cli.App, nccl string) (string, error) {
	if f.lib != "" {
		return filepath.Abs(f.lib)
	}
	var more []string
	if f.replace && nccl != none {
		names, err := nccllib.Functions(nccl)
		if err != nil {
			return "", cli.Unavailable("%v", err)
		}
		more = runtime.Unknown(names)
	}
	installed, err := installed(a)
	if err != nil {
		return "", err
	}
	if installed != "" && len(more) == 0 {
		return installed, nil
	}
	dir, err := runtime.CachedBy(cli.Unfinished, more...)
	switch {
	case err == nil:
		return filepath.Abs(dir)
	case installed != "": // a note names the functions that it does not hand on
		return installed, nil
	}
	return "", NotBuilt(err)
}

// NotBuilt returns the error of a library that cannot be built, with the way out.
func NotBuilt(err error) error {
	d := diag.New(diag.Unavailable, diag.Span{}, "the library cannot be built: %v", err)
	if errors.Is(err, runtime.ErrNoCompiler) {
		return diag.List{d.WithHint("install g++, or a package of mscclc, which has the library; CXX names another compiler")}
	}
	return diag.List{d.WithHint("set MSCCLC_CACHE to a folder of your own with 100 MB of room, or install a package of " +
		"mscclc, which has the library")}
}

// installed returns the folder of the libraries that were installed with the command, or "". A note says that those
// there do not count.
func installed(a *cli.App) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil
	}
	dir, err := runtime.Prebuilt(self)
	if errors.Is(err, runtime.ErrOther) {
		a.Note("", "the library in %s is of another version than this command, and is not taken: install the package anew",
			dir)
		return "", nil
	}
	return dir, err
}
