package verifycmd

import (
	"fmt"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// problemCount says how many problems there are, and of which codes.
func problemCount(found diag.List) string {
	text := diag.Counted(len(found), "problem")
	if len(found) == diag.Shown {
		text += " or more" // the readers stop there
	}
	var codes []string
	seen := map[diag.Code]bool{}
	for _, d := range found {
		if !seen[d.Code] {
			seen[d.Code] = true
			codes = append(codes, string(d.Code))
		}
	}
	return text + ": " + cli.List(codes)
}

// overNodes says for which nodes a program is proven, or "" for one.
func overNodes(nodes cli.Nodes) string {
	switch {
	case !nodes.Several():
		return ""
	case strings.Contains(string(nodes), ","):
		return fmt.Sprintf("; over nodes of %s ranks", nodes)
	}
	return fmt.Sprintf("; over %s nodes", nodes)
}

// proofLine says in a line what is proven of p.
func proofLine(p *ir.Program) string {
	name := cli.Title(p)
	if p.Coll.Kind == ir.Opaque {
		name += ", whose file states no result"
	}
	if p.InPlace && p.OutOfPlace {
		name += ", in place and out of place"
	}
	return fmt.Sprintf("proven: %s, %s; %s", compiling.Extent(p), sizing.Text(p.Sizes), name)
}
