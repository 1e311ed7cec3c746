package bundle

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/bundle/limits"
	"mscclc/ir"
)

// This file has the names of programs that jobs run by their names, and of the buffers of these programs.
// runtime/src/bundle/named.cc checks the same.

// A Named is what a job knows of a program that it runs by its name. In and Out are the units of each rank's input and
// output: a call has as many elements a unit as it says. Units are pieces, and chunks of a custom collective.
type Named struct {
	Name    string
	In, Out []uint32
}

// The names of the buffers of a program. The language has these two.
var bufferNames = [numBuffers]string{"input", "output"}

// namedOf returns what a job knows of a program of c.
func namedOf(name string, c *ir.Collective) *Named {
	out := &Named{Name: name}
	for r := range c.Ranks {
		in, to := c.Pieces(r)
		if c.Kind == ir.Custom {
			in, to = c.InChunks(r), c.OutChunks(r)
		}
		out.In, out.Out = append(out.In, uint32(in)), append(out.Out, uint32(to))
	}
	return out
}

func (n *Named) equal(o *Named) bool {
	return n.Name == o.Name && slices.Equal(n.In, o.In) && slices.Equal(n.Out, o.Out)
}

// units returns the units of a rank's input or output.
func (n *Named) units(rank uint32, buf ir.Buf) uint32 {
	if buf == ir.Output {
		return n.Out[rank]
	}
	return n.In[rank]
}

func (n *Named) encode() []byte {
	row := namedRow{Buffers: uint32(len(bufferNames))}
	copy(row.Name[:limits.Name], n.Name)
	out := put(nil, row)
	for i, units := range [][]uint32{n.In, n.Out} {
		b := bufferRow{Direction: uint32(directionInput + i)}
		copy(b.Name[:], bufferNames[i])
		copy(b.Units[:], units)
		out = put(out, b)
	}
	return out
}

// decodeNamed reads the names of a program. Decode compares them with what Encode makes of them, so that buffers have
// the names and directions that all have.
func (b *Bundle) decodeNamed(p part) error {
	r, err := row[namedRow](p.bytes)
	if err != nil {
		return err
	}
	if int64(p.number) >= int64(len(b.Programs)) || b.Programs[p.number].Named != nil {
		return fmt.Errorf("it is of program %d, which does not exist or has a name", p.number)
	}
	if err := r.check(); err != nil {
		return err
	}
	list, err := rows[bufferRow](p.bytes, uint64(binary.Size(r)), r.Buffers)
	if err != nil {
		return err
	}
	of := b.Programs[p.number]
	of.Named = &Named{Name: text(r.Name[:]), In: list[0].Units[:of.Ranks:of.Ranks], Out: list[1].Units[:of.Ranks:of.Ranks]}
	return nil
}

// checkCalls refuses a program that is not for all calls of its set's rules, or whose buffers cannot be.
func (p *Program) checkCalls(s *Set) error {
	if p.Named == nil {
		return p.checkRuled()
	}
	if s.Node != nil || p.Direct != 0 {
		return fmt.Errorf("%s has a name, and is for several nodes or reaches buffers of other ranks", p.Named.Name)
	}
	for r := range p.Ranks {
		in, out := p.pieces(r)
		if custom := p.kind() == ir.Custom; custom && max(p.Named.In[r], p.Named.Out[r]) > p.Chunks ||
			!custom && (p.Named.In[r] != in || p.Named.Out[r] != out) {
			return fmt.Errorf("%s has %d and %d units on rank %d", p.Named.Name, p.Named.In[r], p.Named.Out[r], r)
		}
	}
	return nil
}

// checkNamed refuses names that occur twice in a set, and named programs that have not one rule.
func (b *Bundle) checkNamed(s *Set) error {
	seen := map[string]bool{}
	for _, n := range s.Programs {
		p := b.Programs[n]
		if p.Named == nil {
			continue
		}
		rules := 0
		for i := range s.Rules {
			if s.Rules[i].Program == n {
				rules++
			}
		}
		if seen[p.Named.Name] || rules != 1 {
			return fmt.Errorf("there are two programs %s, or %d rules of it", p.Named.Name, rules)
		}
		seen[p.Named.Name] = true
	}
	return nil
}
