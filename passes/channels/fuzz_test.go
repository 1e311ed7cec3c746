package channels

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	ironesided "mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
)

// planText returns a plan of MSCCL++ that says what p does, or nil where none does.
func planText(t testing.TB, p *ir.ChannelProgram) []byte {
	f, err := mscclpp.PlanOf(p)
	if err != nil {
		return nil
	}
	var text, short bytes.Buffer
	if err := mscclpp.Write(&text, f); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&short, text.Bytes()); err != nil {
		t.Fatal(err)
	}
	return short.Bytes()
}

// FuzzCheckChannels: whatever a plan's text says is judged, within bounds of work and time, in findings that say where;
// and of a tiny program that is accepted, no run shows a fault.
func FuzzCheckChannels(f *testing.F) {
	add := func(text []byte) {
		if len(text) > 0 && len(text) < 1<<13 {
			f.Add(text)
		}
	}
	for _, b := range rightChannels() {
		add(planText(f, b.ChannelProgram))
	}
	for _, c := range wrongChannels {
		add(planText(f, c.wrong.ChannelProgram))
	}
	for seed := range int64(20) {
		add(planText(f, randomLoops(rand.New(rand.NewSource(seed)))))
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "codegen", "mscclpp", "testdata", "*.json"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var short bytes.Buffer
		if err := json.Compact(&short, text); err == nil {
			add(short.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, p, err := mscclpp.Read("x.json", bytes.NewReader(text), codegen.ReadOptions{MaxCells: 1 << 16, MaxMoved: 1 << 18})
		if err != nil {
			return
		}
		begin := time.Now()
		g, report, found := Check(p, verify.Options{Cells: 1 << 18, Moves: 1 << 18, Work: 1 << 20})
		if d := time.Since(begin); d > covering.Patience(5*time.Second) {
			t.Fatalf("judged in %v", d)
		}
		for _, d := range found {
			if d.Code == "" || d.Text == "" || d.Code == diag.Internal {
				t.Fatalf("%+v lacks something", d)
			}
		}
		if len(found) > 0 {
			return
		}
		if !report.Ran || g == nil {
			t.Fatal("accepted without a run")
		}
		for turns := 1; turns <= 2; turns++ {
			if g, err = Unroll(p, turns); err != nil {
				t.Fatal(err)
			}
			if accesses(g) > 60 {
				return
			}
			if v, err := onesided.Explore(g, 0, rand.New(rand.NewSource(1))); err == nil && !v.Good() {
				t.Fatalf("accepted, and in %d loop iterations %v", turns, v)
			}
		}
	})
}

// accesses returns the accesses of a pass of g.
func accesses(g *ironesided.Program) (n int) {
	for i := range g.Steps {
		s := &g.Steps[i]
		n += int(max(s.Count, 1)) * (int(s.NSrc) + int(s.NDst)) * len(g.Rank)
	}
	return n
}
