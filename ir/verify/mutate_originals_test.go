package verify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// An original is a good program that single faults are put into.
type original struct {
	name string
	p    *either.Program
	node []int32 // of each rank; nil is one
}

// neutral makes p one in which nothing but what runs is judged: chunks are of
// one length, and no step is marked final.
func neutral(p *either.Program) *either.Program {
	p.Even = true
	for i := range p.Steps {
		p.Steps[i].Flags &^= ir.Final
	}
	return p
}

// catalog compiles every algorithm for each of its shapes of 2 to 4 ranks.
func catalog(t *testing.T) []original {
	var all []original
	for _, name := range algorithms.Names() {
		src, err := algorithms.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		var params []string
		for _, s := range f.Stmts {
			if a, ok := s.(*syntax.Algorithm); ok {
				for _, p := range a.Params {
					params = append(params, p.Name)
				}
			}
		}
		if params == nil || strings.HasPrefix(name, "rows/") {
			continue // a library, or programs with an epilogue, which are one-sided
		}
		n := len(all)
		for _, shape := range shapes(params) {
			p, err := mscclc.Compile(name, src, mscclc.Options{Lang: lang.Options{Params: shape, Open: algorithms.Open}})
			if list := (diag.List{}); errors.As(err, &list) && list[0].Code == diag.AssertFailed {
				continue // it is for powers of two, say
			}
			if err != nil {
				t.Fatalf("%s %v: %v", name, shape, err)
			}
			all = append(all, original{fmt.Sprintf("%s %d ranks", name, p.Coll.Ranks), neutral(p), nil})
		}
		if len(all) == n {
			t.Errorf("%s has no shape of 2 to 4 ranks", name)
		}
	}
	return all
}

// shapes returns the values of parameters for 2 to 4 ranks.
func shapes(params []string) []lang.Params {
	for _, p := range params {
		switch p {
		case "ranks":
			return []lang.Params{{"ranks": "2"}, {"ranks": "3"}, {"ranks": "4"}}
		case "nodes":
			return []lang.Params{{"nodes": "1", "gpus": "2"}, {"nodes": "2", "gpus": "1"}, {"nodes": "3", "gpus": "1"},
				{"nodes": "2", "gpus": "2"}}
		}
	}
	return nil
}

// others reads the programs that are good: the repository's own, and those of other compilers that are there.
func others(t *testing.T) []original {
	var all []original
	for _, file := range irtest.Files(t, irtest.XML) {
		p, err := readXML(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, list := verify.Check(neutral(p), verify.Options{}); len(list) == 0 {
			all = append(all, original{p.Name, p, nil})
		}
	}
	return all
}
