package compiling

import (
	"errors"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// This file is --sided lowered: two-sided programs, compiled or read, that are lowered to one-sided ones.

// Lowered reports whether two-sided programs are to be lowered.
func (c *Flags) Lowered() bool { return c.Sided == loweredSides && c.Target != "mscclpp" }

// Lower returns p as the flags have it: lowered, where they ask for that.
func (c *Flags) Lower(p *either.Program) (*either.Program, error) {
	if !c.Lowered() {
		return p, nil
	}
	one, err := mscclc.Lower(p, c.Limits.Check.Slots)
	var found diag.List
	if p.OneSided == nil && p.Protocol != ir.Simple && errors.As(err, &found) {
		for i := range found {
			found[i] = found[i].WithHint("take it as it is (--sided two), or lower it in protocol Simple (--protocol Simple)")
		}
	}
	return one, err
}

// Lowering returns what executor.Options.Lower is, or nil.
func (c *Flags) Lowering() func(*either.Program) (*either.Program, error) {
	if !c.Lowered() {
		return nil
	}
	return c.Lower
}

// fitLowered refuses a target whose files hold no one-sided program.
func (c *Flags) fitLowered(target *codegen.Target) error {
	if c.Lowered() && target.Format != codegen.FormatProgram {
		return cli.Usagef("%s has no one-sided programs, which --sided lowered makes", target.Name).
			Hint("give --target program, or -o FILE.mprog")
	}
	return nil
}

// lowerFile lowers the compiled program in s, and proves the result.
func (f *compileFlags) lowerFile(a *cli.App, s *cli.Source) (*either.Program, error) {
	if flag := f.UnfitProgram(s.Kind, "dump", "pipeline", "sizes"); flag != "" {
		return nil, CompiledAlready(s.Name, flag)
	}
	p, err := ReadProgram(s, f.Limits.Read)
	if err == nil {
		p, err = f.Called(s, p)
	}
	if err == nil {
		p, err = f.Lower(p)
	}
	if err != nil {
		return nil, err
	}
	noteNoResult(a, s.Name, p)
	check := f.Limits.Check
	if check.Nodes, err = f.Nodes.Of(p.Coll.Ranks); err != nil {
		return nil, err
	}
	_, found := verify.Check(p, check)
	return p, found.Err()
}
