package playcmd

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/play/site"
	"mscclc/topology"
)

// mostOpened bounds what the page opens, in bytes.
const mostOpened = 64 << 20

// openedBy returns what the page shows first, or nil for its own choice.
func openedBy(a *cli.App, arg string, f *playFlags) (*site.Opened, error) {
	o := &site.Opened{}
	var err error
	if o.Params, err = cli.Settings(f.params); err != nil {
		return nil, err
	}
	if err := f.machine(a, o); err != nil {
		return nil, err
	}
	switch {
	case arg == "" && len(f.params) > 0:
		return nil, cli.Usagef("-p sets a parameter of a file: give one")
	case arg == "" && f.topology == "":
		return nil, nil
	case arg == "":
		return o, nil
	}
	if text := traceOf(arg); text != nil {
		o.Trace = &site.Document{Name: filepath.Base(arg), Text: string(text)}
		return o, nil
	}
	o.Documents, err = documents(a, arg)
	return o, err
}

// machine takes the machine that --topology names. Of a file it takes the text.
func (f *playFlags) machine(a *cli.App, o *site.Opened) error {
	if f.topology == "" {
		return nil
	}
	if _, err := a.TopologyOf(f.topology, ""); err != nil {
		return err
	}
	file := topology.File(f.topology)
	if file == "" {
		o.Machine = f.topology
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<")) {
		return cli.Usagef("%s is a topology that NCCL wrote: the page takes .topo files", diag.Printable(file))
	}
	_, o.Machine, _ = strings.Cut(f.topology, ":")
	o.Topology = string(text)
	return nil
}

// traceOf returns the text of a file if it is a trace, or nil.
func traceOf(arg string) []byte {
	f, err := files.Open(arg)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Contains(head[:n], []byte(`"traceEvents"`)) {
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(f, mostOpened))
	if err != nil {
		return nil
	}
	return append(head[:n], rest...)
}

// documents returns the text of arg and those of the files that it imports.
func documents(a *cli.App, arg string) ([]site.Document, error) {
	var lim cli.Limits
	s, err := a.Open(arg, &lim)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.Kind == codegen.KindProgram {
		d := diag.New(diag.Unsupported, cli.FileSpan(s.Name), "the page opens texts, and %s is a binary program",
			diag.Printable(s.Name))
		return nil, diag.List{d.WithHint("mscclc show %s json -o FILE.json writes it as text", s.Name)}
	}
	if s.Kind != codegen.KindSource {
		text, err := io.ReadAll(io.LimitReader(s, mostOpened))
		if err != nil {
			return nil, err
		}
		return []site.Document{{Name: ending(filepath.Base(s.Name), s.Kind), Text: string(text)}}, nil
	}
	text, err := s.ReadSource(&lim)
	if err != nil {
		return nil, err
	}
	if s.Catalog { // whose imports the page has
		return []site.Document{{Name: s.Name, Text: string(text)}}, nil
	}
	return named(s.Name, text, imported(s, text))
}

// ending gives a name the ending that the page knows a program by.
func ending(name string, kind codegen.FileKind) string {
	want := ".json"
	if kind == codegen.KindXML {
		want = ".xml"
	}
	if strings.EqualFold(filepath.Ext(name), want) {
		return name
	}
	return name + want
}

// imported returns the files that a text imports, by their paths.
func imported(s *cli.Source, text []byte) map[string][]byte {
	all := map[string][]byte{}
	tree, err := syntax.Parse(s.Name, text)
	if err != nil {
		return all // the page says so
	}
	var reading cli.Reading
	opt := reading.Imports(s)
	open := opt.Open
	opt.Limits = syntax.Limits{Steps: 1} // what is imported is read before anything runs
	opt.Open = func(path string) ([]byte, error) {
		text, err := open(path)
		if err == nil {
			all[path] = text
		}
		return text, err
	}
	if lang.IsLibrary(tree) {
		lang.CheckLibrary(tree, text, opt)
	} else {
		lang.ExpandLevel(tree, opt)
	}
	return all
}

// named names a file and what it imports below the one folder that holds them all.
func named(name string, text []byte, imports map[string][]byte) ([]site.Document, error) {
	paths := append([]string{name}, slices.Sorted(maps.Keys(imports))...)
	full := make([]string, len(paths))
	for i, p := range paths {
		var err error
		if full[i], err = filepath.Abs(p); err != nil {
			return nil, err
		}
	}
	base := filepath.Dir(full[0])
	for _, p := range full {
		for !strings.HasPrefix(p, strings.TrimSuffix(base, string(filepath.Separator))+string(filepath.Separator)) {
			base = filepath.Dir(base)
		}
	}
	var list []site.Document
	for i, p := range full {
		rel, err := filepath.Rel(base, p)
		if err != nil {
			return nil, err
		}
		body := text
		if i > 0 {
			body = imports[paths[i]]
		}
		list = append(list, site.Document{Name: filepath.ToSlash(rel), Text: string(body)})
	}
	return list, nil
}
