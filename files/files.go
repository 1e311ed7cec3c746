// Package files reads the files that a command is given: regular files and standard input, each up to a limit. It
// rejects all other files: a named pipe may wait forever for a writer, and a device may have no end. It also checks who
// can have written a file, before a job runs the file (Trusted, Untrusted).
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mscclc/ir/diag"
)

// LibrarySuffix ends the name of every file that may be imported.
const LibrarySuffix = ".mscl"

// ErrOutside is the error of a library outside the folders that imports are confined to.
var ErrOutside = errors.New("it lies outside the folders of --import-path")

// Inherited reports whether name is standard input, or another descriptor that this process was started with.
func Inherited(name string) bool {
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// Open opens a regular file, or an inherited descriptor of any kind but a folder. The caller closes it. The error is a
// diag.List for a file of another kind, and otherwise the system's.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name) // before it is opened: opening a pipe waits for its writer
	if err != nil {
		return nil, err
	}
	if what := refused(info.Mode()); what != "" && (info.IsDir() || !Inherited(name)) {
		d := diag.New(diag.Io, diag.FileSpan(name), "this is %s, and not a file to read", what)
		if info.IsDir() {
			return nil, diag.List{d.WithHint("name a file in it")}
		}
		return nil, diag.List{d.WithHint("give a regular file")}
	}
	return os.Open(name)
}

// refused says what a file is that is not regular, or "".
func refused(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read reads a file that Open opens; see ReadAll.
func Read(name, what string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(name, f, what, limit)
}

// ReadAll reads r, which messages call name, to its end. A file of more than limit bytes is an error, a diag.List that
// says that what, such as "a topology", has no more. It never holds more than three times the limit.
func ReadAll(name string, r io.Reader, what string, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
		}
	}
	_, err := b.ReadFrom(Limit(name, r, what, limit))
	var long diag.List
	switch {
	case errors.As(err, &long):
		return nil, long
	case err != nil:
		return nil, diag.List{diag.New(diag.Io, diag.FileSpan(name), "cannot read: %v", err)}
	}
	return b.Bytes(), nil
}

// Limit gives the bytes of r without the byte order mark that they may begin with, and after the first limit bytes the
// error of ReadAll if there are more.
func Limit(name string, r io.Reader, what string, limit int64) io.Reader {
	return LimitHint(name, &unmarked{Reader: r}, what, limit,
		"check that this is the file that you mean, and make it smaller")
}

// LimitHint is Limit with a hint of the error, and leaves a byte order mark.
func LimitHint(name string, r io.Reader, what string, limit int64, hint string) io.Reader {
	return &limited{io.LimitedReader{R: r, N: limit + 1}, func() error {
		d := diag.New(diag.Limit, diag.FileSpan(name), "the file has more than %s, the most that is read of %s",
			diag.SizeText(limit), what)
		return diag.List{d.WithHint("%s", hint)}
	}}
}

type limited struct {
	io.LimitedReader
	long func() error
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.LimitedReader.Read(b)
	if l.N == 0 && n > 0 {
		return n - 1, l.long()
	}
	return n, err
}

// ReadLibrary reads up to limit bytes of a library: a regular file whose name, and the name of the file that a link
// leads to, ends in LibrarySuffix. If within names folders, the file must lie in one of them when all links are
// resolved, or the error is ErrOutside.
func ReadLibrary(name string, within []string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		real = name
	}
	if len(within) > 0 && !inside(real, within) {
		return nil, ErrOutside // whether or not it exists
	}
	if err != nil {
		return nil, err
	}
	if filepath.Ext(real) != LibrarySuffix {
		return nil, fmt.Errorf("it leads to a file that is not named *%s", LibrarySuffix)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if what := refused(info.Mode()); what != "" {
		return nil, fmt.Errorf("it is %s", what)
	}
	f, err := Open(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// inside reports whether a file lies below one of some folders.
func inside(file string, folders []string) bool {
	file, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	for _, folder := range folders {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			folder = real
		}
		folder, err := filepath.Abs(folder)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// CutSizeUnit splits a size into its digits and the power of two of its unit: K, M or G, in capitals or not, also with
// B or iB after it. A unit B stands for no power.
func CutSizeUnit(size string) (digits string, power int) {
	digits = strings.TrimSuffix(strings.ToUpper(size), "B")
	bare := strings.TrimSuffix(digits, "I")
	if n := len(bare) - 1; n >= 0 {
		if i := strings.IndexByte("KMG", bare[n]); i >= 0 && (bare == digits || len(digits) < len(size)) {
			return bare[:n], 10 * (i + 1)
		}
	}
	return digits, 0
}

// Protect takes away the right of others to write to a file, whatever the umask gave them: the library refuses such
// bundles, since a bundle's kernels run as the user who starts the job.
func Protect(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&WritableByOthers == 0 {
		return nil // a device or a pipe, or nothing to do
	}
	return os.Chmod(path, info.Mode().Perm()&^WritableByOthers)
}
