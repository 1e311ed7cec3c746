package selectcmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/selection"
	"mscclc/topology"

	"github.com/beevik/etree"
)

// mostMSCCL is how many algorithms msccl's configuration has room for, of all collectives.
const mostMSCCL = 4

// mostConfig is how many bytes of one are read.
const mostConfig = 1 << 20

// An emission writes what a target's runtime reads into a folder.
type emission struct {
	app      *cli.App
	flags    *selectFlags
	selector *choose.Selector
	end      int64            // msccl's last range ends below it
	kept     []*etree.Element // of msccl's configuration, of other calls
	written  []string         // names of programs
	notes    []string         // to be printed below the table
}

// prepare makes the folder, and finds how many ranges there is room for.
func (e *emission) prepare() error {
	s := e.selector
	if e.flags.emit != "" {
		if err := cli.MakeFolder(e.flags.emit); err != nil {
			return err
		}
	}
	if err := e.Claims(); err != nil {
		return err
	}
	if s.Target.Name != "msccl" {
		return nil
	}
	if e.flags.emit != "" {
		if err := e.keep(); err != nil {
			return err
		}
	}
	room := mostMSCCL - len(e.kept)
	if s.Most = min(s.Most, room); s.Most == 0 {
		s.Most = room
	}
	if room < 1 {
		return diag.List{diag.New(diag.Limit, cli.FileSpan(e.config()),
			"msccl reads at most %d algorithms, and that many of other calls are here already", mostMSCCL).
			WithHint("select these with --ranges N, which leaves room, or emit to another folder")}
	}
	return nil
}

// Claims notes what select is to read, and the files that it is to write whatever it finds.
func (e *emission) Claims() error {
	out := ""
	switch f := e.flags; {
	case f.emit == "":
	case f.staged:
		out = e.rulesFile()
	case e.selector.Target.Format == codegen.FormatProgram:
		out = e.tableFile()
	case e.selector.Target.Name == "msccl":
		out = e.config()
	}
	return e.app.Claims(cli.Named{"--emit": out}, topology.File(e.flags.topology), e.flags.costs)
}

// tableFile is mscclc's own table.
func (e *emission) tableFile() string {
	return filepath.Join(e.flags.emit, e.selector.Call.Kind.String()+".table")
}

// device returns the name of the GPUs that a table or rules are for.
func (e *emission) device() string { return cmp.Or(e.flags.device, e.selector.Topology.Device) }

// config is msccl's configuration.
func (e *emission) config() string { return filepath.Join(e.flags.emit, "msccl.xml") }

// keep finds what the configuration has of other calls than the selector's.
func (e *emission) keep() error {
	file, err := files.Open(e.config())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	doc := etree.NewDocument()
	if _, err := doc.ReadFrom(files.Limit(e.config(), file, "a configuration of msccl", mostConfig)); err != nil ||
		doc.Root() == nil || doc.Root().Tag != "msccl_algos" {
		return diag.List{diag.New(diag.Malformed, cli.FileSpan(e.config()),
			"no configuration of msccl: it has no element msccl_algos")}
	}
	for _, load := range doc.Root().SelectElements("load") {
		path := load.SelectAttrValue("path", "")
		if !strings.HasPrefix(filepath.Base(path), e.prefix()) {
			e.kept = append(e.kept, load)
		}
	}
	return nil
}

// prefix begins the names of the files of the selector's call.
func (e *emission) prefix() string {
	if e.selector.Call.Inplace {
		return e.selector.Call.Kind.String() + "_inplace_"
	}
	return e.selector.Call.Kind.String() + "_outofplace_"
}

// path returns where the program of range i goes.
func (e *emission) path(i int, r choose.Stretch) string {
	return filepath.Join(e.flags.emit, fmt.Sprintf("%s%d_%s_%s%s", e.prefix(), i,
		strings.ReplaceAll(filepath.Base(r.Program), ".", "_"), strings.ToLower(r.Protocol.String()), e.ending()))
}

// ending ends the names of programs.
func (e *emission) ending() string {
	if e.plans() {
		return ".json"
	}
	return ".xml"
}

// bound ends the last range where msccl has memory no more.
func (e *emission) bound(list []choose.Stretch) {
	if e.selector.Target.Name == "msccl" {
		list[len(list)-1].To = e.end
	}
}

// Write writes the files, where that is asked for, and says which sizes several files are for.
func (e *emission) Write(list []choose.Stretch) (overlaps []string, err error) {
	overlaps = []string{}
	switch {
	case e.flags.emit == "":
		return overlaps, nil
	case e.flags.staged:
		return overlaps, e.rules(list)
	case e.selector.Target.Format == codegen.FormatProgram:
		e.noteUnstaged()
		return overlaps, e.table(list)
	}
	if found := e.taken(list); len(found) > 0 {
		return nil, found
	}
	for i, r := range list {
		if err := e.app.Guard.Output("--emit", e.path(i, r)); err != nil {
			return nil, err
		}
	}
	if e.plans() {
		return overlaps, e.writePlans(list)
	}
	config := etree.NewElement("msccl_algos")
	for i, r := range list {
		load, err := e.program(i, r)
		if err != nil {
			return nil, err
		}
		config.AddChild(load)
	}
	if e.selector.Target.Name != "msccl" {
		if err := e.tidy(); err != nil {
			return nil, err
		}
		return e.overlaps()
	}
	for _, load := range e.kept {
		config.AddChild(load)
	}
	doc := etree.NewDocument()
	doc.SetRoot(config)
	doc.Indent(2)
	err = e.app.WriteTo(e.config(), func(w io.Writer) error {
		_, err := doc.WriteTo(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return overlaps, e.tidy() // what the configuration names no more
}

// Program writes range i's, which is proven for its sizes, and makes its line of msccl's configuration.
func (e *emission) program(i int, r choose.Stretch) (*etree.Element, error) {
	s := e.selector
	p, err := s.Program(r.Form)
	if err != nil {
		return nil, err
	}
	ranged := p.Copy()
	ranged.Sizes = ir.SizeRange{Min: r.From, Max: r.To}
	if _, found := verify.Check(ranged, verify.Options{}); found.Err() != nil {
		return nil, found
	}
	path, err := filepath.Abs(e.path(i, r)) // the runtime's folder is another one
	if err != nil {
		return nil, err
	}
	load := etree.NewElement("load")
	load.CreateAttr("path", path)
	load.CreateAttr("minbytes", fmt.Sprint(ranged.Sizes.Min))
	load.CreateAttr("maxbytes", fmt.Sprint(ranged.Sizes.Max))
	load.CreateAttr("proto", r.Protocol.String())
	var text bytes.Buffer
	if err := msccl.Write(&text, ranged, s.Target); err != nil {
		return nil, err
	}
	e.written = append(e.written, filepath.Base(path))
	return load, e.app.WriteTo(path, func(w io.Writer) error {
		_, err := io.WriteString(w, mark(s.Target.Name, text.Bytes())+text.String())
		return err
	})
}

// Table writes the ranges into mscclc's own table, among what that has of other calls.
func (e *emission) table(list []choose.Stretch) error {
	s, device := e.selector, e.device()
	entry := s.Call.Entry(device)
	entry.Unmeasured = s.Costs.Unmeasured
	for _, r := range list {
		for k, wide := range r.Widths {
			rule := selection.Rule{Choice: r.Choice, Micros: choosing.Hundredths(wide.Interval)}
			if rule.Replicas, rule.Tile = wide.Replicas, wide.Tile; k+1 < len(r.Widths) {
				rule.UpTo = r.Widths[k+1].From - 1
			} else if r.To > 0 {
				rule.UpTo = r.To - 1
			}
			entry.Rules = append(entry.Rules, rule)
		}
	}
	file := e.tableFile()
	table := &selection.Table{}
	if old, err := files.Open(file); err == nil {
		table, err = e.selector.Own.ReadTable(file, old)
		old.Close()
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch ok, err := table.PutSimulated(entry); {
	case err != nil:
		return err
	case !ok:
		return diag.List{diag.New(diag.Io, cli.FileSpan(file), "rules for %v of %d ranks of %q are here already, which "+
			"select did not write, or they were changed since", s.Call.Kind, s.Call.Ranks, device).
			WithHint("move the file away, or emit to another folder")}
	}
	for i := range s.Own {
		if name := s.Own[i].Name; slices.ContainsFunc(entry.Rules, func(r selection.Rule) bool { return r.Program == name }) {
			e.Note("the table names %s: mscclc run and bench take both: mscclc run %v %s --table %s", name, s.Call.Kind,
				s.Own[i].File, file)
		}
	}
	return e.app.WriteTo(file, func(w io.Writer) error { return table.Write(w) })
}
