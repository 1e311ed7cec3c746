package main

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

	"github.com/spf13/cobra"

	"mscclc/ir/diag"
)

// schema is the version of every JSON document that the command prints. It
// rises when a field goes or changes its meaning; fields may be added.
const schema = 1

func (a *app) writeJSON(doc any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

func jsonHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "json",
		Short: "What --json prints",
		Long: `With --json a command prints one JSON document on stdout, and its talk on stderr is silent. Every object has
"schema": 1, which rises when a field goes or changes its meaning; fields may be added at any time.

A file's report, which all documents are made of:
  {"schema": 1, "file": F, "ok": true|false, "problems": [P...]}
A problem, with fields that mean nothing left out (explain CODE describes a code):
  {"code": C, "message": M, "rank": N, "block": N, "step": N, "pos": "file:line:col",
   "notes": [{"message": M, "pos": "file:line:col"}], "hint": H, "witness": W}
A step (S below): {"rank", "block", "step", "op", "pos"}

compile   a report, and where it is ok: "output" (the file, or absent), "target", "use" (the line that loads the file in the
          target's runtime), "program" (below)
verify    an array of reports, each with "program" and "proof" where it is ok and no library; with --bitwise "bitwise",
          with --ranks "counts": {"proven": [N...], "refused": [N...], "why" (it was), "programs", "steps"}, and "program" and "proof"
          are of the last that was proven; with --replay "replays" where it is not ok
run       a report, and "program", "runs": [{"device", "bytes", "dtype", "op", "inplace", "protocol", "iters",
          "seconds" (of the fastest iteration), "algbw", "busbw" (of it, GB/s), "checked", "wrong", "problems" (why it did not run to its end)}];
          not ok where anything is wrong
bench     nccl-tests' document ("version", "config", "results", "average_bus_bandwidth" and so on), and in each placement of a
          result "checked", "launch", "launches", "program", "error" (why it did not run), "nccl": {"time", "launch", "ratio",
          "time_of_other_launch", "nwrong"}; "speedups": [{"place", "geometric_mean", "least", "least_size", "sizes"}]
bench --tune  the table, which --table reads: "version", "entries": [{"device", "ranks", "nodes" (1 where absent), "collective", "inplace", "element_bytes",
          "rules": [{"up_to", "program", "sided", "via", "protocol", "columns", "threads", "tile", "us"}]}]; and "output", "problems"
bench --judge  {"schema": 1, "collective", "ranks", "device", "rows": [{"bytes", "inplace", "chosen": V, "best": V, "ratio", "tried"}], "within",
          "geometric_mean", "problems"}; V is {"program", "sided", "via", "protocol", "columns", "threads", "tile", "us"}. A line of its -o is a V
          and "collective", "ranks", "root", "inplace", "bytes", "dtype", "device", "chosen", "final" (measured in turns with the chosen one)
fmt       an array of reports, each with "changed"
list      {"schema": 1, "algorithms": [{"name", "file", "algorithm", "collective", "params": [{"name", "default"}],
          "protocol", "doc", "shape": {"ranks", "rounds", "sent", "scratch"}}], "problems": [P...]}
show      a report, and "stage", "text"
explain   {"schema": 1, "codes": [{"code", "text", "example", "command" (shows the error; lines for a shell), "replay" (it can be),
          "one_sided_example" (a plan, which verify rejects)}]}
select    {"schema": 1, "collective", "topology", "target", "ranks", "inplace", "by", "ranges": [{"from", "to", "at", "program", "sided", "protocol",
          "columns", "threads", "tile", "instances", "us", "latency_us", "interval_us", "next", "behind", "reason"}], "own" (files beside the collective): [{"at", "program",
          "sided", "protocol", "columns", "instances", "latency_us", "interval_us", "behind", "why" (it does not run there)}], "gaps": [...],
          "overlaps": [...], "notes": [...]}; "us" and "behind" are of the time that "by" names, latency or interval; "interval_us" is absent where it is not known
simulate  {"schema": 1, "file", "topology", "device", "ranks", "by", "sizes": [{"bytes", "us", "latency_us", "interval_us", "algbw", "busbw", "columns",
          "passes", "link", "occupied"}]}; "us", the bandwidths and "occupied" are of the time that "by" names, as in select
topo      {"schema": 1, "processors", "devices": [{"device", "driver", "gpus": [names], "reached"}], "missing", "network_cards":
          [{"name", "rate"}], "like"}; of a topology {"schema": 1, "name", "doc", "nodes", "gpus_per_node", "device", "places",
          "classes": [{"name", "latency_us", "bandwidth_gbs" (of one), "links", "network", "widths": [{"width" (of links side by side), "links"}]}],
          "ways": [{"from", "to", "latency_us", "bandwidth_gbs", "links", "widths"}]}
version   {"schema": 1, "version", "go", "platform", "devices": [...], "targets": [...]}

A witness, of a deadlock, race, wrong-result or uninitialized: {"step": S, "with": S, "chunk": {"rank", "buffer", "index"},
  "message", "with_message", "waits": [{"step": S, "cause": "step|message|slot", "on": S, "at": S}],
  "slots", "message_chunks"}. step is a waiting step, the later of two racing accesses, the one that wrote the wrong chunk, or
  the reader; with is what it waits for, or the earlier access; message and with_message count from 0 which message of a
  step's transfer the access lies in; waits is the cycle: step waits, for on to end, whose block stands at at.
A proof: {"slots", "message_chunks", "max_bytes", "result"}: what it was judged with; sizes are below max_bytes, if that is
  there; result is false of XML that does not say what must hold at the end (coll="custom").
A bitwise: {"identical", "sums", "types": [{"types": [...], "identical", "differ", "witness": [{"rank", "chunk",
  "expression", "part", "step", "pos"}, ...]}]}
A replay: {"code", "text", "shown", "lines": [...]}

A program: {"algorithm", "collective", "ranks", "chunks", "inplace", "protocol", "channels", "blocks", "steps", "sizes": {"from", "below" (absent: no
  end)} (bytes that it is for), "root" (if any),
  "one_sided": {"signals", "packets", "remote"} (chunks and flags a pass; of one-sided programs)}

An error of usage (exit code 2) is text on stderr only.`,
	}
}

// A product is a writer, such as stdout, that remembers that a write failed.
type product struct {
	io.Writer
	err error
}

func (p *product) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if err != nil && p.err == nil {
		p.err = err
	}
	return n, err
}

func isStdout(path string) bool { return path == "" || path == "-" }

// writeTo writes a file by write: whole, or not at all. "" and "-" are stdout. A file that is there keeps its mode, and a link
// leads to the new file as it led to the old one. Errors name path.
func (a *app) writeTo(path string, write func(io.Writer) error) error {
	if isStdout(path) {
		return buffered(a.stdout, write)
	}
	if err := a.guard.refusal(); err != nil {
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

// resolved is where path leads, through links to files that need not exist. What is neither a file nor a folder, such as
// /dev/stdout in a pipeline, keeps its name: the pipe behind it has none.
func resolved(path string) string {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
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

// openDevice opens what is no regular file for writing. A pipe that nobody reads is an error: opening it would wait for a reader.
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

// temporary are the files that are being written under another name. A signal that ends the process removes them first, after
// which no more are made: the lock stays closed.
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

// writable says why writeTo could not write a file, as far as can be known before.
func writable(path string) error {
	real := resolved(path)
	info, err := os.Stat(real)
	switch {
	case err == nil && info.IsDir():
		return diag.List{diag.New(diag.Io, fileSpan(path), "this is a folder, and not a file to write")}
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe, which may be opened but once
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return diag.List{diag.New(diag.Io, fileSpan(path), "it cannot be written: %v", errors.Unwrap(err))}
	}
	if info, err := os.Stat(filepath.Dir(real)); err != nil || !info.IsDir() {
		return diag.List{diag.New(diag.Io, fileSpan(path), "there is no folder %s to write it to", filepath.Dir(real))}
	}
	f, err := temps.create(real, 0o600, false)
	if err != nil {
		return diag.List{diag.New(diag.Io, fileSpan(path), "it cannot be written: no file can be made in its folder: %v", errors.Unwrap(err))}
	}
	return outputError(path, errors.Join(f.Close(), temps.remove(f.Name())))
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
	return cmp.Or(out.err, err)
}
