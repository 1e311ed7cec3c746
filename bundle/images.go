package bundle

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/kernels"
)

// target is the GPU that images are made for, and all later ones: 80 of sm_80.
const target = 80

// reduced reports whether calls of a type are reduced. Elements of fp8 are moved only.
func reduced(t data.DType) bool { return t != data.E4M3 && t != data.E5M2 }

// Served reports whether kernels for some types run the calls that r is for: its own type where calls are reduced, and
// else one of the same size.
func (r *Rule) Served(types []data.DType) bool {
	return r.Program == "" || r.DType == Any || slices.ContainsFunc(types, func(t data.DType) bool {
		return uint8(t) == r.DType || !r.Kind.Reduces() && t.Size() == data.DType(r.DType).Size()
	})
}

// What names of images begin with: of kernels for ranks of one node, for those of several, and for those of several
// where replicas of some program share CTAs. The last cost short calls about a microsecond.
const oneNode, severalNodes, sharedCTAs = "onesided_", "net_", "together_"

// prefixOf returns what names of images begin with, of a set that has nodes or not, and such programs or not.
func prefixOf(nodes, shares bool) string {
	switch {
	case !nodes:
		return oneNode
	case shares:
		return sharedCTAs
	}
	return severalNodes
}

// imagePrefix returns what names of a set's images begin with.
func (b *Bundle) imagePrefix(s *Set) string {
	shares := slices.ContainsFunc(s.Programs, func(n uint32) bool { return b.Programs[n].Shared() > 1 })
	return prefixOf(s.Node != nil, shares)
}

// prefix returns the prefix of a set.
func (b *builder) prefix(of setKey) string {
	return prefixOf(of.nodes != "", slices.ContainsFunc(b.Rules, func(r Rule) bool {
		if !of.has(&r) {
			return false
		}
		m, _, err := b.rule(r, max(0, r.roots()[0]))
		return err == nil && m != nil && m.Shared() > 1 // set returns the error
	}))
}

// addImages adds the images for all sets.
func (b *builder) addImages() error {
	wanted := map[string]bool{oneNode: true}
	for _, n := range b.Ranks {
		for _, of := range b.sets(n) {
			wanted[b.prefix(of)] = true
		}
	}
	wanted[finishers] = b.then()
	for _, prefix := range []string{oneNode, severalNodes, sharedCTAs, finishers} {
		if !wanted[prefix] {
			continue
		}
		types := b.DTypes
		if prefix == finishers {
			types = slices.DeleteFunc(slices.Clone(types), func(t data.DType) bool { return !abi.FinishesRows(t) })
		}
		images, err := imagesFor(types, prefix)
		if err != nil {
			return err
		}
		b.out.Images = append(b.out.Images, images...)
	}
	return nil
}

// imagesFor returns the images that reduce some types, and one for each size of element that no other of them moves.
func imagesFor(types []data.DType, prefix string) ([]Image, error) {
	var list []Image
	sizes := map[int]bool{}
	for _, first := range []bool{true, false} {
		for _, t := range types {
			if first != reduced(t) || !first && sizes[t.Size()] {
				continue
			}
			sizes[t.Size()] = true
			name := prefix + t.String()
			code, err := kernels.Image(name, fmt.Sprintf("sm_%d", target))
			if err != nil {
				return nil, err
			}
			list = append(list, Image{Form: FormPTX, Target: target, DType: t, Name: name, Code: append(code, 0)})
		}
	}
	return list, nil
}

// imageOf returns the numbers of the images that reduce and that move elements of a type, or none. Their names begin
// with prefix.
func imageOf(images []Image, prefix string, t data.DType) (image, copier uint32) {
	image, copier = none, none
	for i := range images {
		if !strings.HasPrefix(images[i].Name, prefix) {
			continue
		}
		has := images[i].DType
		if has == t && reduced(t) {
			image = uint32(i)
		}
		if copier == none && has.Size() == t.Size() {
			copier = uint32(i)
		}
	}
	return image, copier
}

// dropImages drops the images that reduce, and that nothing moves with, where all programs only move. Where all finish
// rows, it drops all but those that do.
func (b *Bundle) dropImages() {
	if b.finishes() {
		b.Images = slices.DeleteFunc(b.Images, func(i Image) bool { return !strings.HasPrefix(i.Name, finishers) })
		for i := range b.Sets {
			s := &b.Sets[i]
			for t := range s.Image {
				s.Image[t], s.Copier[t] = none, none
			}
			s.Finishers = finishersOf(b.Images)
		}
		return
	}
	if len(b.Programs) == 0 || slices.ContainsFunc(b.Programs, func(p *Program) bool { return p.Copies == 0 }) {
		return
	}
	var kept []Image
	number := map[uint32]uint32{none: none}
	for i := range b.Sets {
		s := &b.Sets[i]
		for t, n := range s.Copier {
			if _, ok := number[n]; !ok {
				number[n] = uint32(len(kept))
				kept = append(kept, b.Images[n])
			}
			s.Image[t], s.Copier[t] = none, number[n]
		}
	}
	b.Images = kept
}

// mebibytes returns a number of bytes as a person reads it.
func mebibytes(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// titleAt names a program, with its root where it has one.
func titleAt(p *Program) string {
	if kind := p.kind(); kind.Rooted() {
		return fmt.Sprintf("%s at root %d", p.Title(), p.Root)
	}
	return p.Title()
}

// Finish replaces the images of PTX by machine code for the GPU that the bundle is for. device is the name of the GPU
// at hand, target is 90 of sm_90, and link makes machine code of PTX, as the driver's linker does. It fails where the
// bundle is for another GPU.
func (b *Bundle) Finish(device string, target int, link func(ptx []byte) ([]byte, error)) error {
	for i := range b.Sets {
		if b.Sets[i].Device != device {
			return diag.List{diag.New(diag.Unavailable, diag.Span{}, "the GPU here is %q, and the bundle is for %q", device,
				b.Sets[i].Device).WithHint("finish it on a machine with that GPU, or give its name as --device")}
		}
	}
	for i := range b.Images {
		m := &b.Images[i]
		if m.Form != FormPTX {
			continue
		}
		code, err := link(m.Code)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		m.Form, m.Target, m.Code = FormCubin, target, code
	}
	return nil
}
