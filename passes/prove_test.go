package passes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/property"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// frozen is the program that d, which has been ordered, would become now.
// Before sync has chosen flags, every dependence on another block is one:
// codegen writes nops for all but the last of an instruction.
func frozen(d *ir.InstDAG, have property.Property) (*ir.Program, error) {
	if have&property.Synced == 0 {
		flagged := *d
		flagged.Waits = acrossBlocks(d)
		d = &flagged
	}
	return codegen.Assemble(d)
}

// acrossBlocks returns the dependences on instructions of other blocks.
func acrossBlocks(d *ir.InstDAG) ir.Edges {
	e := ir.Edges{Start: make([]int32, 1, len(d.Insts)+1)}
	for i := range d.Insts {
		for _, j := range d.Deps.Of(i) {
			if d.Insts[j].Block != d.Insts[i].Block {
				e.To = append(e.To, j)
			}
		}
		e.Start = append(e.Start, int32(len(e.To)))
	}
	return e
}

// proved asks verify for a proof of what d, which has been ordered, has become.
func proved(d *ir.InstDAG, have property.Property, opt verify.Options) error {
	p, err := frozen(d, have)
	if err != nil {
		return err
	}
	_, found := verify.Check(p, opt)
	return found.Err()
}

// TestCatalog takes every program of the catalog and of the examples through
// the table, and asks after every pass for each property, and from order on for
// a proof of the program.
func TestCatalog(t *testing.T) {
	compiled := 0
	for _, file := range catalog(t) {
		t.Run(file.name, func(t *testing.T) {
			for k, shape := range []string{"4 2 2", "6 3 2", "8 2 4"} {
				for _, inplace := range []bool{false, true} {
					c := file.expand(t, shape, inplace)
					if c == nil {
						continue
					}
					for _, opt := range []Options{{Slots: 1 + k}, {Instances: 2}, {Level0: true}} {
						if err := compile(c, opt); err != nil {
							t.Errorf("%s, in place %v, %+v: %v", shape, inplace, opt, err)
						}
						compiled++
					}
				}
			}
		})
	}
	if compiled < 200 {
		t.Errorf("only %d were compiled", compiled)
	}
}

// A catalogFile is a program of the catalog or of the examples.
type catalogFile struct {
	name string
	tree *lang.File
	algo *lang.Algorithm
}

func catalog(t *testing.T) []catalogFile {
	var files []catalogFile
	add := func(name string, text []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := lang.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Stmts {
			if a, ok := s.(*lang.Algorithm); ok {
				files = append(files, catalogFile{name, f, a})
			}
		}
	}
	for _, name := range algorithms.Names() {
		text, err := algorithms.Open(name)
		add(name, text, err)
	}
	examples, _ := filepath.Glob("../examples/*.mscl")
	for _, name := range examples {
		text, err := os.ReadFile(name)
		add(strings.TrimPrefix(name, "../"), text, err)
	}
	if len(files) < 18 {
		t.Fatalf("%d programs; there are more", len(files))
	}
	return files
}

// expand expands f for a shape: ranks, or nodes and gpus. It returns nil where
// f says that it is not for that.
func (f *catalogFile) expand(t *testing.T, shape string, inplace bool) *ir.ChunkDAG {
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
