package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/text"
	"mscclc/passes/core"
	"mscclc/passes/fifo"
)

// A passRow is a pass of either lowering.
type passRow struct {
	name, doc string
	required  bool
	gives     string
}

// passTable lists the passes that make one-sided or two-sided programs, in their order.
func passTable(oneSided bool) (rows []passRow) {
	if oneSided {
		for _, p := range core.Table {
			rows = append(rows, passRow{p.Name, p.Doc, p.Required, p.Gives.String()})
		}
		return rows
	}
	for _, p := range fifo.Table {
		rows = append(rows, passRow{p.Name, p.Doc, p.Required, p.Gives.String()})
	}
	return rows
}

func passNames(oneSided bool) (names []string) {
	for _, p := range passTable(oneSided) {
		names = append(names, p.name)
	}
	return names
}

// passDoc says what the pass of a name does.
func passDoc(oneSided bool, name string) string {
	for _, p := range passTable(oneSided) {
		if p.name == name {
			return p.doc
		}
	}
	return ""
}

// passesOff returns the names of the passes that flags turn off, beside those that -O0 does.
func (c *compiling) passesOff() (map[string]bool, error) {
	off := map[string]bool{}
	if c.optimise != 0 && c.optimise != 1 {
		return nil, cli.Usagef("-O takes 0 or 1")
	}
	if !c.fuse {
		off["fuse"] = true
	}
	table := passTable(c.oneSided())
	for _, o := range c.passes {
		name, value, _ := strings.Cut(o, "=")
		i := slices.IndexFunc(table, func(p passRow) bool { return p.name == name })
		switch {
		case i < 0:
			return nil, cli.Unknown("pass", name, passNames(c.oneSided()))
		case value != "off" && value != "on":
			return nil, cli.Usagef("--opt takes PASS=off or PASS=on, not %q", o)
		case value == "off" && table[i].required:
			return nil, cli.Usagef("pass %s cannot be turned off", name)
		case name == "fuse" && value == "on" && !c.fuse:
			return nil, cli.Usagef("--fuse=false and --opt %s contradict each other", o)
		case value == "off":
			off[name] = true
		default:
			delete(off, name)
		}
	}
	return off, nil
}

// passOptions sets which passes run.
func (c *compiling) passOptions(opt *mscclc.Options) error {
	off, err := c.passesOff()
	if err != nil {
		return err
	}
	opt.Passes = fifo.Options{Instances: c.instances}
	if c.oneSided() {
		opt.Core = core.Options{Level0: c.optimise == 0, Off: off}
	} else {
		opt.Passes.Level0, opt.Passes.Off = c.optimise == 0, off
	}
	return nil
}

// leaves returns an error unless there is a pass of a name, and it runs. Flag is what asks for what it leaves.
func (c *compiling) leaves(flag, name string) error {
	off, err := c.passesOff()
	if err != nil {
		return err
	}
	for _, p := range passTable(c.oneSided()) {
		if p.name == name && !p.required && (c.optimise == 0 || off[name]) {
			return cli.Usagef("pass %s is turned off, and leaves nothing for %s", name, flag)
		}
	}
	return nil
}

// afterPass writes what the pass of --after leaves of an algorithm.
func (f *showFlags) afterPass(w io.Writer, name string, src []byte, opt *mscclc.Options) (*ir.Program, error) {
	if names := passNames(f.oneSided()); !slices.Contains(names, f.after) {
		return nil, cli.Unknown("pass", f.after, names)
	}
	if err := f.leaves("--after", f.after); err != nil {
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

func passesHelp() string {
	rows := func(oneSided bool) string {
		rows := []string{"PASS\tWHAT IT DOES\tGIVES"}
		for _, p := range passTable(oneSided) {
			if p.required {
				p.name += " *"
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%v", p.name, p.doc, p.gives))
		}
		return table(rows...)
	}
	return `The passes in their order. A star marks a required pass. --opt PASS=off turns off another one, and -O0 all
others.

mscclc show FILE --after PASS prints what a pass leaves, and mscclc compile FILE --dump all writes it for every pass.

Two-sided programs, of sends and receives (--sided two):

` + rows(false) + `

One-sided programs, of moves, signals and waits (--sided one, --target mscclpp):

` + rows(true) + `

Every compilation ends with a proof of the program, whichever passes ran.`
}
