package mscclc

import (
	"errors"
	"slices"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
	"mscclc/passes/core"
	"mscclc/passes/fifo"
	"mscclc/passes/lift"
)

// Options say how Compile compiles. The zero value takes the file as it
// stands, with all passes, for no target in particular.
type Options struct {
	Lang   lang.Options
	Passes fifo.Options    // of two-sided programs; Limits and Dense come from Target where there is one
	Core   core.Options    // of one-sided programs; Even, OnePass and MaxInsts come from Passes and Target
	Target *codegen.Target // nil for none
	Check  verify.Options

	// OneSided asks for Moves of any rank's memory, signals and waits, in place of
	// sends and receives; see onesided.Program.
	OneSided bool

	// Lowered asks for the one-sided program that the two-sided one is lowered to; see Lower.
	Lowered bool

	// Nodes, where not nil, returns the node of each of a given number of ranks, or nil for one. A program for several
	// nodes is compiled for that where it is OneSided, and proven for it.
	Nodes func(ranks int) ([]int32, error)

	// FileNodes has a plan of MSCCL++ be for the nodes that the file names (ranks_per_node) where Nodes is nil.
	FileNodes bool

	// Bytes is the size of the calls that a program of channels is made for, whose loops depend on it; 0 is any, with one
	// turn of each.
	Bytes int64

	// Then, where not empty, takes the place of the epilogue that the file has: the file says where rows are finished.
	Then epilogue.List

	// Unproven leaves the proof of the program to the caller.
	Unproven bool

	// Stage, where not nil, sees each value on its way: *syntax.File, *ir.ChunkDAG,
	// *ir.InstDAG as lowered, unless OneSided, or in place of both *ir.ChannelProgram, and *either.Program, whether it
	// could be proven or not.
	Stage func(value any) error
}

// Compile compiles the text of file. An error is a diag.List where the text or
// the options are at fault, and anything else a fault of mscclc.
func Compile(file string, text []byte, opt Options) (*either.Program, error) {
	tree, err := syntax.ParseLimited(file, text, opt.Lang.Limits)
	if err != nil {
		return nil, err
	}
	return CompileFile(tree, opt)
}

// CompileFile is Compile of a file that is parsed already, which it does not change.
func CompileFile(tree *syntax.File, opt Options) (*either.Program, error) {
	p, expanded, err := compileFile(tree, opt)
	var list diag.List
	if expanded && errors.As(err, &list) {
		lang.Backtrace(tree, opt.Lang, list)
	}
	return p, err
}

// compileFile is CompileFile, whose errors say nothing of calls and loops where the file was expanded.
func compileFile(tree *syntax.File, opt Options) (p *either.Program, wasExpanded bool, err error) {
	stage := func(value any) error {
		if opt.Stage == nil {
			return nil
		}
		return opt.Stage(value)
	}
	opt.fitTarget()
	if err := stage(tree); err != nil {
		return nil, false, err
	}
	if t := opt.Target; t != nil {
		opt.Lang.Judge = func(h *ir.Header) diag.List { return codegen.CheckHeader(h, t) }
	}
	expanded, err := lang.ExpandLevel(tree, opt.Lang)
	if err != nil {
		return nil, false, err
	}
	if c := expanded.Channels; c != nil {
		if err := opt.place(&c.Header); err != nil {
			return nil, true, err
		}
		channels.Synchronise(c)
		if want := opt.Lang.Inplace; want != nil && !*want && c.Coll.Inplace {
			if c, err = channels.OutOfPlace(c); err != nil {
				return nil, true, err
			}
		}
		p, err = unrolled(c, &opt, stage)
		return p, true, err
	}
	p, err = compileChunks(expanded.Chunks, &opt, stage)
	return p, true, err
}

// fitTarget has the passes keep to the target, where there is one.
func (opt *Options) fitTarget() {
	if t := opt.Target; t != nil {
		opt.Passes.Limits, opt.Passes.Dense = t.Limits, t.Format == codegen.FormatXML
		opt.OneSided = opt.OneSided || t.Format == codegen.FormatMSCCLPP
	}
}

// Recompile compiles what the steps of p do, a proven two-sided program, anew: with thread blocks, channels and
// synchronisation that opt's target allows. Of opt, Lang and Stage are not used. It fails as Compile does.
func Recompile(p *either.Program, opt Options) (*either.Program, error) {
	opt.fitTarget()
	return compileChunks(lift.Chunks(p.Fifo), &opt, func(any) error { return nil })
}

// compileChunks compiles chunks as opt has it, and proves the program.
func compileChunks(chunks *ir.ChunkDAG, opt *Options, stage func(value any) error) (*either.Program, error) {
	if err := opt.finish(&chunks.Header); err != nil {
		return nil, err
	}
	if err := stage(chunks); err != nil {
		return nil, err
	}
	if err := opt.place(&chunks.Header); err != nil {
		return nil, err
	}
	if t := opt.Target; t != nil {
		if err := codegen.CheckHeader(&chunks.Header, t).Err(); err != nil {
			return nil, err
		}
	}
	lower, check := twoSided, verify.CheckAndMark
	switch {
	case opt.OneSided:
		lower, check = oneSided, verify.Check
	case opt.Lowered:
		lower, check = lowered, verify.Check
	}
	program, err := lower(chunks, opt, stage)
	if err != nil {
		return nil, err
	}
	var problems diag.List
	if !opt.Unproven {
		_, problems = check(program, opt.Check)
	}
	if err := stage(program); err != nil {
		return nil, err
	}
	return program, problems.Err()
}

// finish gives a file the epilogue that is wanted in place of its own.
func (opt *Options) finish(h *ir.Header) error {
	switch {
	case len(opt.Then) == 0:
		return nil
	case len(h.Then) == 0:
		return diag.List{diag.New(diag.Unsupported, h.Declaration, "%s finishes no rows, and is to finish them by %s", h.Name,
			opt.Then).WithHint("sum.then(%s).copy(rank, output, index) says where", opt.Then)}
	}
	h.Then = opt.Then
	return opt.Then.Check()
}

// place has the ranks of a file on their nodes.
func (opt *Options) place(h *ir.Header) (err error) {
	t := opt.Target
	if t != nil && t.Format == codegen.FormatMSCCLPP {
		opt.Core.Nodes, err = opt.PlanNodes(h)
		opt.Core.Ports = opt.Core.Nodes != nil
		if d := mscclpp.FitNodes(opt.Core.Nodes); d != nil {
			return diag.List{*d}
		}
		return err
	}
	switch {
	case opt.Nodes == nil:
		return nil
	case t != nil && t.Format != codegen.FormatProgram:
		d := diag.New(diag.AcrossNodes, diag.Span{}, "%s is MSCCL-IR, whose runtimes have connections between any ranks", t.Name)
		return diag.List{d.WithHint("leave out for which nodes it is; --nodes is for --target program and mscclpp")}
	}
	opt.Check.Nodes, err = opt.Nodes(h.Coll.Ranks)
	opt.Core.Nodes = opt.Check.Nodes
	return err
}

// PlanNodes returns the node of each rank that a plan of MSCCL++ of a file is for, or nil for one node.
func (opt *Options) PlanNodes(h *ir.Header) ([]int32, error) {
	switch {
	case opt.Nodes != nil:
		return opt.Nodes(h.Coll.Ranks)
	case !opt.FileNodes || h.RanksPerNode <= 0 || h.RanksPerNode >= h.Coll.Ranks:
		return nil, nil
	}
	node := make([]int32, h.Coll.Ranks)
	for r := range node {
		node[r] = int32(r / h.RanksPerNode)
	}
	return node, nil
}

// leastTurnBytes is the fewest bytes of a chunk that a turn of a loop has where it is run.
const leastTurnBytes = 16

// Turns returns how many turns loops of p do where calls of a given number of bytes run it, 0 being any: the number
// that its loops ask for, which have some bytes a turn, or, where that makes too large a program or too short a turn,
// fewer of more bytes each.
func Turns(p *ir.ChannelProgram, bytes int64) (turns, asked int) {
	if bytes <= 0 {
		return 1, 1
	}
	chunk := bytes / int64(max(p.Coll.Divisor(), 1))
	asked = channels.Turns(p, chunk)
	return channels.Bounded(p, int(max(1, min(int64(asked), chunk/leastTurnBytes)))), asked
}

// unrolled returns what c means, as a one-sided program, and proves it.
func unrolled(c *ir.ChannelProgram, opt *Options, stage func(value any) error) (*either.Program, error) {
	if err := stage(c); err != nil {
		return nil, err
	}
	if t := opt.Target; t != nil && t.Format == codegen.FormatXML {
		d := diag.New(diag.Unsupported, c.Span(0), "%s is MSCCL-IR, which has no channels with signals", t.Name)
		return nil, diag.List{d.WithHint(
			"an algorithm that says which thread block does what is for --target mscclpp (-o FILE.json), or --target program")}
	}
	if err := withinNode(c, opt); err != nil {
		return nil, err
	}
	turns, _ := Turns(c, opt.Bytes)
	program, err := channels.Unroll(c, turns)
	if err != nil {
		return nil, err
	}
	if err := stage(either.OfOneSided(program)); err != nil {
		return nil, err
	}
	if opt.Unproven {
		return either.OfOneSided(program), nil
	}
	check := channels.Check
	if opt.Bytes > 0 {
		check = func(p *ir.ChannelProgram, opt verify.Options) (*onesided.Program, verify.Report, diag.List) {
			return channels.CheckTurns(p, turns, opt)
		}
	}
	_, _, problems := check(c, opt.Check)
	return either.OfOneSided(program), problems.Err()
}

// withinNode refuses channels for several nodes.
func withinNode(c *ir.ChannelProgram, opt *Options) error {
	if opt.Nodes == nil || opt.Target != nil && opt.Target.Format == codegen.FormatMSCCLPP {
		return nil // a plan is checked when it is made
	}
	node, err := opt.Nodes(c.Coll.Ranks)
	if err != nil || len(node) == 0 || slices.Max(node) == 0 {
		return err
	}
	d := diag.New(diag.AcrossNodes, c.Span(0), "mscclc's executor runs programs of channels within one node")
	return diag.List{d.WithHint("an algorithm in chunks runs over several: --sided one --nodes N")}
}

func oneSided(chunks *ir.ChunkDAG, opt *Options, _ func(value any) error) (*either.Program, error) {
	passes := opt.Core
	passes.Even, passes.MaxInsts = opt.Passes.Dense, opt.Passes.MaxInsts
	passes.OnePass = opt.Target != nil && opt.Target.Format == codegen.FormatMSCCLPP
	p, err := core.Lower(chunks, passes)
	return either.OfOneSided(p), err
}

// twoSided leaves the Final flags to the proof, where there is one.
func twoSided(chunks *ir.ChunkDAG, opt *Options, stage func(value any) error) (*either.Program, error) {
	insts, err := fifo.Lower(chunks, opt.Passes)
	if err != nil {
		return nil, err
	}
	if err := stage(insts); err != nil {
		return nil, err
	}
	if err := fifo.Run(insts, opt.Passes); err != nil {
		return nil, err
	}
	assemble := codegen.AssembleUnmarked
	if opt.Unproven {
		assemble = codegen.Assemble
	}
	p, err := assemble(insts)
	return either.OfFifo(p), err
}
