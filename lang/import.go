package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file loads libraries.

// An importer loads every library once.
type importer struct {
	c      *compiler
	open   func(path string) ([]byte, error)
	path   []string           // folders that are searched too
	failed map[string]bool    // files that no place has
	loaded map[string]*source // nil where that failed
	inside map[string]bool    // the files that are being loaded
	order  []*source
	depth  int
	bytes  int // of all files so far
}

// resolvePath returns where a file named in another is.
func resolvePath(importing, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(importing), path)
}

// source declares the functions of f and of what it imports in a scope of its
// own and returns it.
func (im *importer) source(f *syntax.File, main bool) *source {
	src := &source{file: f, top: newScope(im.c.universe), main: main}
	outer := im.c.scope
	im.c.scope = src.top
	defer func() { im.c.scope = outer }()
	seen := map[string]*syntax.Import{}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.Import:
			path := resolvePath(f.Name, strings.Trim(s.Path, `"`))
			if first := seen[path]; first != nil {
				d := im.c.m.report(diag.ImportFailed, s.Span(), "%s is imported twice", s.Path)
				*d = d.WithNote(first.Span(), "it was imported here first")
				continue
			}
			seen[path] = s
			if lib := im.find(f, path, s); lib != nil {
				im.take(lib, s)
			}
		case *syntax.Def:
			def := &function{def: s, home: src}
			src.functions = append(src.functions, def)
			im.c.declare(&name{text: s.Name.Text, span: s.Name.Span(), sort: aFunction, def: def})
		}
	}
	return src
}

// take declares the functions that lib itself has.
func (im *importer) take(lib *source, s *syntax.Import) {
	for _, f := range lib.functions {
		n := lib.top.names[f.def.Name.Text]
		if n == nil || n.def != f {
			continue // declared twice, which was reported
		}
		if old := im.c.scope.names[n.text]; old != nil {
			e := im.c.m.report(diag.Redefined, s.Span(), "%s declares %s, which is declared already", s.Path, n.text)
			*e = e.WithNote(n.span, "%s declares it here", s.Path).WithNote(old.span, "it was declared here first")
			continue
		}
		im.c.scope.names[n.text] = n
	}
}

// find loads the library that s names from the first place that has it: beside f, where it has the name beside, or in a
// folder of the import path. It returns nil after an error, which is of the first place.
func (im *importer) find(f *syntax.File, beside string, s *syntax.Import) *source {
	if !strings.HasSuffix(beside, files.LibrarySuffix) {
		im.c.m.report(diag.ImportFailed, s.Span(), "%s is not named *%s, and no other file is imported", s.Path,
			files.LibrarySuffix)
		return nil
	}
	places := []string{beside}
	if name := strings.Trim(s.Path, `"`); !filepath.IsAbs(name) {
		for _, folder := range im.path {
			places = append(places, filepath.Join(folder, name))
		}
	}
	if im.failed[beside] {
		return nil
	}
	var first error
	for _, path := range places {
		lib, err := im.load(path, s)
		if err == nil {
			return lib
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, files.ErrOutside) {
			break
		}
	}
	im.failed[beside] = true
	var perr *os.PathError
	if errors.As(first, &perr) {
		first = perr.Err
	}
	im.c.m.report(diag.ImportFailed, s.Span(), "%s cannot be read: %v", beside, first)
	return nil
}

// load reads a library, once. An error says why the file cannot be read; it returns nil, nil where it reported another
// fault.
func (im *importer) load(path string, s *syntax.Import) (*source, error) {
	m := im.c.m
	if im.inside[path] {
		m.report(diag.ImportFailed, s.Span(), "%s leads back to this file: imports must not form a cycle", s.Path)
		return nil, nil
	}
	if lib, known := im.loaded[path]; known {
		return lib, nil
	}
	if len(im.loaded)+len(im.failed) >= m.lim.Files {
		d := m.report(diag.Limit, s.Span(), "more than %d files are imported, the limit files", m.lim.Files)
		d.Hint = syntax.MoreHint("files", int64(m.lim.Files))
		return nil, nil
	}
	if im.depth >= m.lim.Nesting {
		d := m.report(diag.Limit, s.Span(), "imports are nested more than %d deep, the limit nesting", m.lim.Nesting)
		d.Hint = syntax.MoreHint("nesting", int64(m.lim.Nesting))
		return nil, nil
	}
	text, err := im.open(path)
	if err != nil {
		return nil, err
	}
	im.loaded[path] = nil
	if im.bytes += len(text); im.bytes > m.lim.File {
		d := m.report(diag.Limit, s.Span(), "imported files have more than %d bytes together, the limit file", m.lim.File)
		d.Hint = syntax.MoreHint("file", int64(im.bytes))
		return nil, nil
	}
	return im.parsed(path, text, s), nil
}

// parsed makes a library of a file's text, or returns nil after an error.
func (im *importer) parsed(path string, text []byte, s *syntax.Import) *source {
	f, err := syntax.ParseLimited(path, text, im.c.m.lim)
	if err != nil {
		im.c.m.adopt(err)
		return nil
	}
	if !im.isLibrary(f, s) {
		return nil
	}
	im.depth++
	im.inside[path] = true
	lib := im.source(f, false)
	im.inside[path] = false
	im.depth--
	im.loaded[path] = lib
	im.order = append(im.order, lib)
	return lib
}

// isLibrary reports whether f holds imports and functions only.
func (im *importer) isLibrary(f *syntax.File, s *syntax.Import) bool {
	ok := true
	for _, stmt := range f.Stmts {
		switch stmt.(type) {
		case *syntax.Import, *syntax.Def:
		case *syntax.Algorithm:
			d := im.c.m.report(diag.ImportFailed, s.Span(), "%s is an algorithm, and only libraries are imported", s.Path)
			*d = d.WithNote(stmt.Base().Span(), "a library has no algorithm line")
			return false
		default:
			im.c.m.report(diag.Declaration, stmt.Base().Span(), "a library holds imports and functions only")
			ok = false
		}
	}
	return ok
}

// adopt takes over the errors of another file.
func (m *machine) adopt(err error) {
	var list diag.List
	if !errors.As(err, &list) {
		panic(fmt.Sprintf("lang: %v is no list of errors", err))
	}
	for _, d := range list {
		n := len(m.errs)
		m.report(d.Code, d.Span, "%s", d.Text)
		if len(m.errs) > n {
			m.errs[n] = d
		}
	}
}
