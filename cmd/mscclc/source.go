package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
	"mscclc/topology"
)

// largeJSON is how many bytes of JSON make a plan large.
const largeJSON = 8 << 20

// maxExcerpt bounds the files that are read again to show a line of them.
const maxExcerpt = 64 << 20

// stdinName is how all messages and documents name what comes from stdin.
const stdinName = "<stdin>"

// excerpts keeps the beginning of what is written to it, to show lines of it.
type excerpts struct{ bytes.Buffer }

func (e *excerpts) Write(b []byte) (int, error) {
	e.Buffer.Write(b[:min(len(b), maxExcerpt-e.Len())])
	return len(b), nil
}

// A source is something that a command reads.
type source struct {
	name string // as messages name it
	kind codegen.FileKind
	io.ReadCloser
	open    func(name string, within []string, limit int64) ([]byte, error) // what it imports; see files.ReadLibrary
	catalog bool                                                            // it is an algorithm of the catalog

	text    []byte      // of an algorithm, once readSource has read it
	program *ir.Program // once runnableOf has read it
}

// isStdin reports whether arg names standard input.
func isStdin(arg string) bool { return arg == "-" || arg == "/dev/stdin" || arg == stdinName }

// inputName returns the name that messages and documents have for the input arg.
func inputName(arg string) string {
	if isStdin(arg) {
		return stdinName
	}
	return arg
}

// about notes that the command is about the input arg, and returns inputName(arg).
func (a *App) about(arg string) string {
	a.file = inputName(arg)
	return a.file
}

// open finds what FILE names: stdin, a file, or an algorithm of the catalog.
func (a *App) open(arg string, lim *limits) (*source, error) {
	if isStdin(arg) {
		if err := a.guard.reads(a, arg); err != nil {
			return nil, err
		}
		return sniffed(stdinName, io.NopCloser(io.TeeReader(a.stdin, &a.stdinText)), lim, a.library)
	}
	if arg == "" {
		return nil, usagef("the name of the file is empty")
	}
	f, err := a.openInput(arg)
	if err == nil {
		return sniffed(arg, f, lim, a.library)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, noFile(arg)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	name := strings.TrimSuffix(arg, ".mscl")
	text, err := algorithms.Open(name)
	if err != nil {
		return nil, noSuchFile(arg)
	}
	fromCatalog := func(name string, _ []string, _ int64) ([]byte, error) { return algorithms.Open(name) }
	return &source{name: name + ".mscl", kind: codegen.KindSource, ReadCloser: io.NopCloser(bytes.NewReader(text)),
		open: fromCatalog, catalog: true}, nil
}

// openOf opens a file that flag names, for reading.
func openOf(flag, name string) (*os.File, error) {
	if name == "-" {
		return nil, usagef("%s takes the name of a file, not -", flag).hint("standard input is /dev/stdin there")
	}
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, noFile(name)
	}
	return f, err
}

// topologyOf opens what --topology names. What is wrong with it is not about the file that the command is about.
func (a *App) topologyOf(spec string) (*topology.Topology, error) {
	t, err := a.openTopology(spec)
	if err != nil {
		a.file = ""
	}
	return t, err
}

// openTopology opens a topology: a machine's, or that of a file.
func (a *App) openTopology(spec string) (*topology.Topology, error) {
	if file := topology.File(spec); file != "" && !exists(file) {
		return nil, noFile(file)
	}
	t, err := topology.Open(spec)
	if list := (diag.List)(nil); errors.As(err, &list) {
		err = placed(list, spec)
	}
	return t, err
}

func fileSpan(name string) diag.Span { return diag.Span{Pos: diag.Pos{Filename: name}} }

// algorithmsOf are the catalog's algorithms of a collective.
func algorithmsOf(collective string) []string {
	return slices.DeleteFunc(algorithms.Names(),
		func(name string) bool { return path.Dir(name) != strings.ToLower(collective) })
}

// sniffed tells what a file holds by how it begins, so that names do not matter.
func sniffed(name string, r io.ReadCloser, lim *limits,
	open func(string, []string, int64) ([]byte, error)) (*source, error) {
	b := codegen.NewHead(codegen.LimitFile(name, r, lim.read))
	head, err := codegen.Head(b)
	if err != nil {
		r.Close()
		return nil, err
	}
	s := &source{name: name, kind: codegen.Detect(head), open: open, ReadCloser: struct {
		io.Reader
		io.Closer
	}{b, r}}
	if s.kind == codegen.KindMSCCLPP || s.kind == codegen.KindProgramJSON {
		s.ReadCloser = struct {
			io.Reader
			io.Closer
		}{&frugal{b, largeJSON}, r}
	}
	if s.kind == codegen.KindJSON || s.kind == codegen.KindSource && filepath.Ext(name) == ".json" {
		defer r.Close()
		return nil, noPlan(name, s, head, lim)
	}
	if s.kind == codegen.KindUnknown {
		r.Close()
		return nil, diag.List{diag.New(diag.Malformed, fileSpan(name), "%s holds neither an algorithm nor a program",
			diag.Printable(name))}
	}
	return s, nil
}

// noPlan says why what a .json file, or what else begins as JSON does, holds is no plan.
func noPlan(name string, r io.Reader, head []byte, lim *limits) error {
	empty, err := strictjson.Check(name, r, lim.read.JSON())
	switch {
	case empty:
		return diag.List{diag.New(diag.Malformed, fileSpan(name), "%s is empty", diag.Printable(name))}
	case err != nil:
		return err
	}
	if len(bytes.TrimSpace(head)) == 0 {
		d := diag.New(diag.Malformed, fileSpan(name), "%s begins with more than %s of blanks", diag.Printable(name),
			sizeText(codegen.MostBlanks))
		return diag.List{d.WithHint("take them out: what a file holds is told by how it begins")}
	}
	d := diag.New(diag.Malformed, fileSpan(name), "%s is JSON, and neither a plan of mscclc nor one of MSCCL++",
		diag.Printable(name))
	return diag.List{d.WithHint("a plan of MSCCL++ is an object with name, collective, protocol and gpus")}
}

// A frugal reader has the collector run more often once it has read so much that what is made of it would double its
// memory.
type frugal struct {
	io.Reader
	left int64
}

func (f *frugal) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if f.left > 0 && f.left <= int64(n) && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(40)
	}
	f.left -= int64(n)
	return n, err
}

// endings are those of the files that messages quote lines of.
var endings = []string{".mscl", ".xml", ".plan", ".json", ".table", ".topo"}

// text is what a file that messages name holds, or nil where its lines are not quoted. A program or a library may name
// any file of the machine, so that lines are quoted only of files that the user named and that are called as such files
// are, and of valid algorithms and libraries.
func (a *App) text(name string) []byte {
	if name == stdinName {
		return a.stdinText.Bytes()
	}
	if a.guard.named(name) && slices.Contains(endings, filepath.Ext(name)) {
		f, err := files.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil
		}
		text := make([]byte, min(info.Size(), maxExcerpt))
		n, _ := io.ReadFull(f, text)
		return text[:n]
	}
	text, err := []byte(nil), fs.ErrNotExist
	if filepath.Ext(name) == files.LibrarySuffix {
		text, err = files.ReadLibrary(name, nil, maxExcerpt)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = algorithms.Open(name)
	}
	if err != nil {
		return nil
	}
	if _, err := syntax.Parse(name, text); err != nil {
		return nil
	}
	return text
}

// beginning is how an algorithm or a library begins, behind comments.
var beginning = regexp.MustCompile(`\A(\s+|#.*\n)*(algorithm|import|def)\b`)

// readSource reads the text of a .mscl file. When it is called again, it returns the same text.
func (s *source) readSource(lim *limits) (text []byte, err error) {
	if s.text == nil {
		s.text, err = s.readText(lim)
	}
	return s.text, err
}

func (s *source) readText(lim *limits) ([]byte, error) {
	limit := lim.file()
	text, err := io.ReadAll(io.LimitReader(s, limit+1))
	rest := int64(0)
	if err == nil {
		rest, err = io.Copy(io.Discard, s)
	}
	var found diag.List
	switch n := int64(len(text)) + rest; {
	case errors.As(err, &found):
		return nil, found
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	case n > limit:
		return nil, syntax.TooLong(s.name, n, limit)
	case s.name == stdinName || filepath.Ext(s.name) == files.LibrarySuffix || beginning.Match(text):
		return text, nil
	}
	if _, err := syntax.ParseLimited(s.name, text, lim.lang); errors.As(err, &found) {
		d := diag.New(diag.Malformed, fileSpan(s.name), "%s holds neither an algorithm nor a program", diag.Printable(s.name))
		d = d.WithNote(found[0].Span, "as an algorithm: %s", found[0].Text)
		return nil, diag.List{d.WithHint("name an algorithm's file *%s, and its errors are shown", files.LibrarySuffix)}
	}
	return text, nil
}
