package syntax

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
)

// TestMemo: who parses the same file under the same limits gets the same tree, unless many were parsed in between.
// Other texts, names and limits have trees of their own, and errors come each time.
func TestMemo(t *testing.T) {
	parsed := func(name, text string, lim Limits) *File {
		t.Helper()
		f, err := ParseLimited(name, []byte(text), lim)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const text = "algorithm memo(ranks = 2)\n"
	first := parsed("a", text, Limits{})
	if parsed("a", text, Limits{}) != first {
		t.Error("the tree is another one")
	}
	for _, other := range []*File{parsed("b", text, Limits{}), parsed("a", text+"\n", Limits{}),
		parsed("a", text, Limits{Nesting: 100})} {
		if other == first {
			t.Error("the tree is that of another file")
		}
	}
	if f := parsed("b", text, Limits{}); f.Name != "b" || f.Stmts[0].Base().Pos.Filename != "b" {
		t.Errorf("the tree of b is that of %s", f.Name)
	}
	if _, err := ParseLimited("a", []byte("for 2\n"), Limits{}); err == nil {
		t.Error("no error")
	}
	if _, err := ParseLimited("a", []byte("for 2\n"), Limits{}); err == nil {
		t.Error("no error the second time")
	}
	for i := range 2 * mostKept / mostOfOne {
		comment := append([]byte(fmt.Sprint("# ", i)), bytes.Repeat([]byte("x"), mostOfOne-8)...)
		parsed("long", string(comment), Limits{})
	}
	if trees.bytes > mostKept || len(trees.of) > mostKept/mostOfOne+1 {
		t.Errorf("%d trees are kept, of %d bytes", len(trees.of), trees.bytes)
	}
	if parsed("a", text, Limits{}) == first {
		t.Error("the tree is kept, though many were parsed since")
	}
}

// TestMemoAtOnce parses a file in many goroutines: all get one tree.
func TestMemoAtOnce(t *testing.T) {
	files := make([]*File, 16)
	var wait sync.WaitGroup
	for i := range files {
		wait.Go(func() { files[i], _ = Parse("at once", []byte("algorithm memo(ranks = 2)\n")) })
	}
	wait.Wait()
	for _, f := range files {
		if f == nil || f != files[0] {
			t.Fatal("the trees are several")
		}
	}
}
