package compiling

import (
	"slices"
	"strings"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/passes/core"
	"mscclc/passes/fifo"
)

// A Pass is a pass of either lowering.
type Pass struct {
	Name, Doc string
	Required  bool
	Across    bool // required of programs for several nodes
	Gives     string
}

// Passes lists the passes that make one-sided or two-sided programs, in their order.
func Passes(oneSided bool) (rows []Pass) {
	if oneSided {
		for _, p := range core.Table {
			rows = append(rows, Pass{p.Name, p.Doc, p.Required, p.Across, p.Gives.String()})
		}
		return rows
	}
	for _, p := range fifo.Table {
		rows = append(rows, Pass{p.Name, p.Doc, p.Required, false, p.Gives.String()})
	}
	return rows
}

// PassNames returns the names of Passes.
func PassNames(oneSided bool) (names []string) {
	for _, p := range Passes(oneSided) {
		names = append(names, p.Name)
	}
	return names
}

// NoPass is the error of a name that no pass of the lowering has which is asked for.
func (c *Flags) NoPass(name string) error {
	one := c.OneSided()
	if other := map[bool]string{true: "two", false: "one"}[one]; slices.Contains(PassNames(!one), name) {
		return cli.Usagef("pass %s is one of the %s-sided lowering", name, other).
			Hint("--sided %s asks for that; mscclc help passes lists the passes of both", other)
	}
	return cli.Unknown("pass", name, PassNames(one))
}

// PassDoc says what the pass of a name does.
func PassDoc(oneSided bool, name string) string {
	for _, p := range Passes(oneSided) {
		if p.Name == name {
			return p.Doc
		}
	}
	return ""
}

// passesOff returns the names of the passes that flags turn off, beside those that -O0 does.
func (c *Flags) passesOff() (map[string]bool, error) {
	off := map[string]bool{}
	if c.optimise != 0 && c.optimise != 1 {
		return nil, cli.Usagef("-O takes 0 or 1")
	}
	if !c.fuse {
		off["fuse"] = true
	}
	table := Passes(c.OneSided())
	for _, o := range c.passes {
		name, value, _ := strings.Cut(o, "=")
		i := slices.IndexFunc(table, func(p Pass) bool { return p.Name == name })
		switch {
		case i < 0:
			return nil, c.NoPass(name)
		case value != "off" && value != "on":
			return nil, cli.Usagef("--opt takes PASS=off or PASS=on, not %q", o)
		case value == "off" && table[i].Required:
			return nil, cli.Usagef("pass %s cannot be turned off", name)
		case value == "off" && table[i].Across && c.Nodes.Several():
			return nil, cli.Usagef("pass %s cannot be turned off with --nodes", name).Hint(
				"what no rank reads must not go to another node, where it would need a signal")
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
func (c *Flags) passOptions(opt *mscclc.Options) error {
	off, err := c.passesOff()
	if err != nil {
		return err
	}
	if c.lanes > 1 && (c.optimise == 0 || off["assign"]) {
		return cli.Usagef("--lanes has no effect without pass assign: leave out --lanes, or %s", c.offBy("assign"))
	}
	opt.Passes = fifo.Options{Instances: c.instances}
	if c.OneSided() {
		opt.Core = core.Options{Staged: c.staged, Lanes: c.lanes, Copies: c.copies, Together: c.together,
			Level0: c.optimise == 0, Off: off}
	} else {
		opt.Passes.Level0, opt.Passes.Off = c.optimise == 0, off
	}
	return nil
}

// offBy returns the flag that turns a pass off.
func (c *Flags) offBy(pass string) string {
	if c.optimise == 0 {
		return "-O0"
	}
	return "--opt " + pass + "=off"
}

// Leaves returns an error unless there is a pass of a name, and it runs. Flag is what asks for what it leaves.
func (c *Flags) Leaves(flag, name string) error {
	off, err := c.passesOff()
	if err != nil {
		return err
	}
	for _, p := range Passes(c.OneSided()) {
		if p.Name == name && !p.Required && !(p.Across && c.Nodes.Several()) && (c.optimise == 0 || off[name]) {
			return cli.Usagef("pass %s is turned off, and leaves nothing for %s", name, flag)
		}
	}
	return nil
}
