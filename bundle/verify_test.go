package bundle

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// TestVerify reads and proves bundles that Build made.
func TestVerify(t *testing.T) {
	for _, n := range []int{2, 3, 4, 8} {
		b := ladder(t, n)
		text := Encode(b)
		got, machine, err := Verify("x.bundle", text)
		if err != nil {
			t.Fatal(err)
		}
		if machine != 0 || len(got.Programs) != len(b.Programs) || !bytes.Equal(Encode(got), text) {
			t.Errorf("%d ranks: read other things than written", n)
		}
	}
}

// find returns the first program of a collective in a protocol.
func find(b *Bundle, kind ir.Kind, protocol ir.Protocol) (int, *Program) {
	i := slices.IndexFunc(b.Programs, func(p *Program) bool {
		return p.Kind == uint32(kind) && p.Protocol == uint32(protocol)
	})
	return i, b.Programs[i]
}

// differing returns an AllReduce whose ranks end with different bits, as the tables of a program of b.
func differing(t *testing.T) *made {
	key := programKey{Choice: selection.Choice{Program: "allreduce/allpairs_onestep"}, kind: ir.AllReduce, ranks: 4}
	tree, err := choose.CatalogTree(key.Program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := compileAs(key, &choose.Own{File: key.Program + ".mscl", Tree: tree}, false, true)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tabulate(p, key)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faults are single faults in a bundle of 4 ranks, with a part of what Verify says.
var faults = []struct {
	name, want string
	spoil      func(t *testing.T, b *Bundle)
}{
	{"an operand's index", "index 1 does not fit", func(_ *testing.T, b *Bundle) {
		_, p := find(b, ir.AllGather, ir.LL)
		p.Parts[0].Operands[0].Index++
	}},
	{"step", "its tables are not", func(_ *testing.T, b *Bundle) {
		_, p := find(b, ir.AllReduce, ir.Simple)
		p.Parts[1].Steps[2].Count++
	}},
	{"operand", "its tables are not", func(_ *testing.T, b *Bundle) {
		_, p := find(b, ir.AllGather, ir.LL)
		p.Parts[0].Operands[0].Via++
	}},
	{"operand out of range", "operand 0 is of rank 4", func(_ *testing.T, b *Bundle) {
		_, p := find(b, ir.AllGather, ir.LL)
		p.Parts[0].Operands[0].Rank = 4
	}},
	{"steps out of range", "its tables do not follow", func(_ *testing.T, b *Bundle) {
		_, p := find(b, ir.AllGather, ir.LL)
		p.Parts[0].Blocks[0].Steps++
	}},
	{"overlap", "in the memory of the program before it", func(_ *testing.T, b *Bundle) {
		p, q := b.Programs[0], b.Programs[1]
		n := q.EndAt - q.ScratchAt
		q.PacketsAt -= q.ScratchAt - p.ScratchAt
		q.FlagsAt -= q.ScratchAt - p.ScratchAt
		q.ScratchAt = p.ScratchAt
		q.EndAt = q.ScratchAt + n
	}},
	{"too little memory", "needs more memory", func(_ *testing.T, b *Bundle) { b.Programs[2].FlagsAt -= limits.PartAlign }},
	{"outside the arena", "needs more memory", func(_ *testing.T, b *Bundle) { b.Sets[0].Arena -= limits.PartAlign }},
	{"arena", "are the most", func(_ *testing.T, b *Bundle) { b.Sets[0].Arena = limits.Arena + 1 }},
	{"tile", "needs more memory", func(_ *testing.T, b *Bundle) { b.Programs[0].Tile *= 2 }},
	{"replicas of a program", "needs more memory", func(_ *testing.T, b *Bundle) { b.Programs[0].Replicas++ }},
	{"replicas of a rule", "has memory for", func(_ *testing.T, b *Bundle) { b.Sets[0].Rules[0].Replicas = 33 }},
	{"a tile that is too short", "other memory than its rules need", func(_ *testing.T, b *Bundle) {
		b.Programs[0].Tile -= 16
	}},
	{"a gap", "other memory than its rules need", func(_ *testing.T, b *Bundle) {
		i := len(b.Programs) - 1
		b.Programs[i].EndAt += limits.PartAlign
		b.Sets[0].Arena += limits.PartAlign
	}},
	{"a larger arena", "its arena has", func(_ *testing.T, b *Bundle) { b.Sets[0].Arena += limits.PartAlign }},
	{"CTAs", "have up to 32 CTAs", func(_ *testing.T, b *Bundle) { b.Sets[0].CTAs = 31 }},
	{"rule of another collective", "it is for allgather, and", func(_ *testing.T, b *Bundle) {
		n, _ := find(b, ir.AllReduce, ir.Simple)
		i := slices.IndexFunc(b.Sets[0].Rules, func(r RuleRow) bool { return r.Kind == uint8(ir.AllGather) })
		b.Sets[0].Rules[i].Program = uint32(n)
	}},
	{"rule of another root", "it is for root 2, and", func(_ *testing.T, b *Bundle) {
		i := slices.IndexFunc(b.Sets[0].Rules, func(r RuleRow) bool { return r.Root == 1 })
		b.Sets[0].Rules[i].Root = 2
	}},
	{"rule of a missing program", "does not have program 999", func(_ *testing.T, b *Bundle) {
		b.Sets[0].Rules[0].Program = 999
	}},
	{"launches", "no launches are 0x4", func(_ *testing.T, b *Bundle) { b.Sets[0].Rules[0].When = WhenWindows }},
	{"type", "type 12", func(_ *testing.T, b *Bundle) { b.Sets[0].Rules[0].DType = 12 }},
	{"threads", "1056 threads", func(_ *testing.T, b *Bundle) { b.Sets[0].Rules[0].Threads = 1056 }},
	{"image of another type", "do not reduce and move f32", func(_ *testing.T, b *Bundle) { b.Sets[0].Image[2] = 0 }},
	{"image of this build", "is not the kernel of this mscclc", func(_ *testing.T, b *Bundle) {
		b.Images[0].Code = append([]byte("\n"), b.Images[0].Code...)
	}},
	{"kernels", "other kernels", func(_ *testing.T, b *Bundle) { b.ABI[3]++ }},
	{"source positions", "source positions are not", func(_ *testing.T, b *Bundle) {
		b.Programs[0].Where = append([]byte("x"), b.Programs[0].Where...)
	}},
	{"lines of source positions", "source positions", func(_ *testing.T, b *Bundle) {
		b.Programs[0].Where = append([]byte("x:1\n"), b.Programs[0].Where...)
	}},
	{"another program's file", "its program file is for", func(_ *testing.T, b *Bundle) {
		b.Programs[0].Source = b.Programs[len(b.Programs)-1].Source
	}},
	{"order of sums", "ranks end with different bits", func(t *testing.T, b *Bundle) {
		_, p := find(b, ir.AllReduce, ir.Simple)
		m := differing(t)
		m.Bitwise, m.Replicas, m.Tile = 1, p.Replicas, p.Tile
		m.ScratchAt, m.PacketsAt, m.FlagsAt, m.EndAt = p.ScratchAt, p.PacketsAt, p.FlagsAt, p.EndAt
		*p = m.Program
	}},
	{"order of sums, said", "ranks end with different bits", func(_ *testing.T, b *Bundle) { b.Programs[0].Bitwise = 0 }},
	{"bytes after a program", "sections are not in order", nil},
	{"a program that no rule has", "no set has program", func(_ *testing.T, b *Bundle) {
		b.Sets[0].Programs = b.Sets[0].Programs[:len(b.Sets[0].Programs)-1]
		i := len(b.Programs) - 1
		for k := range b.Sets[0].Rules {
			if r := &b.Sets[0].Rules[k]; r.Program == uint32(i) {
				r.Program, r.Replicas, r.Threads, r.Tile = NCCLRow, 0, 0, 0
			}
		}
	}},
}

// TestFaults holds that Verify finds single faults, each in a bundle whose hashes are right.
func TestFaults(t *testing.T) {
	good := Encode(ladder(t, 4))
	for _, f := range faults {
		b, err := Decode("x", bytes.Clone(good))
		if err != nil {
			t.Fatal(err)
		}
		if f.spoil != nil {
			f.spoil(t, b)
		}
		text := Encode(b)
		if f.spoil == nil {
			h, parts, err := sections(text)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(parts, func(p part) bool { return p.kind == sectionProgram })
			parts[i].bytes = append(parts[i].bytes, 0)
			text = assemble(h.ABI, parts)
		}
		_, _, err = Verify("x.bundle", text)
		var list diag.List
		if !errors.As(err, &list) || !strings.Contains(list.Error(), f.want) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}
