package main

import (
	"fmt"
	"slices"
	"strings"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"

	"github.com/spf13/pflag"
)

// A compiling holds the flags of every command that compiles.
type compiling struct {
	params       []string
	ranksSetting string // of --ranks: ranks=N, or nothing
	protocol     string
	sizes        *ir.SizeRange // of --sizes, or nil
	declared     ir.SizeRange  // by the file that was compiled, or by --sizes
	instances    int
	inplace      optionalBool
	target       string
	sided        string // one or two
	via          ir.Via // what a table asks for
	optimise     int
	passes       []string
	fuse         bool
	receives     optionalBool
	cli.Reading
	unproven bool               // leave the proof to the caller
	channels *ir.ChannelProgram // what was compiled, where it says itself which thread block does what
	bytes    int64              // of the calls that loops of channels are unrolled for, or 0
	given    *pflag.FlagSet
}

func (c *compiling) Flags(f *pflag.FlagSet, target string) {
	c.given = f
	f.StringArrayVarP(&c.params, "param", "p", nil, "set a parameter of the algorithm: `NAME=VALUE`")
	cli.WordFlag(f, &c.protocol, "protocol", "", "",
		"flag data on the wire by `P`: Simple, LL, LL16 or LL128, instead of what the file says", ir.ProtocolNames())
	f.IntVar(&c.instances, "instances", 1,
		"do everything in `N` parts, on channels of their own (--sided two, and --target mscclpp)")
	f.Var(&c.inplace, "inplace", "compile for input and output in one memory, or not, instead of what the file says")
	f.Lookup("inplace").NoOptDefVal = "true"
	cli.WordFlag(f, &c.target, "target", "", target, "compile for `T`: "+strings.Join(cli.TargetNames(), ", "), cli.TargetNames())
	cli.WordFlag(f, &c.sided, "sided", "", "two",
		"compile to `SIDES`: two, sends and receives between two ranks, or one, steps that move data of any rank's memory",
		sideNames)
	f.IntVarP(&c.optimise, "optimise", "O", 1, "0 runs only the required passes (mscclc help passes)")
	f.StringArrayVar(&c.passes, "opt", nil, "turn a pass off: `PASS=off` (mscclc help passes)")
	f.BoolVar(&c.fuse, "fuse", true, "fuse steps that pass on the same data; false is --opt fuse=off")
	f.Var(&c.receives, "fused-receives",
		"use steps that receive and reduce or send on, or not, instead of what the target runs: releases of RCCL differ (--sided two)")
	f.Lookup("fused-receives").NoOptDefVal = "true"
	c.Reading.Flags(f, cli.LimitNames())
}

// sideNames are the lowerings that --sided names.
var sideNames = []string{"one", "two"}

// settings are the parameters that are set, by -p and by --ranks.
func (c *compiling) settings() []string {
	if c.ranksSetting == "" {
		return c.params
	}
	return append([]string{c.ranksSetting}, c.params...)
}

// options makes the options of a compilation of what s imports.
func (c *compiling) options(s *cli.Source) (mscclc.Options, error) {
	opt := mscclc.Options{Unproven: c.unproven}
	opt.Lang = c.Imports(s)
	opt.Lang.Inplace, opt.Lang.Sizes = c.inplace.value, c.sizes
	opt.Lang.Params = lang.Params{}
	for _, p := range c.settings() {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return opt, cli.Usagef("-p takes NAME=VALUE, not %q", p)
		}
		if _, twice := opt.Lang.Params[name]; twice {
			return opt, cli.Usagef("%s is set twice", name)
		}
		opt.Lang.Params[name] = value
	}
	if c.protocol != "" {
		p, ok := ir.ProtocolByName(c.protocol)
		if !ok {
			return opt, cli.Unknown("protocol", c.protocol, ir.ProtocolNames())
		}
		opt.Lang.Protocol = &p
	}
	if c.instances < 1 || c.instances > 1024 {
		return opt, cli.Usagef("--instances takes a number from 1 to 1024")
	}
	if !slices.Contains(sideNames, c.sided) {
		return opt, cli.Usagef("--sided takes one or two, not %q", c.sided)
	}
	target, err := c.findTarget()
	if err != nil {
		return opt, err
	}
	opt.Target, opt.Lang.Via = target, c.via
	opt.OneSided = c.oneSided()
	if err := c.fitSides(); err != nil {
		return opt, err
	}
	if err := c.passOptions(&opt); err != nil {
		return opt, err
	}
	c.Limits.Apply(&opt)
	return opt, nil
}

// oneSided says whether the one-sided lowering is asked for: by itself, or by a target that has no other.
func (c *compiling) oneSided() bool { return c.sided == "one" || c.target == "mscclpp" }

// fitSides refuses flags that the lowering which is asked for has no use for.
func (c *compiling) fitSides() error {
	plus := c.target == "mscclpp"
	if plus && c.sided == "two" && c.oneGiven("sided") != "" {
		return cli.Usagef("plans of MSCCL++ are one-sided: give --sided one, or leave it out")
	}
	only := slices.DeleteFunc(slices.Clone(twoSidedOnly), func(flag string) bool { return plus && flag == "instances" })
	flag := c.oneGiven(only...)
	switch {
	case flag == "" || !c.oneSided():
		return nil
	case plus:
		return cli.Usagef("%s is for the two-sided lowering, which makes sends and receives: plans of MSCCL++ have none", flag)
	}
	return cli.Usagef("%s is for the two-sided lowering, which makes sends and receives: give --sided two, or leave it out",
		flag)
}

// twoSidedOnly are the flags about connections, which only two-sided programs have.
var twoSidedOnly = []string{"instances", "fused-receives", "slots"}

// passFlags are the flags that choose passes.
var passFlags = []string{"optimise", "opt", "fuse"}

// compileOnly are the flags that only a compilation can follow.
var compileOnly = append([]string{"param", "instances", "sided"}, passFlags...)

// unfit names a flag that is given and that what is compiled already cannot follow, nor the
// command any of others.
func (c *compiling) unfit(others ...string) string {
	if c.ranksSetting != "" {
		return "--ranks"
	}
	return c.oneGiven(slices.Concat(compileOnly, others)...)
}

// compiledAlready is the usage error about a flag that only a compilation can follow, of a file that is none of an
// algorithm.
func compiledAlready(name, flag string) error {
	return cli.Usagef("%s is compiled already: %s cannot change it", diag.Printable(name), flag)
}

// oneGiven names one of some flags that is given, or "".
func (c *compiling) oneGiven(names ...string) string {
	return c.flagGiven(func(name string) bool { return slices.Contains(names, name) })
}

// flagGiven names a flag that is given and that has some name, as it is written, or "".
func (c *compiling) flagGiven(has func(name string) bool) (found string) {
	c.given.Visit(func(g *pflag.Flag) {
		switch {
		case found != "" || !has(g.Name):
		case g.Shorthand != "":
			found = "-" + g.Shorthand
		default:
			found = "--" + g.Name
		}
	})
	return found
}

// chosenOnly refuses flags of compilations, but those that are allowed, where the
// catalog's variant of a collective is chosen.
func (c *compiling) chosenOnly(takes string, allowed ...string) error {
	var own pflag.FlagSet
	new(compiling).Flags(&own, "")
	if name := c.flagGiven(func(name string) bool {
		return own.Lookup(name) != nil &&
			!slices.Contains(allowed, name)
	}); name != "" {
		return cli.Usagef("of a collective the fastest variant is chosen: it takes %s, not %s, which a file or an algorithm (mscclc list) does", takes, name)
	}
	return nil
}

func (c *compiling) findTarget() (*codegen.Target, error) {
	t, err := codegen.TargetByName(c.target)
	if err != nil {
		return nil, cli.UnknownTarget(c.target)
	}
	if want := c.receives.value; want != nil && *want != t.Limits.ReceiveFused {
		other := *t
		other.Limits.ReceiveFused = *want
		return &other, nil
	}
	return t, nil
}

// An optionalBool is a flag that need not be given.
type optionalBool struct{ value *bool }

func (o *optionalBool) String() string {
	if o.value == nil {
		return ""
	}
	return fmt.Sprint(*o.value)
}

func (o *optionalBool) Set(s string) error {
	switch s {
	case "true":
		o.value = new(true)
	case "false":
		o.value = new(false)
	default:
		return fmt.Errorf("%q is neither true nor false", s)
	}
	return nil
}

func (o *optionalBool) Type() string { return "true|false" }
