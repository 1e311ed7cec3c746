package selectcmd

import (
	"maps"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file is select among files alone: programs of one custom collective, which the catalog has nothing for.

// custom is the name of what files alone are selected for.
var custom = ir.Custom.String()

// namesFile reports whether arg, which is no collective, names a file, or an algorithm of the catalog.
func namesFile(arg string) bool {
	return cli.Exists(arg) || strings.Contains(arg, "/") && len(cli.AlgorithmsOf(arg)) == 0
}

// collective returns the collective that sizes are measured by. Files of a custom collective must require the same.
func (f *selectFlags) collective(s *choose.Selector) (*ir.Collective, error) {
	if s.Call.Kind != ir.Custom {
		return &ir.Collective{Kind: s.Call.Kind, Ranks: s.Call.Ranks, Chunks: 1, Root: s.Call.Root}, nil
	}
	if f.emit != "" {
		return nil, cli.Usagef("--emit writes what runtimes read for a collective: they have no call for a custom one")
	}
	var first *ir.Collective
	for i := range s.Own {
		c, err := s.Own[i].Collective(s.Call)
		if err != nil {
			return nil, choosing.Unfit(&s.Own[i], err, choosing.RanksOfTopology)
		}
		if first == nil {
			first = c
		} else if !sameRequires(first, c) {
			d := diag.New(diag.Unsupported, cli.FileSpan(s.Own[i].File),
				"the file requires other chunks at the end than %s, or has buffers of other lengths", diag.Printable(s.Own[0].File))
			return nil, diag.List{d.WithHint("files are compared where they do the same: give them equal lines collective and require")}
		}
	}
	return first, nil
}

// sameRequires reports whether two custom collectives have the same buffers and requirements.
func sameRequires(a, b *ir.Collective) bool {
	return a.Ranks == b.Ranks && a.In == b.In && a.Out == b.Out && a.Chunks == b.Chunks && a.Inplace == b.Inplace &&
		slices.Equal(a.PerRank, b.PerRank) && maps.EqualFunc(a.Require, b.Require, slices.Equal[[]ir.Part])
}
