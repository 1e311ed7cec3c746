package slots_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
	"mscclc/passes/fifo"
	"mscclc/passes/passestest"
	"mscclc/passes/slots"
)

// TestCatalog holds that the catalog's two-sided programs are proven when they are lowered, and run right: in place and
// out of place, of odd sizes, with all types and reductions in turns.
func TestCatalog(t *testing.T) {
	lowered := 0
	for _, file := range passestest.Catalog(t) {
		for k, shape := range []string{"4 2 2", "6 3 2", "8 2 4"} {
			for _, inplace := range []bool{false, true} {
				c := file.Expand(t, shape, inplace)
				if c == nil {
					continue
				}
				c.Protocol = ir.Simple
				d, err := fifo.Lower(c, fifo.Options{Instances: 1 + k%2})
				if err == nil {
					err = fifo.Run(d, fifo.Options{})
				}
				if err != nil {
					continue // hints that do not fit
				}
				p, err := codegen.Assemble(d)
				if err != nil {
					t.Fatal(err)
				}
				lowered++
				g := proven(t, file.Name, either.OfFifo(p))
				bytes := []int64{4, 4099, 100_003}[k]
				call(t, g, bytes, data.DType(lowered)%data.NumDTypes, data.RedOp(lowered/2)%data.NumRedOps)
			}
		}
	}
	if t.Logf("%d programs are proven and right", lowered); lowered < 100 {
		t.Error("there are more")
	}
}

// proven lowers p, and returns the result, which must be proven and staged.
func proven(t *testing.T, name string, p *either.Program) *either.Program {
	t.Helper()
	g, err := slots.Lower(p.Fifo, slots.Options{})
	if err != nil {
		t.Fatal(name, err)
	}
	if _, found := verify.Check(either.OfOneSided(g), verify.Options{}); len(found) > 0 {
		t.Fatal(name, found)
	}
	if !g.Staged() {
		t.Fatal(name, "is not staged")
	}
	return either.OfOneSided(g)
}

// call runs p on a number of bytes, and compares every element.
func call(t *testing.T, p *either.Program, bytes int64, dtype data.DType, op data.RedOp) {
	t.Helper()
	if !p.Coll.Reduces() {
		op = data.Sum
	}
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
	if err != nil {
		t.Fatal(p.Name, err)
	}
	defer l.Close()
	elems := data.PieceElems(p.Coll, bytes, dtype)
	if l.Even() {
		elems -= elems % int64(max(p.Coll.Chunks, 1))
	}
	b := data.New(data.NewGeometry(p.Coll, elems, dtype.Size()), dtype, op, 1)
	args := executor.DataArgs(b)
	args.Wait = time.Minute
	if op == data.Avg && l.Prove(args) != nil { // avg is not to be had of every program
		return
	}
	if _, err := l.Run(t.Context(), args); err != nil {
		t.Fatal(p.Name, err)
	}
	if report := b.Check(); report.Err() != nil {
		t.Fatal(p.Name, dtype, op, report.Err())
	}
}

// TestXML holds that XML files of other compilers get the same verdict lowered, with messages that hold what a step
// sends, and that those that are proven run right.
func TestXML(t *testing.T) {
	var right, rejected, packets int
	for _, name := range irtest.Files(t, irtest.XML) {
		p, err := mscclc.ReadFile(name, codegen.ReadOptions{})
		if err != nil || len(p.Steps) > 20_000 {
			continue
		}
		if p.Protocol != ir.Simple {
			packets++
			p.Protocol = ir.Simple
		}
		_, two := verify.Check(p, verify.Options{MessageChunks: ir.WholeSteps})
		g, err := slots.Lower(p.Fifo, slots.Options{})
		one := err != nil
		if err == nil {
			_, found := verify.Check(either.OfOneSided(g), verify.Options{})
			one = len(found) > 0
		}
		if one != (len(two) > 0) {
			t.Errorf("%s: two-sided says %v, lowered %v", filepath.Base(name), two, one)
		}
		if one {
			rejected++
			continue
		}
		right++
		if p.Coll.Kind != ir.Opaque && !g.ModifiesInput() {
			call(t, either.OfOneSided(g), 30_000, data.I32, data.Sum)
		}
	}
	t.Logf("%d files are proven and right, %d rejected; %d of them were for packets", right, rejected, packets)
}

// TestLarge holds that programs with scratch of their own run calls of 16 MiB and more, and long messages, whose tiles
// are shorter.
func TestLarge(t *testing.T) {
	two := passestest.Catalog(t)
	k := slices.IndexFunc(two, func(f passestest.File) bool { return f.Name == "alltoall/two_step" })
	c := two[k].Expand(t, "4 2 2", false)
	c.Protocol = ir.Simple
	d, err := fifo.Lower(c, fifo.Options{})
	if err == nil {
		err = fifo.Run(d, fifo.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := codegen.Assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	if p.ScratchOf(0) == 0 {
		t.Fatal("it has no scratch")
	}
	call(t, proven(t, "alltoall/two_step", either.OfFifo(p)), 17<<20, data.F32, data.Sum)

	long := irtest.Program(t, `program long
collective sendrecv ranks=2 chunks=40 peer=1,0
block 0.0 send 1 recv 1 ch 0
  0 s input[0]*40
  1 r output[0]*40
block 1.0 send 0 recv 0 ch 0
  0 s input[0]*40
  1 r output[0]*40
`)
	g := proven(t, "long", long)
	l, err := executor.Load(g, executor.Options{Device: cpu.Device()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if tile := l.Image().One.Tile; tile*40 > ir.Simple.SlotBytes() || tile < 1<<10 {
		t.Errorf("the tile of messages of 40 chunks is %d bytes", tile)
	}
	call(t, g, 20<<20, data.U8, data.Sum)
}
