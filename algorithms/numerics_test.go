package algorithms_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/lang"
)

// mixes are the programs of the catalog that add inputs and partial sums by one operand for some numbers of ranks.
var mixes = map[string]bool{"reducescatter/bruck": true}

// TestNumerics runs every program of the catalog that reduces, one-sided and two-sided, with every type and reduction
// on numbers from the edges of the type. The checker knows what each element must be, so that an input that is scaled
// twice or never is found, also where ranks forward partial sums.
func TestNumerics(t *testing.T) {
	for _, p := range programs(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			shapes, places := p.legal(t)
			for i, inplace := range places {
				for _, one := range []bool{true, false} {
					shape := shapes[min(len(shapes)-1, 1+i)]
					opt := mscclc.Options{OneSided: one, Lang: lang.Options{Params: shape, Open: p.open, Inplace: &inplace}}
					compiled, err := mscclc.CompileFile(p.tree, opt)
					if err != nil {
						t.Fatalf("%v: %v", shape, err)
					}
					if compiled.Coll.SumsKnown() && compiled.Coll.Kind != ir.Custom {
						numerics(t, p.name, compiled)
					}
				}
			}
		})
	}
}

func numerics(t *testing.T, name string, p *either.Program) {
	if _, err := eval.FreshOperands(p); err != nil && !mixes[name] {
		t.Errorf("%s, %v: %v", p.Name, p.Coll, err)
	}
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // Compile has proven it
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for dt := range data.NumDTypes {
		for op := range data.NumRedOps {
			elems := 37 * int64(p.Coll.Chunks)
			b := data.NewEdges(data.NewGeometry(p.Coll, elems, dt.Size()), dt, op, uint64(dt)*8+uint64(op))
			args := executor.DataArgs(b)
			args.Threads, args.Wait = 1, time.Minute
			if _, err := l.Run(context.Background(), args); err != nil {
				if mixes[name] && op == data.Avg && strings.Contains(err.Error(), "scale the inputs alone") {
					continue
				}
				t.Fatalf("%s, %v, %v %v: %v", p.Name, p.Coll, dt, op, err)
			}
			rep := b.Check()
			if err := rep.Err(); err != nil {
				t.Errorf("%s, %v, %v %v: %v", p.Name, p.Coll, dt, op, err)
			}
		}
	}
}
