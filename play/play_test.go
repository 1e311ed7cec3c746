package play_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/lang"
	"mscclc/play"
)

// catalogRequest asks for a program of the catalog for 8 ranks, or for as many as it takes near that.
func catalogRequest(t testing.TB, name string) *play.Request {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return &play.Request{Name: name + ".mscl", Text: text, Open: algorithms.Open, Machine: "dgx_h100:nodes=8"}
}

// of8 returns the scene of a program of the catalog for 8 ranks, or for the number near it that the program takes.
func of8(t testing.TB, p *play.CatalogProgram) *play.Result {
	t.Helper()
	return of8Sided(t, p, false)
}

// of8Sided is of8 of a program that is compiled one-sided or two-sided.
func of8Sided(t testing.TB, p *play.CatalogProgram, oneSided bool) *play.Result {
	t.Helper()
	r := catalogRequest(t, p.Name)
	r.OneSided = oneSided
	tries := []lang.Params{nil}
	for _, param := range p.Params {
		if param.Name == "ranks" {
			tries = []lang.Params{{"ranks": "8"}, {"ranks": "16"}, {"ranks": "6"}, {"ranks": "9"}, {"ranks": "4"}, {"ranks": "2"}, nil}
			break
		}
		if param.Name == "nodes" {
			tries = []lang.Params{{"nodes": "2", "gpus": "4"}, {"nodes": "2"}, nil}
		}
	}
	var last *play.Result
	for _, params := range tries {
		r.Params = params
		result, err := play.Build(r)
		if err != nil {
			t.Fatal(err)
		}
		if last = result; result.Proven {
			break
		}
	}
	return last
}

// outputs returns what each chunk of the outputs holds by ir/eval, which runs the compiled program's steps.
func outputs(p *either.Program) (list []string) {
	m := eval.NewMachine(p.Coll, p.Memory())
	if p.OneSided != nil {
		links := eval.Link(p.OneSided)
		order, _ := links.Schedule(p.OneSided).Run()
		m.Moves(p.OneSided, links, order)
	} else {
		w := eval.Wire(p.Fifo)
		order, _ := w.Schedule(p.Fifo, ir.Unbounded, 1).Run()
		w.Exec(p.Fifo, m, order)
	}
	for r := range p.Coll.Ranks {
		for i := range p.Coll.OutChunks(r) {
			x, _ := m.At(r, ir.Output, i)
			list = append(list, m.Values.Describe(x))
		}
	}
	return list
}

// shown returns what the chunks of the outputs hold at the end of a scene's frames, as the page steps through them.
func shown(s *play.Scene, chunks func(rank int) int, column func(rank, index int) int) (list []string) {
	type cell struct{ rank, column int }
	now := map[cell]int{}
	for _, h := range s.Start {
		now[cell{h.Rank, h.Column}] = h.Content
	}
	for _, f := range s.Frames {
		for _, w := range f.Writes {
			now[cell{w.Rank, w.Column}] = w.Content
		}
	}
	for r := range s.Collective.Ranks {
		for i := range chunks(r) {
			text := "nothing"
			if content, known := now[cell{r, column(r, i)}]; known && content >= 0 {
				text = s.Contents[content].Says
			}
			list = append(list, text)
		}
	}
	return list
}

// TestCatalog steps through a scene of each program of the catalog: at its end the table holds what ir/eval finds that
// the compiled steps leave.
func TestCatalog(t *testing.T) {
	programs := 0
	for _, p := range play.CatalogOf().Programs {
		if p.Library {
			continue
		}
		programs++
		result := of8(t, &p)
		s := result.Scene
		if !result.Proven || s.Verdict.State != "proven" || len(s.Frames) == 0 || s.Fault != nil || len(s.Wrong) > 0 {
			t.Errorf("%s: %s, %d frames\n%s%v", p.Name, s.Verdict.Line, len(s.Frames), s.Verdict.Text, s.Notes)
			continue
		}
		coll := result.Program.Coll
		if s.Timeline == nil || len(s.Timeline.Spans) == 0 || s.Figures == nil || s.Figures.Latency <= 0 {
			t.Errorf("%s is not simulated: %v %s", p.Name, s.Notes, s.Machine.Problem)
		}
		x := play.RunOf(play.OfChunks(expanded(t, p.Name, s)))
		column := func(rank, index int) int {
			at := x.At(rank, play.Place{Buf: ir.Output, Index: index})
			for k, place := range x.Places() {
				if x.At(rank, place) == at {
					return k
				}
			}
			t.Fatalf("%s: output[%d] of rank %d has no column", p.Name, index, rank)
			return -1
		}
		want := outputs(result.Program)
		if got := shown(s, coll.OutChunks, column); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s ends with\n%v\nwant\n%v", p.Name, got, want)
		}
		moved := 0
		for i := range s.Ops {
			moved += len(s.Ops[i].Paths)
			if s.Ops[i].Level != "rank" && len(s.Ops[i].Paths) == 0 {
				t.Errorf("%s: operation %d takes no path", p.Name, i)
			}
		}
		if moved == 0 && coll.Ranks > 1 {
			t.Errorf("%s moves nothing", p.Name)
		}
	}
	if programs < 40 {
		t.Errorf("only %d programs", programs)
	}
}

// expanded returns the operations of a program of the catalog with the parameters of a scene.
func expanded(t *testing.T, name string, s *play.Scene) *ir.ChunkDAG {
	t.Helper()
	params := lang.Params{}
	for _, p := range s.Params {
		if p.Given {
			params[p.Name] = p.Value
		}
	}
	return expand(t, name+".mscl", s.Text, params)
}

// TestSame makes scenes twice: the same text gives the same scene.
func TestSame(t *testing.T) {
	for _, name := range []string{"allreduce/ring", "allreduce/hierarchical", "alltoall/bruck"} {
		var texts [2][]byte
		for i := range texts {
			r, err := play.Build(catalogRequest(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if texts[i], err = json.Marshal(r.Scene); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("two scenes of %s differ", name)
		}
	}
}

// TestBroken looks at what the scenes of wrong programs show: the diagnostics as commands print them, and the steps
// that are lit (testdata/broken.golden).
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d broken programs, %v", len(files), err)
	}
	var got bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := play.Build(&play.Request{Name: filepath.Base(file), Text: text})
		if err != nil {
			t.Fatal(err)
		}
		describe(&got, r.Scene)
		if r.Proven || r.Scene.Verdict.State != "rejected" || !r.Problems.Rejects() {
			t.Errorf("%s is %s", file, r.Scene.Verdict.State)
		}
	}
	golden(t, "testdata/broken.golden", got.Bytes())
}

// TestDiagnostics holds a verdict's text against what prints diagnostics.
func TestDiagnostics(t *testing.T) {
	text := []byte("algorithm a(ranks = 2)\ncollective allgather(ranks)\nchunk(0, input, 1).copy(1, output, 0)\n")
	r, err := play.Build(&play.Request{Name: "a.mscl", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := diag.Fprint(&want, r.Problems, func(string) []byte { return text }, false); err != nil {
		t.Fatal(err)
	}
	if got := r.Scene.Verdict.Text; got != want.String() || !strings.Contains(got, "^~~~") {
		t.Errorf("the scene says\n%s\nwant\n%s", got, &want)
	}
}
