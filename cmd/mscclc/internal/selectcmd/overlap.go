package selectcmd

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// overlaps looks at all files in the folder, as rccl does: those for the same calls of the same sizes, of which it
// takes the one that it happens to find first, and those that it cannot read, which are noted.
func (e *emission) overlaps() ([]string, error) {
	entries, err := os.ReadDir(e.flags.emit)
	if err != nil {
		return nil, err
	}
	found := []string{}
	type file struct {
		name string
		prog *either.Program
	}
	var read []file
	for _, at := range entries {
		if !at.Type().IsRegular() && at.Type() != fs.ModeSymlink {
			continue
		}
		if len(found)+len(e.notes) >= diag.Shown {
			break
		}
		path := filepath.Join(e.flags.emit, at.Name())
		p, err := e.read(path)
		if err != nil {
			e.Note("%s: %s: %s", at.Name(), consequence(path), firstText(err))
			continue
		}
		for _, o := range read {
			if from, to, both := common(p, o.prog); both {
				found = append(found, fmt.Sprintf("from %s to %s: %s and %s, of which rccl takes the one that it finds first",
					diag.RoughSize(from), to, o.name, at.Name()))
			}
		}
		read = append(read, file{at.Name(), p})
	}
	return found, nil
}

// headOfRCCL are the attributes that rccl reads of each file when it starts.
var headOfRCCL = []string{"nchunksperloop", "ngpus", "coll", "minBytes", "maxBytes", "inplace", "outofplace"}

// consequence returns what rccl does with a file that is not as it should be. When it starts it reads the first element
// of each; and all of the one that a call is for.
func consequence(path string) string {
	const starts, calls = "rccl does not start while it is in the folder", "calls that rccl takes it for fail"
	file, err := files.Open(path)
	if err != nil {
		return starts
	}
	defer file.Close()
	text := xml.NewDecoder(io.LimitReader(file, 1<<16))
	for {
		token, err := text.Token()
		if err != nil {
			return starts
		}
		switch t := token.(type) {
		case xml.StartElement:
			for _, name := range headOfRCCL {
				if !slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == name }) {
					return starts
				}
			}
			return calls
		case xml.ProcInst, xml.Directive: // which rccl takes for elements
			return starts
		}
	}
}

// firstText returns what is wrong first.
func firstText(err error) string {
	var found diag.List
	if errors.As(err, &found) && len(found) > 0 {
		return found[0].Text
	}
	return err.Error()
}

func (e *emission) read(path string) (*either.Program, error) {
	text, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	p, err := msccl.Read(path, codegen.LimitFile(path, text, codegen.ReadOptions{}),
		codegen.ReadOptions{Target: e.selector.Target})
	return either.OfFifo(p), err
}

// common returns the sizes that two programs are for, if they are for the same calls.
func common(a, b *either.Program) (from int64, to string, both bool) {
	placed := func(p *either.Program) []bool {
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
	if a.Coll.Kind != b.Coll.Kind || a.Coll.Ranks != b.Coll.Ranks ||
		!slices.ContainsFunc(placed(a), func(in bool) bool { return slices.Contains(placed(b), in) }) {
		return 0, "", false
	}
	end := func(p *either.Program) int64 {
		if p.Sizes.Max == 0 {
			return 1<<63 - 1
		}
		return p.Sizes.Max
	}
	from, last := max(a.Sizes.Min, b.Sizes.Min), min(end(a), end(b))
	if to = "any size"; last < 1<<63-1 {
		to = diag.RoughSize(last)
	}
	return from, to, from < last
}
