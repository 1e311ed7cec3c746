package compiling

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/passes/core"
)

// A dumper writes what compilation leaves on its way, in numbered files.
type dumper struct {
	app    *cli.App
	prefix string
	what   string   // a name of DumpNames, or all
	names  []string // what there is to be dumped
}

// DumpNames returns the stages in their order: a file's number is its place here.
func DumpNames(oneSided bool) []string {
	names := []string{"chunks"}
	if !oneSided {
		names = append(names, "lower")
	}
	return slices.Concat(names, PassNames(oneSided), []string{"program"})
}

func newDumper(a *cli.App, f *compileFlags) (*dumper, error) {
	if f.dump == "" {
		return nil, nil
	}
	names := DumpNames(f.OneSided())
	if f.dump != "all" && !slices.Contains(names, f.dump) {
		return nil, cli.Usagef("--dump takes all, %s, not %q", strings.Join(names, ", "), f.dump)
	}
	if err := f.Leaves("--dump", f.dump); err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(f.out, filepath.Ext(f.out))
	if prefix == "" || prefix == "-" {
		prefix = strings.Trim(strings.TrimSuffix(filepath.Base(a.File), ".mscl"), "<>")
	}
	d := &dumper{app: a, prefix: prefix, what: f.dump, names: names}
	for _, name := range names {
		if d.wants(name) {
			if err := a.Guard.Output("--dump", d.path(name)); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (d *dumper) wants(name string) bool { return d.what == "all" || d.what == name }

func (d *dumper) path(name string) string {
	return fmt.Sprintf("%s.%02d-%s", d.prefix, slices.Index(d.names, name), name)
}

func (d *dumper) file(name string, write func(io.Writer) error) error {
	if !d.wants(name) {
		return nil
	}
	path := d.path(name)
	err := d.app.WriteTo(path, write)
	if err == nil {
		d.app.Say("%s: written", path)
	}
	return err
}

func (d *dumper) stage(value any) error {
	switch v := value.(type) {
	case *ir.ChunkDAG:
		return d.file("chunks", func(w io.Writer) error { return text.WriteChunks(w, v) })
	case *ir.InstDAG:
		return d.file("lower", func(w io.Writer) error { return text.WriteInsts(w, v) })
	case *ir.ChannelProgram:
		if d.what != "all" && d.what != "program" {
			return cli.Usagef("no passes make programs of channels: of these --dump takes all or program, not %s", d.what)
		}
	case *either.Program:
		return d.file("program", func(w io.Writer) error { return text.WriteProgram(w, v) })
	}
	return nil
}

// insts sees what a pass of two-sided programs leaves.
func (d *dumper) insts(pass string, insts *ir.InstDAG) error {
	return d.file(pass, func(w io.Writer) error { return text.WriteInsts(w, insts) })
}

// moves sees what a pass of one-sided programs leaves.
func (d *dumper) moves(pass string, s *core.State) error {
	return d.file(pass, func(w io.Writer) error { return s.WriteText(w, true) })
}
