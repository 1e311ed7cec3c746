package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/ir/diag"
)

// maxExcerpt bounds the files that are read again to show a line of them.
const maxExcerpt = 64 << 20

// stdinName is how messages name what comes from stdin.
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
	open func(name string) ([]byte, error) // what it imports
}

// open finds what FILE names: stdin, a file, or an algorithm of the catalog.
func (a *app) open(arg string) (*source, error) {
	if arg == "-" {
		return sniffed(stdinName, io.NopCloser(io.TeeReader(a.stdin, &a.stdinText)), readFile)
	}
	f, err := os.Open(arg)
	if err == nil {
		if info, err := f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, diag.List{diag.New(diag.Io, fileSpan(arg), "%s is a folder", arg)}
		}
		return sniffed(arg, f, readFile)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	name := strings.TrimSuffix(arg, ".mscl")
	text, err := algorithms.Open(name)
	if err != nil {
		return nil, noSuchFile(arg)
	}
	return &source{name + ".mscl", codegen.KindSource, io.NopCloser(bytes.NewReader(text)), algorithms.Open}, nil
}

// readFile reads a file that is no pipe: opening one would wait for its writer.
func readFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll reads r, but no more than shows that it is too long to be source.
func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxExcerpt)) }

func fileSpan(name string) diag.Span { return diag.Span{Pos: diag.Pos{Filename: name}} }

// algorithmsOf are the catalog's algorithms of a collective.
func algorithmsOf(collective string) []string {
	return slices.DeleteFunc(algorithms.Names(), func(name string) bool { return path.Dir(name) != strings.ToLower(collective) })
}

func noSuchFile(arg string) error {
	d := diag.New(diag.Io, diag.Span{}, "%s is neither a file nor an algorithm of the catalog", arg)
	if of := algorithmsOf(arg); len(of) > 0 {
		return diag.List{d.WithHint("name an algorithm of this collective: %s", list(of))}
	}
	for _, name := range algorithms.Names() {
		if path.Base(name) == strings.TrimSuffix(filepath.Base(arg), ".mscl") {
			return diag.List{d.WithHint("did you mean %s?", name)}
		}
	}
	return diag.List{d.WithHint("mscclc list shows the catalog")}
}

// sniffed tells what a file holds by how it begins, so that names do not matter.
func sniffed(name string, r io.ReadCloser, open func(string) ([]byte, error)) (*source, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(512)
	if err != nil && err != io.EOF {
		r.Close()
		return nil, err
	}
	s := &source{name: name, kind: codegen.Detect(head), open: open, ReadCloser: struct {
		io.Reader
		io.Closer
	}{b, r}}
	if s.kind == codegen.KindJSON || s.kind == codegen.KindSource && filepath.Ext(name) == ".json" {
		defer r.Close()
		return nil, noPlan(name, s)
	}
	if s.kind == codegen.KindUnknown {
		r.Close()
		return nil, diag.List{diag.New(diag.Malformed, fileSpan(name), "%s holds neither an algorithm nor a program", diag.Printable(name))}
	}
	return s, nil
}

// noPlan says why what a .json file, or what else begins as JSON does, holds is no plan.
func noPlan(name string, r io.Reader) error {
	text, err := readAll(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return diag.List{diag.New(diag.Malformed, fileSpan(name), "%s is empty", diag.Printable(name))}
	}
	var bad *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &bad) {
		at := min(max(0, int(bad.Offset)-1), len(text))
		if strings.HasPrefix(bad.Error(), "unexpected end") {
			at = len(text)
		}
		before := text[:at]
		pos := diag.Pos{Filename: name, Offset: at, Line: 1 + bytes.Count(before, []byte("\n")), Column: at - bytes.LastIndexByte(before, '\n')}
		return diag.List{diag.New(diag.Malformed, diag.Span{Pos: pos, Len: 1}, "no JSON, and so no plan: %v", bad)}
	}
	d := diag.New(diag.Malformed, fileSpan(name), "%s is JSON, and neither a plan of mscclc nor one of MSCCL++", diag.Printable(name))
	return diag.List{d.WithHint("a plan of MSCCL++ is an object with name, collective, protocol and gpus")}
}

// text is what a file that messages name holds, or nil.
func (a *app) text(name string) []byte {
	if name == stdinName {
		return a.stdinText.Bytes()
	}
	text, err := readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = algorithms.Open(name)
	}
	if err != nil {
		return nil
	}
	return text
}

// readSource reads the text of a .mscl file.
func (s *source) readSource() ([]byte, error) {
	text, err := readAll(s)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return text, nil
}
