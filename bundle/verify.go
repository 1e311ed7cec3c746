package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/kernels"
	"mscclc/selection"
)

// Verify reads a bundle, which messages call name, and proves what is in it anew: it trusts neither who made the bundle
// nor what the bundle says of its programs. Each program is proven for calls in place and out of place, its tables and
// source positions are compared with those made anew, and images of PTX with those of this build. Memory is laid out
// anew and compared. No two programs share memory (Decode). An error is a diag.List.
//
// Programs for several nodes are proven for those. Not proven: whether rules are fast, and images of machine code, of
// which only the hash is checked. Machine is how many images are machine code.
func Verify(name string, b []byte) (out *Bundle, machine int, err error) {
	out, err = Decode(name, b)
	if err != nil {
		return nil, 0, err
	}
	found := diag.List{}
	bad := func(code diag.Code, format string, args ...any) *diag.Diagnostic {
		found = append(found, diag.New(code, diag.FileSpan(name), format, args...))
		return &found[len(found)-1]
	}
	if out.ABI != kernels.Hash() {
		bad(diag.Unsupported, "the bundle is for other kernels than this mscclc has").Hint = "write it anew with mscclc bundle"
		return out, 0, found
	}
	if !json.Valid(out.About) {
		bad(diag.Malformed, "what the bundle says of itself is no JSON")
	}
	nodes := make([]string, len(out.Programs))
	for i := range out.Sets {
		for _, n := range out.Sets[i].Programs {
			nodes[n] = out.Sets[i].Nodes()
		}
	}
	for i, p := range out.Programs {
		if err := p.prove(nodes[i]); err != nil {
			d := bad(diag.Malformed, "program %d, %s on %d ranks: %v", i, titleAt(p), p.Ranks, err)
			var list diag.List
			if errors.As(err, &list) && len(list) > 0 {
				d.Code, d.Hint = list[0].Code, list[0].Hint
				d.Text = diag.Shorten(fmt.Sprintf("program %d, %s on %d ranks: %s", i, titleAt(p), p.Ranks, list[0].Text))
			}
		}
	}
	for i := range out.Sets {
		if err := out.laid(&out.Sets[i]); err != nil {
			bad(diag.Malformed, "the set for %s: %v", out.Sets[i].Title(), err)
		}
	}
	for i := range out.Images {
		m := &out.Images[i]
		if m.Form == FormCubin {
			machine++
			continue
		}
		code, err := kernels.Image(m.Name, fmt.Sprintf("sm_%d", m.Target))
		if err != nil || !bytes.Equal(append(code, 0), m.Code) {
			bad(diag.Malformed, "image %d, %s, is not the kernel of this mscclc", i, m.Name)
		}
	}
	return out, machine, found.Err()
}

// prove reads p's program file, proves the program for ranks that lie on nodes so, and compares all that p says of it.
func (p *Program) prove(nodes string) error {
	q, err := program.Decode(p.Title(), p.Source, codegen.ReadOptions{})
	if err != nil {
		return err
	}
	c := q.Coll
	if c.Kind != p.kind() || c.Ranks != int(p.Ranks) || c.Root != int(p.Root) || q.Protocol != ir.Protocol(p.Protocol) {
		return fmt.Errorf("its program file is for %v of %d ranks with root %d in %v", c.Kind, c.Ranks, c.Root, q.Protocol)
	}
	key := programKey{ranks: c.Ranks, nodes: nodes}
	if p.Direct != 0 {
		key.Placement = selection.Direct
	}
	if p.Named != nil {
		err = proveNamed(q)
	} else {
		err = Prove(q, key.direct(), key.node())
	}
	if err != nil {
		return err
	}
	m, err := tabulate(q, key)
	if err != nil {
		return err
	}
	m.Replicas, m.Tile, m.Name = p.Replicas, p.Tile, p.Name
	m.ScratchAt, m.PacketsAt, m.FlagsAt, m.EndAt = p.ScratchAt, p.PacketsAt, p.FlagsAt, p.EndAt
	switch {
	case m.ProgramRow != p.ProgramRow:
		return fmt.Errorf("its program file has other numbers of chunks, blocks or flags than the bundle says")
	case p.Named != nil && !p.Named.equal(namedOf(p.Named.Name, c)):
		return fmt.Errorf("its buffers are not those of its program file")
	case !bytes.Equal(m.encode(), p.encode()) || p.Net != nil && !bytes.Equal(m.Net.encode(), p.Net.encode()):
		return fmt.Errorf("its tables are not those of its program file")
	case !bytes.Equal(m.Where, p.Where):
		return fmt.Errorf("its source positions are not those of its program file")
	}
	return nil
}
