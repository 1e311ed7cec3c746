// Package passestest has programs of the catalog for the tests of passes.
package passestest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// A File is a program of the catalog or of the examples.
type File struct {
	Name string
	tree *syntax.File
	algo *syntax.Algorithm
}

// Catalog returns every program of the catalog and of the examples.
func Catalog(t *testing.T) []File {
	var files []File
	add := func(name string, text []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Stmts {
			if a, ok := s.(*syntax.Algorithm); ok {
				files = append(files, File{name, f, a})
			}
		}
	}
	for _, name := range algorithms.Names() {
		text, err := algorithms.Open(name)
		add(name, text, err)
	}
	examples, _ := filepath.Glob("../../examples/*.mscl")
	for _, name := range examples {
		text, err := os.ReadFile(name)
		add(strings.TrimPrefix(name, "../../"), text, err)
	}
	if len(files) < 18 {
		t.Fatalf("%d programs; there are more", len(files))
	}
	return files
}

// Expand expands f for a shape: ranks, or nodes and gpus. It returns nil where
// f says that it is not for that.
func (f *File) Expand(t *testing.T, shape string, inplace bool) *ir.ChunkDAG {
	var ranks, nodes, gpus int
	if _, err := fmt.Sscan(shape, &ranks, &nodes, &gpus); err != nil {
		t.Fatal(err)
	}
	params := lang.Params{}
	for _, p := range f.algo.Params {
		if n := slices.Index([]string{"ranks", "nodes", "gpus"}, p.Name); n >= 0 {
			params[p.Name] = fmt.Sprint([]int{ranks, nodes, gpus}[n])
		}
	}
	c, err := lang.Expand(f.tree, lang.Options{Params: params, Inplace: &inplace, Open: algorithms.Open})
	if err != nil {
		return nil // TestMatrix of algorithms says for which shapes and places each is
	}
	return c
}
