package msccl

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/xmljudge"
	"mscclc/ir"
	"mscclc/ir/either"
)

// asRead is p with what XML loses as the reader sets it: no positions, and the
// classes of the chunks that steps name.
func asRead(p *either.Program) *either.Program {
	q := p.Copy()
	q.Steps = append([]ir.Step(nil), p.Steps...)
	(&reader{p: q.Fifo}).guessClasses()
	deduce(q.Fifo)
	return q
}

// TestRandomRoundTrips: a program is the same after XML; what
// is written is the same each time, and the judge has nothing to say.
func TestRandomRoundTrips(t *testing.T) {
	judges := map[string]*xmljudge.Runtime{"msccl": &xmljudge.MSCCL, "rccl": &xmljudge.RCCL}
	steps := 0
	for name, runtime := range judges {
		to := codegentest.Target(t, name)
		for seed := range int64(150) {
			p := codegentest.Random(rand.New(rand.NewSource(seed)), to)
			steps += len(p.Steps)
			var b, b2 bytes.Buffer
			if err := Write(&b, p, to); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if err := Write(&b2, p, to); err != nil || !bytes.Equal(b.Bytes(), b2.Bytes()) {
				t.Fatalf("%s, seed %d: written twice, it differs", name, seed)
			}
			if err := xmljudge.Error(b.Bytes(), runtime); err != nil {
				t.Fatalf("%s, seed %d: the judge says %v\n%s", name, seed, err, b.Bytes())
			}
			for _, opt := range []codegen.ReadOptions{{}, {Target: to}} {
				got, err := Read("x.xml", bytes.NewReader(b.Bytes()), opt)
				if err != nil {
					t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, b.Bytes())
				}
				if diff := cmp.Diff(asRead(p).Fifo, got, codegentest.ProgramsOnly...); diff != "" {
					t.Fatalf("%s, seed %d: %s\n%s", name, seed, diff, b.Bytes())
				}
			}
		}
	}
	if steps < 3000 {
		t.Errorf("the programs had only %d steps", steps)
	}
}
