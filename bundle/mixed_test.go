//go:build cgo

package bundle

import (
	"bytes"
	"math/rand"
	"path"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify/explore/onesided"
	"mscclc/selection"
)

// TestMixes runs the programs of bundles on the CPU in all mixes of ranks that are in place and ranks that are not, up
// to 4 ranks. All mixes give the same outputs. So do programs with a single fault, where Prove takes them.
func TestMixes(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	taken, refused := 0, 0
	for n := 2; n <= 4; n++ {
		for _, p := range ladder(t, n).Programs {
			if p.InPlace == 0 {
				continue
			}
			q, err := program.Decode(p.Title(), p.Source, codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			compareMixes(t, p.Title(), q, int64(1+rnd.Intn(300)))
			for range irtest.Count(t, 2) {
				change := &onesided.Mutations[rnd.Intn(len(onesided.Mutations))]
				if changed, ok := change.Change(rnd, q.OneSided); !ok || Prove(either.OfOneSided(changed), false, nil) != nil {
					refused++
				} else {
					taken++
					compareMixes(t, p.Title()+", "+change.Name, either.OfOneSided(changed), int64(1+rnd.Intn(300)))
				}
			}
		}
	}
	t.Logf("of changed programs %d are right and %d are not", taken, refused)
	if taken < 10 || refused < 50 {
		t.Error("too few changed programs are right, or wrong")
	}
}

// TestDirectPlaces runs direct programs of bundles on the CPU with all ranks in place, and with none. Both give equal
// outputs. So do programs with a single fault, where Prove takes them.
func TestDirectPlaces(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	taken, refused := 0, 0
	for _, n := range []int{2, 3, 4} {
		for _, p := range direct(t, n).Programs {
			if p.InPlace == 0 || p.Direct == 0 {
				continue
			}
			q, err := program.Decode(p.Title(), p.Source, codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			comparePlaces(t, p.Title(), q, int64(1+rnd.Intn(300)))
			for range irtest.Count(t, 5) {
				change := &onesided.Mutations[rnd.Intn(len(onesided.Mutations))]
				if changed, ok := change.Change(rnd, q.OneSided); !ok || Prove(either.OfOneSided(changed), true, nil) != nil {
					refused++
				} else {
					taken++
					comparePlaces(t, p.Title()+", "+change.Name, either.OfOneSided(changed), int64(1+rnd.Intn(300)))
				}
			}
		}
	}
	t.Logf("of changed programs %d are right and %d are not", taken, refused)
	if taken < 10 || refused < 50 {
		t.Error("too few changed programs are right, or wrong")
	}
}

// comparePlaces runs a program with no rank in place, and with all, and compares the outputs.
func comparePlaces(t *testing.T, name string, p *either.Program, elems int64) {
	t.Helper()
	compareMasks(t, name, p, elems, 1<<p.Coll.Ranks-1)
}

// compareMixes runs a program in all mixes, and compares the outputs.
func compareMixes(t *testing.T, name string, p *either.Program, elems int64) {
	t.Helper()
	compareMasks(t, name, p, elems, 1)
}

// compareMasks compares the outputs of calls in which no rank is in place with those of calls in which the ranks of a
// mask are, for all masks from the first on.
func compareMasks(t *testing.T, name string, p *either.Program, elems int64, first int) {
	t.Helper()
	l, err := executor.Load(p.Called(false), executor.Options{Device: cpu.Device()})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer l.Close()
	want := mix(t, l, p, elems, 0)
	for mask := first; mask < 1<<p.Coll.Ranks; mask++ {
		for rank, got := range mix(t, l, p, elems, mask) {
			if !bytes.Equal(got, want[rank]) {
				t.Errorf("%s with ranks %b in place: rank %d has another output", name, mask, rank)
			}
		}
	}
}

// mix runs a program with the ranks of a mask in place, and returns the outputs.
func mix(t *testing.T, l *executor.Loaded, p *either.Program, elems int64, mask int) [][]byte {
	t.Helper()
	const dtype = data.I32
	geo := data.NewGeometry(p.Called(true).Coll, elems, dtype.Size())
	args := executor.Args{DType: dtype, RedOp: data.Sum, Elems: elems}
	for r := range p.Coll.Ranks {
		in, out, inAt, outAt, all := geo.Buffers(r)
		memory := make([]byte, all*int64(dtype.Size()))
		part := func(at, n int64) []byte { return memory[at*int64(dtype.Size()):][:n*int64(dtype.Size())] }
		input, output := part(inAt, in), part(outAt, out)
		if mask>>r&1 == 0 {
			input, output = bytes.Clone(input), bytes.Clone(output)
		}
		rand.New(rand.NewSource(int64(r))).Read(input)
		args.Input, args.Output = append(args.Input, input), append(args.Output, output)
	}
	if _, err := l.Run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	return args.Output
}

// TestCatalog compiles the catalog for bundles. What is proven for calls in place and out of place is right in all
// mixes.
func TestCatalog(t *testing.T) {
	b, proven := &builder{}, 0
	for _, name := range algorithms.Names() {
		kind, ok := ir.KindByName(path.Dir(name))
		if !ok {
			continue
		}
		for protocol := range ir.NumProtocols {
			_, err := b.compile(programKey{Choice: selection.Choice{Program: name, Protocol: protocol}, kind: kind, ranks: 4})
			if err == nil {
				proven++
			} else if strings.Contains(err.Error(), "reads input") || strings.Contains(err.Error(), "writes input") {
				t.Errorf("%s %v: %v", name, protocol, err)
			}
		}
	}
	t.Logf("%d programs", proven)
	if proven < 150 {
		t.Errorf("only %d programs can be in a bundle", proven)
	}
}
