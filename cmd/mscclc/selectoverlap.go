package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// overlaps looks at all files in the folder, as rccl does: those for the same calls of the same sizes, of which it takes the one that it
// happens to find first, and those that are no programs, with which it does not start.
func (e *emission) overlaps() ([]string, error) {
	entries, err := os.ReadDir(e.flags.emit)
	if err != nil {
		return nil, err
	}
	found := []string{}
	type file struct {
		name string
		prog *ir.Program
	}
	var files []file
	for _, at := range entries {
		if !at.Type().IsRegular() {
			continue
		}
		if len(found) >= diag.Shown {
			break
		}
		p, err := e.read(filepath.Join(e.flags.emit, at.Name()))
		if err != nil {
			found = append(found, fmt.Sprintf("%s is no program, and rccl does not start with it", at.Name()))
			continue
		}
		for _, o := range files {
			if from, to, both := common(p, o.prog); both {
				found = append(found, fmt.Sprintf("from %s to %s: %s and %s, of which rccl takes the one that it finds first", roughSize(from), to, o.name, at.Name()))
			}
		}
		files = append(files, file{at.Name(), p})
	}
	return found, nil
}

func (e *emission) read(path string) (*ir.Program, error) {
	text, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return codegen.ReadMSCCL(path, text, codegen.ReadOptions{Target: e.selector.Target})
}

// common are the sizes that two programs are for, if they are for the same calls.
func common(a, b *ir.Program) (from int64, to string, both bool) {
	placed := func(p *ir.Program) []bool {
		if !p.InPlace && !p.OutOfPlace {
			return []bool{p.Coll.Inplace}
		}
		var list []bool
		if p.InPlace {
			list = append(list, true)
		}
		if p.OutOfPlace {
			list = append(list, false)
		}
		return list
	}
	if a.Coll.Kind != b.Coll.Kind || a.Coll.Ranks != b.Coll.Ranks || !slices.ContainsFunc(placed(a), func(in bool) bool { return slices.Contains(placed(b), in) }) {
		return 0, "", false
	}
	end := func(p *ir.Program) int64 {
		if p.Sizes.Max == 0 {
			return 1<<63 - 1
		}
		return p.Sizes.Max
	}
	from, last := max(a.Sizes.Min, b.Sizes.Min), min(end(a), end(b))
	if to = "any size"; last < 1<<63-1 {
		to = roughSize(last)
	}
	return from, to, from < last
}
