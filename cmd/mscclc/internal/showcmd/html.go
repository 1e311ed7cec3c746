package showcmd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/play"
	"mscclc/play/site"
	"mscclc/topology"
)

// mostPlayed bounds the file of a program that a page plays, in bytes.
const mostPlayed = 8 << 20

// pageUnused are the flags that a page of a program does not show.
var pageUnused = slices.Concat([]string{"instances", "target", "fused-receives", "nodes", "inplace", "staged", "copies",
	"together", "import-path", "limit", "after", "positions", "root"}, []string{"optimise", "opt", "fuse"})

// showHTML writes one file that plays what arg holds: its chunks, a simulated call, and what is wrong with it.
func showHTML(a *cli.App, arg string, f *showFlags) error {
	if flag := f.OneGiven(pageUnused...); flag != "" {
		return cli.Usagef("%s changes nothing of what --html shows: leave it out", flag)
	}
	arg = a.About(arg)
	if err := a.Claims(cli.Named{"--html": f.html}, arg, topology.File(f.topology)); err != nil {
		return err
	}
	if f.topology != "" { // of a machine that is none, a scene says so and goes on: the page has a picker
		if _, err := a.TopologyOf(f.topology, ""); err != nil {
			return err
		}
	}
	r, err := f.played(a, arg)
	if err != nil {
		return err
	}
	result, err := f.build(r)
	if err != nil {
		return err
	}
	page, err := site.Player(result.Scene)
	if err != nil {
		return err
	}
	err = a.WriteTo(f.html, func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
	if err != nil {
		return err
	}
	for _, note := range result.Scene.Notes {
		a.Note(arg, "%s", lowered(note))
	}
	if p := result.Scene.Machine.Problem; p != "" {
		a.Note("", "%s", p)
	}
	failure := cli.Placed(result.Problems, arg).Err()
	if a.JSON {
		doc := Document{Report: a.Noted(cli.NewReport(arg, found(arg, failure), result.Program)), Stage: "html", Output: f.html}
		return cmp.Or(a.WriteJSON(doc), reported(failure))
	}
	if !cli.IsStdout(f.html) {
		a.Say("%s: a page of %s and %s", f.html, diag.Counted(len(result.Scene.Ops), "operation"),
			diag.Counted(len(result.Scene.Frames), "frame"))
	}
	return failure
}

// lowered returns a sentence as a note has it.
func lowered(text string) string {
	return strings.ToLower(text[:1]) + strings.TrimSuffix(text[1:], ".")
}

// played returns the request of a scene of what arg holds.
func (f *showFlags) played(a *cli.App, arg string) (*play.Request, error) {
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	opt, err := f.Options(s)
	if err != nil {
		return nil, err
	}
	r := &play.Request{Name: s.Name, Open: opt.Lang.Open, Params: opt.Lang.Params, Protocol: opt.Lang.Protocol,
		OneSided: opt.OneSided, Lanes: opt.Core.Lanes, Machine: f.topology, Bytes: 1 << 20, DType: data.F32}
	if s.Kind == codegen.KindSource {
		r.Text, err = s.ReadAlgorithm(&f.Limits)
		return r, err
	}
	if flag := f.UnfitProgram(s.Kind, "protocol", "ranks"); flag != "" {
		return nil, cli.Usagef("%s is compiled already: %s changes nothing of it", diag.Printable(arg), flag)
	}
	r.Kind = s.Kind
	var text bytes.Buffer
	if _, err = io.Copy(&text, io.LimitReader(s, mostPlayed+1)); err == nil && text.Len() > mostPlayed {
		err = diag.List{diag.New(diag.Limit, cli.FileSpan(s.Name), "the program has more than %d bytes, and is not played",
			mostPlayed)}
	}
	r.Text = text.Bytes()
	return r, err
}

// build makes the scene on the machine of --topology, or on one that has room.
func (f *showFlags) build(r *play.Request) (*play.Result, error) {
	if file := topology.File(r.Machine); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		_, r.Machine, _ = strings.Cut(r.Machine, ":")
		r.Topology = string(text)
	}
	result, err := play.Build(r)
	if err != nil || f.topology != "" || len(result.Scene.Machine.Seats) > 0 || result.Scene.Collective.Ranks == 0 {
		return result, err
	}
	nodes := max(result.Scene.Collective.Nodes, (result.Scene.Collective.Ranks+7)/8)
	r.Machine = fmt.Sprintf("dgx_h100:nodes=%d", nodes)
	return play.Build(r)
}
