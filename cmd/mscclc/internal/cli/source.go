package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/internal/strictjson"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang/syntax"
	"mscclc/topology"
	"mscclc/topology/nccl"
)

// largeJSON is how many bytes of JSON make a plan large.
const largeJSON = 8 << 20

// StdinName is how all messages and documents name what comes from stdin.
const StdinName = "<stdin>"

// A Source is something that a command reads.
type Source struct {
	Name string // as messages name it
	Kind codegen.FileKind
	io.ReadCloser
	open    func(name string, within []string, limit int64) ([]byte, error) // what it imports; see files.ReadLibrary
	Catalog bool                                                            // it is an algorithm of the catalog

	// Warn says a warning about what was read as a note; nil says none.
	Warn func(diag.Diagnostic)

	text    []byte          // of an algorithm, once ReadSource has read it
	Program *either.Program // once compiling.RunnableOf has read it
}

// IsStdin reports whether arg names standard input.
func IsStdin(arg string) bool { return arg == "-" || arg == "/dev/stdin" || arg == StdinName }

// inputName returns the name that messages and documents have for the input arg.
func inputName(arg string) string {
	if IsStdin(arg) {
		return StdinName
	}
	return arg
}

// About notes that the command is about the input arg, and returns inputName(arg).
func (a *App) About(arg string) string {
	a.File = inputName(arg)
	return a.File
}

// Open finds what FILE names: stdin, a file, or an algorithm of the catalog.
func (a *App) Open(arg string, lim *Limits) (*Source, error) {
	if IsStdin(arg) {
		if err := a.Guard.reads(a, arg); err != nil {
			return nil, err
		}
		return a.warning(sniffed(StdinName, io.NopCloser(io.TeeReader(a.stdin, &a.stdinText)), lim, a.library))
	}
	if arg == "" {
		return nil, Usagef("the name of the file is empty")
	}
	f, err := a.openInput(arg)
	if err == nil {
		return a.warning(sniffed(arg, f, lim, a.library))
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
	return &Source{Name: name + ".mscl", Kind: codegen.KindSource, ReadCloser: io.NopCloser(bytes.NewReader(text)),
		open: fromCatalog, Catalog: true}, nil
}

// warning has the warnings about what s holds said by a.
func (a *App) warning(s *Source, err error) (*Source, error) {
	if err == nil {
		s.Warn = func(d diag.Diagnostic) { a.Note(d.Span.Pos.String(), "%s", d.Text) }
	}
	return s, err
}

// OpenOf opens a file that flag names, for reading.
func OpenOf(flag, name string) (*os.File, error) {
	if name == "-" {
		return nil, Usagef("%s takes the name of a file, not -", flag).Hint("standard input is /dev/stdin there")
	}
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, noFile(name)
	}
	return f, err
}

// TopologyOf opens what --topology names. What is wrong with it is not about the file that the command is about.
// device is as of OpenTopology.
func (a *App) TopologyOf(spec, device string) (*topology.Topology, error) {
	t, err := a.OpenTopology(spec, device)
	if err != nil {
		a.File = ""
	}
	return t, err
}

// OpenTopology opens a topology: a machine's, or that of a file. device is what its GPUs are, or "" if it says so. It
// notes what was left out, or taken for what the file does not say.
func (a *App) OpenTopology(spec, device string) (*topology.Topology, error) {
	if file := topology.File(spec); file != "" && !Exists(file) {
		return nil, noFile(file)
	}
	t, err := nccl.OpenOf(spec, device)
	if list := (diag.List)(nil); errors.As(err, &list) {
		err = Placed(list, spec)
	}
	if err != nil {
		return nil, err
	}
	for _, n := range t.Notes {
		where := topology.File(spec)
		if n.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, n.Line)
		}
		a.Note(where, "%s", n.Text)
	}
	return t, nil
}

// FileSpan returns the position of what concerns a whole file.
func FileSpan(name string) diag.Span { return diag.Span{Pos: diag.Pos{Filename: name}} }

// sniffed finds what a file holds by how it begins, so that names do not matter.
func sniffed(name string, r io.ReadCloser, lim *Limits,
	open func(string, []string, int64) ([]byte, error)) (*Source, error) {
	b := codegen.NewHead(codegen.LimitFile(name, r, lim.Read))
	head, err := codegen.Head(b)
	if err != nil {
		r.Close()
		return nil, err
	}
	s := &Source{Name: name, Kind: codegen.Detect(head), open: open, ReadCloser: struct {
		io.Reader
		io.Closer
	}{b, r}}
	if s.Kind == codegen.KindMSCCLPP || s.Kind == codegen.KindProgramJSON {
		s.ReadCloser = struct {
			io.Reader
			io.Closer
		}{&frugal{b, largeJSON}, r}
	}
	if s.Kind == codegen.KindJSON || s.Kind == codegen.KindSource && filepath.Ext(name) == ".json" {
		defer r.Close()
		return nil, noPlan(name, s, head, lim)
	}
	if s.Kind == codegen.KindXML && nccl.IsDump(head) {
		r.Close()
		d := diag.New(diag.Unsupported, FileSpan(name), "%s is a topology that NCCL wrote, and not a program", diag.Printable(name))
		return nil, diag.List{d.WithHint("mscclc topo prints it, and simulate and select take it by --topology")}
	}
	if s.Kind == codegen.KindUnknown {
		r.Close()
		return nil, noProgram(name, head)
	}
	return s, nil
}

// noPlan says why what a .json file, or what else begins as JSON does, holds is no plan.
func noPlan(name string, r io.Reader, head []byte, lim *Limits) error {
	empty, err := strictjson.Check(name, r, lim.Read.JSON())
	switch {
	case empty:
		return emptyFile(name)
	case err != nil:
		return err
	}
	if len(bytes.TrimSpace(head)) == 0 {
		d := diag.New(diag.Malformed, FileSpan(name), "%s begins with more than %s of blanks", diag.Printable(name),
			SizeText(codegen.MostBlanks))
		return diag.List{d.WithHint("take them out: how a file begins says what it holds")}
	}
	d := diag.New(diag.Malformed, FileSpan(name), "%s is JSON, and neither a program file of mscclc nor a plan of MSCCL++",
		diag.Printable(name))
	return diag.List{d.WithHint("a plan of MSCCL++ is an object with name, collective, protocol and gpus")}
}

// emptyFile returns the error of a file that holds nothing but blanks.
func emptyFile(name string) error {
	return diag.List{diag.New(diag.Malformed, FileSpan(name), "%s is empty", diag.Printable(name))}
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

// beginning is how an algorithm or a library begins, after comments.
var beginning = regexp.MustCompile(`\A(\s+|#.*\n)*(algorithm|import|def)\b`)

// ReadSource reads the text of a .mscl file. When it is called again, it returns the same text.
func (s *Source) ReadSource(lim *Limits) (text []byte, err error) {
	if s.text == nil {
		s.text, err = s.readText(lim)
	}
	return s.text, err
}

// ReadAlgorithm is ReadSource of what is to be compiled, which no library of the catalog is.
func (s *Source) ReadAlgorithm(lim *Limits) ([]byte, error) {
	if err := s.noLibrary(); err != nil {
		return nil, err
	}
	return s.ReadSource(lim)
}

func (s *Source) readText(lim *Limits) ([]byte, error) {
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
		return nil, fmt.Errorf("read %s: %w", s.Name, err)
	case n > limit:
		return nil, syntax.TooLong(s.Name, n, limit)
	case len(bytes.TrimSpace(text)) == 0 && filepath.Ext(s.Name) != "" && filepath.Ext(s.Name) != files.LibrarySuffix:
		return nil, emptyFile(s.Name)
	case s.Name == StdinName || filepath.Ext(s.Name) == files.LibrarySuffix || beginning.Match(text):
		return text, nil
	}
	if _, err := syntax.ParseLimited(s.Name, text, lim.Lang); errors.As(err, &found) {
		d := diag.New(diag.Malformed, FileSpan(s.Name), "%s holds neither an algorithm nor a program", diag.Printable(s.Name))
		d = d.WithNote(found[0].Span, "as an algorithm: %s", found[0].Text)
		return nil, diag.List{d.WithHint("name an algorithm's file *%s, and its errors are shown", files.LibrarySuffix)}
	}
	return text, nil
}
