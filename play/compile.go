package play

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
	"mscclc/passes/core"
	"mscclc/simulate"
)

// This file compiles a text, whatever it is, and proves it.

// kindOf returns what the text is: a source, unless its name says that it is a program and the text is one.
func (b *builder) kindOf() codegen.FileKind {
	if b.Kind != codegen.KindUnknown {
		return b.Kind
	}
	if codegen.CompiledName(b.Name) {
		return codegen.Detect(b.Text[:min(len(b.Text), 1<<16)])
	}
	return codegen.KindSource
}

// compile makes the program and proves it. It fails with ErrStale only.
func (b *builder) compile() (err error) {
	switch kind := b.kindOf(); {
	case kind == codegen.KindSource:
		err = b.source()
	case kind == codegen.KindMSCCLPP:
		err = b.plan()
	case kind.Compiled():
		err = b.compiled(kind)
	default:
		err = diag.List{diag.New(diag.Malformed, diag.FileSpan(b.Name), "the file is no program that mscclc knows")}
	}
	switch {
	case errors.Is(err, ErrStale):
		return err
	case err != nil && !errors.As(err, &b.found):
		b.found = diag.List{diag.New(diag.Internal, diag.Span{}, "%v", err)}
	}
	for _, list := range []diag.List{b.found, b.warned} {
		for i := range list {
			if p := &list[i]; p.Span.Filename == "" && p.Code != diag.Internal {
				p.Span.Filename = b.Name
			}
		}
	}
	return nil
}

// source makes the program of an algorithm.
func (b *builder) source() error {
	tree, err := syntax.ParseLimited(b.Name, b.Text, runLimits)
	if err != nil {
		return err
	}
	b.tree, b.opt = tree, lang.Options{Params: b.Params, Open: b.Open, Limits: runLimits, Protocol: b.Protocol}
	if lang.IsLibrary(tree) {
		b.scene.Kind = "library"
		return lang.CheckLibrary(tree, b.Text, b.opt)
	}
	err = b.algorithm()
	if errors.Is(err, errMany) || exceeded(err) && b.mayHaveFewer() {
		b.opt.Params = lang.Params{"ranks": fewRanks}
		for name, value := range b.Params {
			b.opt.Params[name] = value
		}
		b.note("The file is run for %s ranks: its own are too many to be shown while it is edited.", fewRanks)
		b.chunks = nil
		err = b.algorithm()
	}
	if exceeded(err) {
		b.large = true
		b.note("The algorithm is too large to be run here. %s proves it.", b.command("verify"))
		return nil
	}
	return err
}

// errMany is the error of a file that has more ranks by itself than can be shown.
var errMany = errors.New("too many ranks")

// mayHaveFewer reports whether the file has a parameter ranks that nobody set and that is not as small by itself.
func (b *builder) mayHaveFewer() bool {
	if _, given := b.opt.Params["ranks"]; given {
		return false
	}
	few, _ := strconv.Atoi(fewRanks)
	for _, p := range b.tree.Info().Params {
		if p.Name == "ranks" {
			ranks, err := strconv.Atoi(p.Default)
			return err != nil || ranks > few
		}
	}
	return false
}

// command returns the command that does with the program what is not done here.
func (b *builder) command(verb string) string {
	text := "mscclc " + verb + " " + b.Name
	for _, name := range slices.Sorted(maps.Keys(b.opt.Params)) {
		text += fmt.Sprintf(" -p %s=%v", name, b.opt.Params[name])
	}
	if b.tree != nil && b.scene.Kind != "channels" && !b.OneSided {
		text += " --sided two"
	}
	return text
}

// exceeded reports whether err is of a limit, which a command may not have.
func exceeded(err error) bool {
	var list diag.List
	return errors.As(err, &list) &&
		slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Limit })
}

// algorithm runs the file, compiles what it does, and proves that.
func (b *builder) algorithm() error {
	target, err := codegen.TargetByName("program")
	if err != nil {
		return err
	}
	opt := mscclc.Options{Lang: b.opt, Target: target, OneSided: b.OneSided, Unproven: true,
		Core: core.Options{Lanes: b.Lanes}}
	if b.OneSided {
		opt.Nodes = func(ranks int) ([]int32, error) { return b.domains(ranks), nil }
	}
	var level *ir.ChannelProgram
	opt.Stage = func(value any) error {
		var h *ir.Header
		switch v := value.(type) {
		case *ir.ChunkDAG:
			b.chunks, h = v, &v.Header
		case *ir.ChannelProgram:
			level, h = v, &v.Header
		}
		switch {
		case b.stale():
			return ErrStale
		case h != nil && h.Coll.Ranks > mostRanks && b.mayHaveFewer():
			return errMany
		}
		return nil
	}
	p, err := mscclc.CompileFile(b.tree, opt)
	if b.chunks != nil && len(b.chunks.Then) > 0 && !b.OneSided { // programs with an epilogue have no other form
		b.OneSided = true
		return b.algorithm()
	}
	switch {
	case errors.Is(err, errMany) || errors.Is(err, ErrStale) || exceeded(err):
		return err
	case level != nil:
		b.scene.Kind = "channels"
		return b.channels(level)
	}
	b.scene.Kind = "chunks"
	if b.chunks == nil {
		b.made()
	} else {
		b.alg = OfChunks(b.chunks)
	}
	if err != nil {
		return err
	}
	check := proofLimits
	if b.OneSided {
		check.Nodes = b.domains(p.Coll.Ranks)
	}
	var found diag.List
	b.program, b.judged = p, p
	if b.report, found = verify.CheckAndMark(p, check); len(found) > 0 {
		b.order = b.ordered(p)
	}
	return b.judge(found)
}

// made shows what a wrong file did before its error.
func (b *builder) made() {
	again := b.opt
	again.Facts = lang.NewFacts()
	lang.ExpandLevel(b.tree, again)
	if made := again.Facts.Made; made != nil {
		b.alg = OfChunks(made)
	}
}

// domains returns the part of the machine whose memory each rank's GPU reaches, or nil for one part. Programs of
// channels are for one.
func (b *builder) domains(ranks int) []int32 {
	if b.topology == nil || b.chunks == nil {
		return nil
	}
	h := ir.Header{Coll: &ir.Collective{Ranks: ranks}, RanksPerNode: b.chunks.RanksPerNode}
	return simulate.DomainsOn(&h, b.topology, nil)
}

// judge takes the verdict of a proof. Of a source it says in which calls and loops a problem is.
func (b *builder) judge(found diag.List) error {
	if b.tree != nil && len(found) > 0 {
		lang.Backtrace(b.tree, b.opt, found)
	}
	if b.proven = !found.Rejects(); b.proven {
		return nil
	}
	if slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code != diag.Undecided }) {
		return found
	}
	b.large = true
	b.note("The proof takes longer than there is time for here. %s proves it.", b.command("verify"))
	return nil
}

// plan reads and proves an execution plan of MSCCL++.
func (b *builder) plan() error {
	b.scene.Kind = "channels"
	plan, c, err := mscclpp.Read(b.Name, bytes.NewReader(b.Text), b.reading())
	if err != nil {
		return err
	}
	b.warned = append(b.warned, slices.Concat(plan.Ignored, mscclpp.Faults(c))...)
	return b.channels(c)
}

func (b *builder) reading() codegen.ReadOptions {
	opt := readLimits
	opt.Warn = func(w diag.Diagnostic) { b.warned = append(b.warned, w) }
	return opt
}

// channels proves a program of channels, and shows what it does.
func (b *builder) channels(c *ir.ChannelProgram) error {
	unrolled, report, found := channels.Check(c, proofLimits)
	b.judged, b.report = either.OfOneSided(unrolled), report
	b.warned = append(b.warned, b.report.Warnings...)
	err := b.judge(found)
	b.program = b.judged
	if b.proven {
		one, failed := channels.Unroll(c, 1)
		if failed != nil {
			return failed
		}
		b.program = either.OfOneSided(one)
	}
	if b.show(found); b.alg != nil {
		b.alg.Notes = append(b.alg.Notes, channelNotes(c, b.program)...)
	}
	return err
}

// compiled reads and proves a compiled program.
func (b *builder) compiled(kind codegen.FileKind) error {
	b.scene.Kind = "two-sided"
	p, err := mscclc.ReadProgram(kind, b.Name, bytes.NewReader(b.Text), b.reading())
	if err != nil {
		return err
	}
	if p.OneSided != nil {
		b.scene.Kind = "one-sided"
	}
	var found diag.List
	b.program, b.judged = p, p
	b.report, found = verify.Check(p, proofLimits)
	err = b.judge(found)
	b.show(found)
	return err
}

// show has what the steps of the program do as the algorithm, as far as it runs; nothing where its form or its messages
// do not fit.
func (b *builder) show(found diag.List) {
	p := b.program
	if p == nil || slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return !runs(d.Code) }) {
		return
	}
	b.order = b.ordered(p)
	if p.OneSided != nil {
		b.alg = OfMoves(p, b.order)
	} else {
		b.alg = ofSends(p, b.order)
	}
}

// ordered returns the steps of p that run, in an order in which they may end, with the slots that a counterexample has.
func (b *builder) ordered(p *either.Program) []int32 {
	if p.OneSided != nil {
		return orderOf(p)
	}
	slots, chunks := p.Protocol.Slots(), 1
	if list := b.report.Counterexamples; len(list) > 0 && list[0].Slots > 0 {
		slots, chunks = list[0].Slots, max(list[0].MessageChunks, 1)
	}
	order, stuck := eval.Wire(p.Fifo).Schedule(p.Fifo, slots, chunks).Run()
	if len(stuck) > 0 && b.proven { // it runs where messages hold several chunks
		order, _ = eval.Wire(p.Fifo).Schedule(p.Fifo, ir.Unbounded, 1).Run()
	}
	return order
}

// runs reports whether a program with a problem of a code has steps that may run.
func runs(code diag.Code) bool {
	switch code {
	case diag.Deadlock, diag.Race, diag.WrongResult, diag.Uninitialized, diag.Undecided, diag.NotFinal, diag.Uneven:
		return true
	}
	return code.Warning()
}
