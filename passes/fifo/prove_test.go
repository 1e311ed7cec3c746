package fifo

import (
	"testing"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/property"
	"mscclc/ir/verify"
	"mscclc/passes/passestest"
)

// frozen returns the program that d, which has been ordered, would become now.
// Before sync has chosen flags, every dependence on another block is one:
// codegen writes nops for all but the last of an instruction.
func frozen(d *ir.InstDAG, have property.Property) (*fifo.Program, error) {
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
	_, found := verify.Check(either.OfFifo(p), opt)
	return found.Err()
}

// TestCatalog takes every program of the catalog and of the examples through
// the table, and asks after every pass for each property, and from order on for
// a proof of the program.
func TestCatalog(t *testing.T) {
	compiled := 0
	for _, file := range passestest.Catalog(t) {
		t.Run(file.Name, func(t *testing.T) {
			for k, shape := range []string{"4 2 2", "6 3 2", "8 2 4"} {
				for _, inplace := range []bool{false, true} {
					c := file.Expand(t, shape, inplace)
					if c == nil || len(c.Then) > 0 { // an epilogue is for one-sided programs
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
