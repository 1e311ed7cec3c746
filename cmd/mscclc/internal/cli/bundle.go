package cli

import (
	"io"
	"os"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/files"
	"mscclc/ir/diag"
)

// ReadBundle reads the file that arg names if it holds a bundle, and returns nil if it does not. What is no regular
// file holds none: Open reads it.
func (a *App) ReadBundle(arg string) ([]byte, error) {
	if info, err := os.Stat(arg); IsStdin(arg) || err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := a.openInput(arg)
	if err != nil {
		return nil, nil // Open says why
	}
	defer f.Close()
	head := make([]byte, len(bundle.Magic))
	if _, err := io.ReadFull(f, head); err != nil || !bundle.Is(head) {
		return nil, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return files.ReadAll(arg, f, "a bundle", limits.File)
}

// noProgram says that a file holds nothing that a command reads.
func noProgram(name string, head []byte) error {
	if bundle.Is(head) {
		return diag.List{diag.New(diag.Unsupported, FileSpan(name), "%s is a bundle, and not a program",
			diag.Printable(name)).WithHint("mscclc show and mscclc verify take the name of a bundle")}
	}
	return diag.List{diag.New(diag.Malformed, FileSpan(name), "%s holds neither an algorithm nor a program",
		diag.Printable(name))}
}
