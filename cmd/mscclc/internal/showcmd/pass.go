package showcmd

import (
	"bytes"
	"io"
	"slices"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/passes/core"
)

// afterPass writes what the pass of --after leaves of an algorithm.
func (f *showFlags) afterPass(w io.Writer, name string, src []byte, opt *mscclc.Options) (*either.Program, error) {
	if !slices.Contains(compiling.PassNames(f.OneSided()), f.after) {
		return nil, f.NoPass(f.after)
	}
	if err := f.Leaves("--after", f.after); err != nil {
		return nil, err
	}
	var left bytes.Buffer // what the last run of the pass leaves
	dump := func(pass string, write func() error) error {
		if pass != f.after {
			return nil
		}
		left.Reset()
		return write()
	}
	opt.Passes.Dump = func(pass string, d *ir.InstDAG) error {
		return dump(pass, func() error {
			if !f.positions {
				d = text.BareInsts(d)
			}
			return text.WriteInsts(&left, d)
		})
	}
	opt.Core.Dump = func(pass string, s *core.State) error {
		return dump(pass, func() error { return s.WriteText(&left, f.positions) })
	}
	opt.Stage = func(value any) error {
		if _, ok := value.(*ir.ChannelProgram); ok {
			return cli.Usagef("%s says itself which thread block does what: no passes run", name)
		}
		return nil
	}
	p, err := mscclc.Compile(name, src, *opt)
	if err == nil {
		_, err = left.WriteTo(w)
	}
	return p, err
}
