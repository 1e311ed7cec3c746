package synthcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
	"mscclc/synthesis"
	"mscclc/topology"
)

// This file makes programs for all sizes: of few hops for small calls, and of the whole bandwidth for large ones.

// A Range is sizes for which one program is the fastest.
type Range struct {
	From    int64   `json:"from"`
	To      int64   `json:"to,omitempty" doc:"sizes end below it; absent: they have no end"`
	Program string  `json:"program" doc:"a file that was written, or an algorithm of the catalog"`
	Form    string  `json:"form"`
	At      int64   `json:"at" doc:"the first of its sizes that was simulated"`
	Micros  float64 `json:"micros" doc:"of a call of that size"`
	Trees   int     `json:"trees,omitempty"`
	Height  int     `json:"height,omitempty" doc:"the most hops from a root to a rank"`
	Least   bool    `json:"least,omitempty" doc:"no program has fewer hops"`

	Schedule *Schedule `json:"schedule,omitempty" doc:"of a program of few rounds"`
}

// A SizesDocument is what synthesize --sizes prints with --json.
type SizesDocument struct {
	Schema     int      `json:"schema"`
	Collective string   `json:"collective"`
	Topology   string   `json:"topology"`
	Ranges     []Range  `json:"ranges"`
	Written    []string `json:"written"`
	cli.Noted
}

// attempts are the requests of programs for all sizes: trees of few hops, and few trees.
func attempts(t *topology.Topology, r synthesis.Request) (list []synthesis.Request) {
	list = alike(r, []int{1, 2, 4})
	for _, r.Hops = range []int{synthesis.LeastHops, 2, 3, 0} {
		for _, r.Chunks = range []int{1, 2, 3, 4, 6, 0} {
			if r.Hops != 0 && (r.Kind == ir.AllToAll || r.Chunks == 0) {
				continue
			}
			for _, r.Direct = range []bool{false, true} {
				if !r.Direct || synthesis.HasDirect(t) {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// forSizes makes the programs, and writes those that are the fastest for some sizes to the folder that -o names.
func forSizes(ctx context.Context, a *cli.App, t *topology.Topology, f *flags, r synthesis.Request) error {
	if cli.IsStdout(f.out) {
		return cli.Usagef("--sizes needs -o FOLDER: it writes several programs")
	}
	if f.certificate+f.svg != "" || f.chunks != "best" {
		return cli.Usagef("--sizes writes certificates beside the programs, and takes no --certificate, --svg and --chunks")
	}
	found, userPrograms, err := candidates(ctx, a, t, f, r)
	if err != nil {
		return err
	}
	list, err := fastest(t, r, userPrograms)
	if err != nil {
		return err
	}
	doc := &SizesDocument{Schema: cli.Schema, Collective: r.Kind.String(), Topology: t.Name}
	if err := cli.MakeFolder(f.out); err != nil {
		return err
	}
	for _, is := range list {
		one := Range{From: is.From, To: is.To, Program: is.Program, Form: is.Form.Plain().String(), At: is.At,
			Micros: is.Micros}
		if m := found[is.Program]; m != nil {
			d := m.document(a, t, f)
			one.Trees, one.Height, one.Least, one.Schedule = d.Trees, d.Height, m.least, d.Schedule
			one.Program = filepath.Join(f.out, is.Program)
			if err := m.put(a, one.Program, doc); err != nil {
				return err
			}
		}
		doc.Ranges = append(doc.Ranges, one)
	}
	doc.Noted = a.Notes.List()
	if a.JSON {
		return a.WriteJSON(doc)
	}
	return doc.print(a, f)
}

// candidates makes all programs that differ, by the names of their files.
func candidates(ctx context.Context, a *cli.App, t *topology.Topology, f *flags, r synthesis.Request) (map[string]*made,
	choose.UserPrograms, error) {
	asks := attempts(t, r)
	bar := a.Progress(len(asks), "synthesize")
	defer bar.Watch()()
	p := &pool{a: a, t: t, f: f, found: map[string]*made{}, seen: map[string]bool{}}
	var failed error
	for _, r := range asks {
		m, err := makeOne(ctx, t, r)
		bar.Step()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		m.least = r.Hops == synthesis.LeastHops
		failed = errors.Join(failed, p.add(m))
	}
	list, err := schedules(ctx, a, t, r)
	failed = errors.Join(failed, err)
	for _, m := range list {
		failed = errors.Join(failed, p.add(m))
	}
	if len(p.userPrograms) == 0 {
		return nil, nil, errors.Join(failed, ctx.Err())
	}
	return p.found, p.userPrograms, nil
}

// A pool is programs that differ.
type pool struct {
	a            *cli.App
	t            *topology.Topology
	f            *flags
	found        map[string]*made // by the names of their files
	seen         map[string]bool  // by their text
	userPrograms choose.UserPrograms
}

// add names a program, and keeps it if it is new and not too large to be simulated.
func (p *pool) add(m *made) error {
	plan := &m.result.Plan
	text := plan.Text()
	if m.hops() > most || p.seen[text] {
		return nil
	}
	p.seen[text] = true
	doc := m.document(p.a, p.t, p.f)
	if s := doc.Schedule; s != nil {
		plan.Name += fmt.Sprintf("_%dchunks_%dsteps_%drounds", s.Chunks, len(s.Steps), s.Steps.Rounds())
	} else {
		plan.Name += fmt.Sprintf("_%dhops_%d%s", doc.Height, doc.Trees, doc.shape)
	}
	for p.found[plan.Name+".mscl"] != nil { // as many trees over other links
		plan.Name += "_b"
	}
	plan.Header = doc.header()
	name := plan.Name + ".mscl"
	p.found[name] = m
	tree, err := syntax.Parse(name, []byte(plan.Text()))
	if err == nil {
		p.userPrograms = append(p.userPrograms, choose.Own{Name: name, File: name, Tree: tree})
	}
	return err
}

// fastest returns which of the user's programs, or of the catalog, are the fastest for which sizes.
func fastest(t *topology.Topology, r synthesis.Request, userPrograms choose.UserPrograms) ([]choose.Stretch, error) {
	s, err := selector(t, r.GPUs, r.Kind, r.Root)
	if err != nil {
		return nil, err
	}
	s.Own = userPrograms
	return s.Sizes(comparedSizes)
}

// comparedSizes are the sizes that programs are simulated at.
var comparedSizes = []int64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10,
	1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30}

// put writes a program and its certificate, once.
func (m *made) put(a *cli.App, file string, doc *SizesDocument) error {
	if slices.Contains(doc.Written, file) {
		return nil
	}
	doc.Written = append(doc.Written, file)
	if err := m.prove(); err != nil { // as it is written
		return err
	}
	if err := m.writeText(a, file); err != nil {
		return err
	}
	return m.writeCertificate(a, strings.TrimSuffix(file, ".mscl")+".json")
}

func (d *SizesDocument) print(a *cli.App, f *flags) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTO\tPROGRAM\tFORM\tTREES\tHOPS\tROUNDS\tAT\tLATENCY (us)")
	for _, r := range d.Ranges {
		to, trees, hops := "and above", "-", "-"
		if r.To > 0 {
			to = diag.RoughSize(r.To)
		}
		if r.Trees > 0 {
			trees, hops = fmt.Sprint(r.Trees), fmt.Sprint(r.Height)
		}
		if r.Least {
			hops += ", the least"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\n", diag.RoughSize(r.From), to, r.Program, r.Form, trees, hops,
			r.Schedule.cell(), diag.RoughSize(r.At), r.Micros)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(d.Written) > 0 {
		a.Say("mscclc select %s %s -t %s compares them; with --emit it writes a table for run and bench", d.Collective,
			filepath.Join(f.out, "*.mscl"), f.topology)
	}
	return nil
}
