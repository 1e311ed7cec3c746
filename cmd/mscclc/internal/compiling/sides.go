package compiling

import (
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/passes/core"

	"github.com/spf13/pflag"
)

// This file says which lowering is asked for: the one-sided one, unless --sided, the target or a flag says another.

// SideNames are the lowerings that --sided names.
var SideNames = []string{"one", "two", loweredSides}

// loweredSides asks for the two-sided lowering, and for what that is lowered to.
const loweredSides = "lowered"

// twoSidedOnly are the flags about connections, which only two-sided programs have.
var twoSidedOnly = []string{"instances", "fused-receives", "slots"}

// OneSided reports whether the one-sided lowering is asked for.
func (c *Flags) OneSided() bool {
	switch {
	case c.Target == "mscclpp": // which has no other
		return true
	case c.Sided != "":
		return c.Sided == "one"
	}
	return c.impliesTwo() == ""
}

// OneSidedBy reports whether the flags of a command that are given so far ask for the one-sided lowering.
func OneSidedBy(given *pflag.FlagSet) bool {
	c := Flags{Given: given}
	for name, value := range map[string]*string{"sided": &c.Sided, "target": &c.Target} {
		if f := given.Lookup(name); f != nil {
			*value = f.Value.String()
		}
	}
	return c.OneSided()
}

// impliesTwo names what is only for two-sided programs: a target of XML, a flag, or what TwoSidedFor says; or it is "".
func (c *Flags) impliesTwo() string {
	if t, err := codegen.TargetByName(c.Target); err == nil && t.Format == codegen.FormatXML {
		return "--target " + t.Name
	}
	if c.TwoSidedFor != "" {
		return c.TwoSidedFor
	}
	return c.OneGiven(twoSidedOnly...)
}

// fitSides refuses flags that the lowering which is asked for has no use for.
func (c *Flags) fitSides() error {
	plus := c.Target == "mscclpp"
	if plus && c.Sided == "two" {
		return cli.Usagef("plans of MSCCL++ are one-sided: give --sided one, or leave it out")
	}
	if c.staged && !c.OneSided() {
		return c.onlyOneSided("--staged")
	}
	if err := c.fitLanes(); err != nil {
		return err
	}
	only := slices.DeleteFunc(slices.Clone(twoSidedOnly), func(flag string) bool { return plus && flag == "instances" })
	flag := c.OneGiven(only...)
	switch {
	case flag == "" || !c.OneSided():
		return nil
	case plus:
		return cli.Usagef("%s is for the two-sided lowering, which makes sends and receives: plans of MSCCL++ have none", flag)
	}
	return cli.Usagef("%s is for the two-sided lowering, which makes sends and receives: give --sided two, or leave it out",
		flag)
}

// fitLanes refuses numbers of lanes that there are not, and lanes where programs have none.
func (c *Flags) fitLanes() error {
	switch {
	case c.lanes < 1 || c.lanes > core.MostLanes:
		return cli.Usagef("--lanes takes a number from 1 to %d, not %d", core.MostLanes, c.lanes)
	case c.lanes > 1 && c.Target == "mscclpp":
		return cli.Usagef("--lanes is for programs that mscclc's executor runs: a rank has one lane in plans of MSCCL++")
	case c.lanes > 1 && !c.OneSided():
		return c.onlyOneSided("--lanes")
	case c.copies != 0 && (c.copies < 2 || c.copies > core.MostCopies):
		return cli.Usagef("--copies takes a number from 2 to %d, not %d", core.MostCopies, c.copies)
	case c.copies != 0 && c.lanes == 1:
		return cli.Usagef("--copies is for several lanes: give --lanes")
	case c.OneGiven("together") != "" && !ir.MayShare(c.together):
		return cli.Usagef("--together takes 2 or %d, not %d", ir.MostTogether, c.together)
	case c.together != 0 && c.lanes == 1:
		return cli.Usagef("--together is for several lanes: give --lanes")
	}
	return nil
}

// onlyOneSided is the error of a flag of one-sided programs where two-sided ones are asked for.
func (c *Flags) onlyOneSided(flag string) error {
	asks := c.impliesTwo()
	if c.Sided != "" {
		asks = "--sided " + c.Sided
	}
	err := cli.Usagef("%s is for the one-sided lowering, and %s asks for the two-sided one: leave one of them out", flag, asks)
	if c.Given.Lookup("target") != nil && asks == "--target "+c.Target && !c.Given.Changed("target") {
		return err.Hint("%s is the default here: --target program, or -o FILE.mprog, takes one-sided programs", asks)
	}
	return err
}
