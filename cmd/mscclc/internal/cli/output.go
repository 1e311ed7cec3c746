package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"mscclc/ir/diag"
)

// Schema is the version of every JSON document that the command prints. It
// rises when a field goes or changes its meaning; fields may be added.
const Schema = 2

// WriteJSON writes a document to stdout.
func (a *App) WriteJSON(doc any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// stdoutName is how messages name standard output.
const stdoutName = "<stdout>"

// A product is a writer, such as stdout, that remembers that something was written, and that a write failed. Errors
// have its name, unless that is "".
type product struct {
	io.Writer
	name  string
	begun bool
	Err   error
}

func (p *product) Write(b []byte) (int, error) {
	p.begun = true
	n, err := p.Writer.Write(b)
	if err != nil && p.name != "" {
		err = &fs.PathError{Op: "write", Path: p.name, Err: err}
	}
	if err != nil && p.Err == nil {
		p.Err = err
	}
	return n, err
}

// IsStdout reports whether -o PATH means stdout.
func IsStdout(path string) bool { return path == "" || path == "-" }

// WriteTo writes a file by write: whole, or not at all. "" and "-" are stdout. A file that is there keeps its mode, and
// a link leads to the new file as it led to the old one. Errors name path.
func (a *App) WriteTo(path string, write func(io.Writer) error) error {
	if IsStdout(path) {
		return buffered(a.Stdout, write)
	}
	if err := a.Guard.refusal(); err != nil {
		return err
	}
	real := resolved(path)
	info, err := os.Stat(real)
	if err == nil && !info.Mode().IsRegular() {
		f, err := openDevice(real, info)
		if err != nil {
			return outputError(path, err)
		}
		return outputError(path, writeAndClose(f, write))
	}
	mode := fs.FileMode(0o666) // less what the user's umask takes
	if err == nil {
		mode = info.Mode().Perm()
	}
	f, err := temps.create(real, mode, err == nil)
	if err != nil {
		return outputError(path, err)
	}
	if err := writeAndClose(f, write); err != nil {
		temps.remove(f.Name())
		return outputError(path, err)
	}
	return outputError(path, temps.rename(f.Name(), real))
}

// outputError is err, of the file system, with the name that the user gave the file.
func outputError(path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}

// resolved returns where path leads, through links to files that need not exist. What is no regular file keeps its
// name: the pipe behind /dev/stdout has none, and a folder may be named with a slash at the end.
func resolved(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return path
	}
	for range 40 { // as many links as the system follows
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// openDevice opens what is no regular file for writing. A pipe that nobody reads is an error: opening it would wait for
// a reader.
func openDevice(path string, info fs.FileInfo) (*os.File, error) {
	flags := os.O_WRONLY
	if info.Mode()&fs.ModeNamedPipe != 0 {
		flags |= syscall.O_NONBLOCK
	}
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("no program reads this pipe")}
	}
	return f, err
}

// temporary are the files that are being written under another name. A signal that ends the process removes them first,
// after which no more are made: the lock stays closed.
type temporary struct {
	sync.Mutex
	names map[string]bool
}

var temps = temporary{names: map[string]bool{}}

// create makes the file that path is written to before it has its name; exact says that the mode is for whatever umask.
func (t *temporary) create(path string, mode fs.FileMode, exact bool) (*os.File, error) {
	t.Lock()
	defer t.Unlock()
	base := filepath.Base(path)
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x", base[:min(len(base), 200)], rand.Uint32()))
	first := mode
	if exact {
		first = 0o600
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, first)
	if err != nil {
		return nil, err
	}
	t.names[name] = true
	if exact && mode != first {
		if err := f.Chmod(mode); err != nil {
			f.Close()
			os.Remove(name)
			delete(t.names, name)
			return nil, err
		}
	}
	return f, nil
}

func (t *temporary) remove(name string) error {
	t.Lock()
	defer t.Unlock()
	delete(t.names, name)
	return os.Remove(name)
}

// Unfinished notes a folder that is being filled, which a signal that ends the process removes. The caller calls what
// it returns when the folder is removed or has its name.
func Unfinished(dir string) (done func()) {
	temps.Lock()
	defer temps.Unlock()
	temps.names[dir] = true
	return func() {
		temps.Lock()
		defer temps.Unlock()
		delete(temps.names, dir)
	}
}

func (t *temporary) rename(name, path string) error {
	t.Lock()
	defer t.Unlock()
	delete(t.names, name)
	err := os.Rename(name, path)
	if err != nil {
		os.Remove(name)
	}
	return err
}

// writable says why WriteTo could not write a file, as far as can be known before.
func writable(path string) error {
	real := resolved(path)
	info, err := os.Stat(real)
	switch {
	case err == nil && info.IsDir():
		return diag.List{diag.New(diag.Io, FileSpan(path), "this is a folder, and not a file to write")}
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe, which may be opened but once
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return diag.List{diag.New(diag.Io, FileSpan(path), "it cannot be written: %v", errors.Unwrap(err))}
	}
	if info, err := os.Stat(filepath.Dir(real)); err != nil || !info.IsDir() {
		return diag.List{diag.New(diag.Io, FileSpan(path), "there is no folder %s to write it to", filepath.Dir(real))}
	}
	f, err := temps.create(real, 0o600, false)
	if err != nil {
		return diag.List{diag.New(diag.Io, FileSpan(path), "it cannot be written: no file can be made in its folder: %v",
			errors.Unwrap(err))}
	}
	return outputError(path, errors.Join(f.Close(), temps.remove(f.Name())))
}

// MakeFolder makes a folder to write into, unless it is there.
func MakeFolder(name string) error {
	var at *fs.PathError
	err := os.MkdirAll(name, 0o777)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOTDIR) && errors.As(err, &at):
		return diag.List{diag.New(diag.Io, FileSpan(at.Path), "this is a file, and not a folder to write into").
			WithHint("--emit takes a folder, which is made where there is none")}
	case errors.As(err, &at):
		return diag.List{diag.New(diag.Io, FileSpan(at.Path), "this folder cannot be made: %v", at.Err)}
	}
	return err
}

func writeAndClose(f *os.File, write func(io.Writer) error) error {
	if err := buffered(f, write); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// buffered writes to w by write. An error of w itself is returned as w gave it, whatever write makes of it.
func buffered(w io.Writer, write func(io.Writer) error) error {
	out := &product{Writer: w}
	b := bufio.NewWriterSize(out, 1<<16)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	return cmp.Or(out.Err, err)
}
