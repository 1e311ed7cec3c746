package compiling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"

	"github.com/spf13/pflag"
)

// Flags are those of every command that compiles.
type Flags struct {
	Params       []string
	RanksSetting string // of --ranks: ranks=N, or nothing
	RootSetting  string // of --root: root=N, or nothing
	Protocol     string
	sizes        *ir.SizeRange // of --sizes, or nil
	declared     ir.SizeRange  // by the file that was compiled, or by --sizes
	instances    int
	Inplace      OptionalBool
	Target       string
	Sided        string // one of SideNames, or "" where nobody says: see OneSided
	TwoSidedFor  string // what is shown that only two-sided programs have, or ""
	staged       bool
	lanes        int
	copies       int
	together     int
	Nodes        cli.Nodes // of --nodes, of commands with AddNodes
	fileNodes    bool      // a plan is for the nodes of the file, where Nodes is ""

	// On, where not nil, returns the node of each of a given number of ranks where --nodes does not say, or nil for one
	// node. each is how many ranks the algorithm has on a node, or 0.
	On   func(ranks, each int) []int32
	each int // of the algorithm that is compiled

	via      ir.Via // what a table asks for
	optimise int
	passes   []string
	fuse     bool
	receives OptionalBool
	cli.Reading
	Unproven bool               // leave the proof to the caller
	Unjudged bool               // compile what leaves wrong results too
	Channels *ir.ChannelProgram // what was compiled, where it says itself which thread block does what
	bytes    int64              // of the calls that loops of channels are unrolled for, or 0
	Given    *pflag.FlagSet
}

// AddFlags adds the flags to those of a command, which compiles for target where no flag names one.
func (c *Flags) AddFlags(f *pflag.FlagSet, target string) {
	c.Given = f
	f.StringArrayVarP(&c.Params, "param", "p", nil, "set a parameter of the algorithm: `NAME=VALUE`")
	cli.WordFlag(f, &c.Protocol, "protocol", "", "",
		"flag data on the wire by `P`: "+ir.ProtocolList("or")+", instead of what the file says", ir.ProtocolNames())
	f.IntVar(&c.instances, "instances", 1,
		"do everything in `N` parts, on channels of their own (two-sided, or --target mscclpp)")
	f.Var(&c.Inplace, "inplace", "compile for input and output in one memory, or not, instead of what the file says")
	f.Lookup("inplace").NoOptDefVal = "true"
	cli.WordFlag(f, &c.Target, "target", "", target, "compile for `T`: "+strings.Join(cli.TargetNames(), ", "), cli.TargetNames())
	cli.WordFlag(f, &c.Sided, "sided", "", "",
		"compile to `SIDES`: one, steps that move data of any rank's memory, two, sends and receives between two ranks, or lowered, the steps of two done by such moves, also of a program that is compiled already (default one; two with --target msccl or rccl, and with flags for two-sided programs)",
		SideNames)
	c.AddStaged(f, "reach only scratch and packets of other ranks, so that calls may use any buffers (one-sided)")
	f.IntVar(&c.lanes, "lanes", 1,
		"let a rank have up to `N` thread blocks, which go through the tiles each at its own pace (one-sided)")
	f.IntVar(&c.copies, "copies", 0,
		"have `N` copies of scratch, so that lanes may be further apart (--lanes); 0 is three")
	f.IntVar(&c.together, "together", 0,
		"let `N` replicas share a CTA, of lanes that only copy to other nodes: 2 or 4 (--lanes, --nodes)")
	f.IntVarP(&c.optimise, "optimise", "O", 1, "0 runs only the required passes (mscclc help passes)")
	f.StringArrayVar(&c.passes, "opt", nil, "turn a pass off: `PASS=off` (mscclc help passes)")
	f.BoolVar(&c.fuse, "fuse", true, "fuse steps that pass on the same data; false is --opt fuse=off")
	f.Var(&c.receives, "fused-receives",
		"use steps that receive and reduce or send on, or not, instead of what the target runs: releases of RCCL differ (two-sided)")
	f.Lookup("fused-receives").NoOptDefVal = "true"
	c.Reading.Flags(f, cli.LimitNames())
}

// AddBeside adds the flags of commands that only read files beside a collective. What others set is as AddFlags has it.
func (c *Flags) AddBeside(f *pflag.FlagSet) {
	c.Given, c.instances, c.Target, c.lanes, c.optimise, c.fuse = f, 1, "program", 1, 1, true
	c.Reading.Flags(f, cli.LimitNames())
}

// AddSource adds the flags of commands that only run a file.
func (c *Flags) AddSource(f *pflag.FlagSet) {
	c.AddBeside(f)
	f.StringArrayVarP(&c.Params, "param", "p", nil, "set a parameter of the algorithm: `NAME=VALUE`")
	f.Var(&c.Inplace, "inplace", "run the file for input and output in one memory, or not, instead of what it says")
	f.Lookup("inplace").NoOptDefVal = "true"
}

// AddStaged adds --staged.
func (c *Flags) AddStaged(f *pflag.FlagSet, usage string) {
	f.BoolVar(&c.staged, "staged", false, usage)
}

// AddNodes adds --nodes, of which what says what it does.
func (c *Flags) AddNodes(f *pflag.FlagSet, what string) {
	f.StringVar((*string)(&c.Nodes), "nodes", "",
		what+" for ranks on several nodes: `N` that have equally many each, or the ranks of each, as in 4,4")
}

// nodesOn is mscclc.Options.Nodes where no flag says on which nodes ranks are. Programs of channels are for one node.
func (c *Flags) nodesOn(ranks int) ([]int32, error) {
	if c.Channels != nil {
		return nil, nil
	}
	return c.On(ranks, c.each), nil
}

// AddRanks defines --ranks and --root.
func (c *Flags) AddRanks(f *pflag.FlagSet) {
	f.Var(cli.RanksFlag(&c.RanksSetting), "ranks",
		"compile for `N` ranks: -p ranks=N, or the fewest nodes from 2 of an algorithm that has nodes and gpus")
	cli.AddRoot(f, &c.RootSetting)
}

// Settings returns the parameters that are set, by -p, --ranks and --root.
func (c *Flags) Settings() (all []string) {
	for _, setting := range []string{c.RanksSetting, c.RootSetting} {
		if setting != "" {
			all = append(all, setting)
		}
	}
	return append(all, c.Params...)
}

// Root returns the rank that --root names, or 0, and whether it names one.
func (c *Flags) Root() (root int, given bool) {
	value, given := strings.CutPrefix(c.RootSetting, "root=")
	root, _ = strconv.Atoi(value) // which the flag has checked
	return root, given
}

// Options makes the options of a compilation of what s imports.
func (c *Flags) Options(s *cli.Source) (mscclc.Options, error) {
	opt := mscclc.Options{Unproven: c.Unproven, FileNodes: c.fileNodes}
	opt.Lang = c.Imports(s)
	opt.Lang.Unjudged = c.Unjudged
	opt.Lang.Inplace, opt.Lang.Sizes = c.Inplace.Value, c.sizes
	params, err := cli.Settings(c.Settings())
	if err != nil {
		return opt, err
	}
	opt.Lang.Params = lang.Params{}
	for name, value := range params {
		opt.Lang.Params[name] = value
	}
	if c.Protocol != "" {
		p, ok := ir.ProtocolByName(c.Protocol)
		if !ok {
			return opt, cli.Unknown("protocol", c.Protocol, ir.ProtocolNames())
		}
		opt.Lang.Protocol = &p
	}
	if c.instances < 1 || c.instances > 1024 {
		return opt, cli.Usagef("--instances takes a number from 1 to 1024")
	}
	if c.Sided != "" && !slices.Contains(SideNames, c.Sided) {
		return opt, cli.Usagef("--sided takes %s, not %q", cli.List(SideNames), c.Sided)
	}
	target, err := c.FindTarget()
	if err != nil {
		return opt, err
	}
	opt.Target, opt.Lang.Via = target, c.via
	opt.OneSided, opt.Lowered = c.OneSided(), c.Lowered()
	switch {
	case c.Nodes != "":
		opt.Nodes = c.Nodes.Of
		if err := c.Nodes.Check(); err != nil {
			return opt, err
		}
	case c.On != nil && opt.OneSided && target.Format == codegen.FormatProgram:
		opt.Nodes = c.nodesOn
	}
	if err := c.fitSides(); err != nil {
		return opt, err
	}
	if err := c.passOptions(&opt); err != nil {
		return opt, err
	}
	c.Limits.Apply(&opt)
	return opt, nil
}

// Staged reports whether --staged is given.
func (c *Flags) Staged() bool { return c.staged }

// PassFlags are the flags that choose passes.
var PassFlags = []string{"optimise", "opt", "fuse"}

// LaneFlags are the flags about lanes, which passes of chunks make.
var LaneFlags = []string{"lanes", "copies", "together"}

// compileOnly are the flags that only a compilation can follow.
var compileOnly = slices.Concat([]string{"param", "instances", "sided", "staged"}, LaneFlags, PassFlags)

// Unfit names a flag that is given and that what is compiled already cannot follow, nor the
// command any of others.
func (c *Flags) Unfit(others ...string) string {
	switch {
	case c.RanksSetting != "":
		return "--ranks"
	case c.RootSetting != "":
		return "--root"
	}
	return c.OneGiven(slices.Concat(compileOnly, others)...)
}

// UnfitProgram is Unfit of a compiled program in a file of a kind, which --sided lowered may lower.
func (c *Flags) UnfitProgram(kind codegen.FileKind, others ...string) string {
	if c.RanksSetting != "" || c.RootSetting != "" || !c.Lowered() || kind == codegen.KindMSCCLPP {
		return c.Unfit(others...)
	}
	rest := slices.DeleteFunc(slices.Concat(compileOnly, others), func(flag string) bool { return flag == "sided" })
	return c.OneGiven(rest...)
}

// CompiledAlready returns the usage error about a flag that only a compilation can follow, of a file that is none of an
// algorithm.
func CompiledAlready(name, flag string) error {
	err := cli.Usagef("%s is compiled already: %s cannot change it", diag.Printable(name), flag)
	if flag == "--sided" {
		return err.Hint("--sided lowered makes a one-sided program of a two-sided one")
	}
	return err
}

// OneGiven names one of some flags that is given, or "".
func (c *Flags) OneGiven(names ...string) string {
	return c.flagGiven(func(name string) bool { return slices.Contains(names, name) })
}

// flagGiven names a flag that is given and that has some name, as it is written, or "".
func (c *Flags) flagGiven(has func(name string) bool) (found string) {
	if c.Given == nil {
		return ""
	}
	c.Given.Visit(func(g *pflag.Flag) {
		switch {
		case found != "" || !g.Changed || !has(g.Name):
		case g.Shorthand != "":
			found = "-" + g.Shorthand
		default:
			found = "--" + g.Name
		}
	})
	return found
}

// ChosenOnly refuses flags of compilations, but those that are allowed, where the
// catalog's variant of a collective is chosen.
func (c *Flags) ChosenOnly(takes string, allowed ...string) error {
	var own pflag.FlagSet
	new(Flags).AddFlags(&own, "")
	if name := c.flagGiven(func(name string) bool {
		return (own.Lookup(name) != nil || name == "nodes" && c.Nodes != "") && !slices.Contains(allowed, name)
	}); name != "" {
		wrong := cli.Usagef("of a collective the fastest variant is chosen: it takes %s, not %s, which a file or an algorithm (mscclc list) does", takes, name)
		if c.Target == "mscclpp" {
			return wrong.Hint("mscclc select COLLECTIVE --target mscclpp says which plan is the fastest where, bench measures these, and an algorithm with --target mscclpp runs as its plan")
		}
		return wrong
	}
	return nil
}

// FindTarget returns the target that --target names, as --fused-receives changes it.
func (c *Flags) FindTarget() (*codegen.Target, error) {
	t, err := codegen.TargetByName(c.Target)
	if err != nil {
		return nil, cli.UnknownTarget(c.Target)
	}
	if want := c.receives.Value; want != nil && *want != t.Limits.ReceiveFused {
		other := *t
		other.Limits.ReceiveFused = *want
		return &other, nil
	}
	return t, nil
}

// An OptionalBool is a flag that need not be given.
type OptionalBool struct{ Value *bool }

// String implements pflag.Value.
func (o *OptionalBool) String() string {
	if o.Value == nil {
		return ""
	}
	return fmt.Sprint(*o.Value)
}

// Set implements pflag.Value.
func (o *OptionalBool) Set(s string) error {
	switch s {
	case "true":
		o.Value = new(true)
	case "false":
		o.Value = new(false)
	default:
		return fmt.Errorf("%q is neither true nor false", s)
	}
	return nil
}

// Type implements pflag.Value. Help prints it.
func (o *OptionalBool) Type() string { return "true|false" }
