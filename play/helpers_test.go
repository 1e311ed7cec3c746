package play_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/play"
)

// golden compares got with a file. MSCCLC_UPDATE=1 writes it.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is another (MSCCLC_UPDATE=1 rewrites it): %v\n%s", file, err, got)
	}
}

// expand returns the operations of an algorithm.
func expand(t *testing.T, name, text string, params lang.Params) *ir.ChunkDAG {
	t.Helper()
	f, err := syntax.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, err := lang.Expand(f, lang.Options{Params: params, Open: algorithms.Open})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// describe writes what a scene of a wrong program shows.
func describe(w io.Writer, s *play.Scene) {
	f := s.Fault
	fmt.Fprintf(w, "== %s\n%s\n%s", s.Name, s.Verdict.Line, s.Verdict.Text)
	fmt.Fprintf(w, "%d operations in %d frames, and the slider at %d\n", len(s.Ops), len(s.Frames), f.Frame)
	fmt.Fprintf(w, "%s at line %d\n", f.Kind, f.At.Line)
	for i := range f.Steps {
		x := &f.Steps[i]
		fmt.Fprintf(w, "lit: %s %s: %s; line %d, operation %d in frame %d\n", x.Name, x.Role, x.Text, x.At.Line, x.Op, x.Frame)
	}
	for _, x := range f.Waits {
		fmt.Fprintf(w, "wait: step %d for %s, on %d at %d: %s\n", x.Step, x.Cause, x.On, x.At, x.Text)
	}
	if f.Missing != "" {
		fmt.Fprintf(w, "missing: %s\n", f.Missing)
	}
	if f.Chunk != nil {
		fmt.Fprintf(w, "chunk: %s[%d] of rank %d, column %d\n", s.Buffers[f.Chunk.Buffer].Name, f.Chunk.Index, f.Chunk.Rank,
			f.Chunk.Column)
	}
	if f.Holds != "" {
		fmt.Fprintf(w, "holds %s; must hold %s\n", f.Holds, f.Must)
	}
	for _, e := range f.History {
		fmt.Fprintf(w, "history: operation %d, frame %d, line %d: %s from %s; %s; leaves %s\n", e.Op, e.Frame, e.At.Line, e.Writes,
			strings.Join(e.Reads, " + "), strings.Join(e.Where, "; "), e.Holds)
	}
	for _, b := range f.Blocks {
		fmt.Fprintf(w, "%s:", b.Name)
		for _, x := range b.Steps {
			mark := ""
			if x.Lit {
				mark = "*"
			}
			fmt.Fprintf(w, " %d%s %s", x.Step, mark, x.State)
		}
		fmt.Fprintln(w)
	}
	for _, x := range s.Wrong[:min(len(s.Wrong), 3)] {
		fmt.Fprintf(w, "wrong, one of %d: %s %s\n", len(s.Wrong), x.Mark, x.Text)
	}
	fmt.Fprintln(w)
}
