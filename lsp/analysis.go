package lsp

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
	"mscclc/simulate"
	"mscclc/topology"
)

// An analysis is what is found of a version of a document without a proof.
type analysis struct {
	problems diag.List
	names    *names       // of a source
	tree     *syntax.File // nil where the text is not of the grammar
	facts    *lang.Facts
	chunks   *ir.ChunkDAG // also of a file that is wrong, as far as it comes; nil of channels
	machine  *topology.Topology
	params   lang.Params // that the file was run with
	ranks    int         // that the file was run for
	fewer    bool        // than it says itself
	tooLarge bool        // to be run while it is edited
}

// A proof is what compiling and proving a version of a document found.
type proof struct {
	problems diag.List
	program  *either.Program // nil where there is none
	proven   bool
	latency  float64 // of a call on the machine, in microseconds; 0 where it is not known
	machine  string
}

// Bounds of the work on one version: what a run does in about 200 ms, and a proof in a second.
var (
	lightLimits = syntax.Limits{Steps: 2_000_000, Ops: 100_000, Cells: 1 << 20, File: 1 << 20, List: 100_000}
	proofLimits = verify.Options{Cells: 4 << 20, Moves: 4 << 20, Work: 16 << 20}
	readLimits  = codegen.ReadOptions{MaxCells: 4 << 20, MaxMoved: 4 << 20, MaxFile: maxDocument}
)

// fewRanks is for how many ranks files are run that are too large for the ranks of their own.
const fewRanks = 8

// analysis returns what is found of d without a proof.
func (d *snapshot) analysis() *analysis {
	d.once.Do(func() {
		d.light = &analysis{}
		d.light.names = resolve(nil, nil)
		switch {
		case d.isMachine():
			t, err := topology.Read(d.path, bytes.NewReader(d.text), nil)
			d.light.machine, d.light.problems = t, problemsOf(err)
		case d.isSource():
			d.source(d.light)
		}
	})
	return d.light
}

// source analyses a file of the language.
func (d *snapshot) source(a *analysis) {
	a.names = resolve(syntax.Words(d.path, d.text, lightLimits), d.importedNames)
	tree, err := syntax.ParseLimited(d.path, d.text, lightLimits)
	if err != nil {
		a.problems = problemsOf(err)
		return
	}
	a.tree = tree
	if lang.IsLibrary(tree) {
		a.problems = problemsOf(d.checkLibrary())
		return
	}
	a.params = d.server.settings(d.uri)
	err = d.expand(a, a.params)
	if info := tree.Info(); exceeded(err) {
		if _, set := a.params["ranks"]; info.Has("ranks") && !set {
			a.fewer, a.params = true, maps.Clone(a.params)
			if a.params == nil {
				a.params = lang.Params{}
			}
			a.params["ranks"] = strconv.Itoa(fewRanks)
			err = d.expand(a, a.params)
		}
		if exceeded(err) {
			a.tooLarge, err = true, nil
		}
	}
	a.problems = problemsOf(err)
}

// expand runs the file for the parameters given.
func (d *snapshot) expand(a *analysis, params lang.Params) error {
	a.facts = lang.NewFacts()
	x, err := lang.ExpandLevel(a.tree, d.langOptions(params, a.facts))
	switch {
	case err == nil && x.Chunks != nil:
		a.chunks = x.Chunks
	case err == nil:
		a.ranks = x.Channels.Coll.Ranks
		return nil
	default: // what was done before the error
		a.chunks = a.facts.Made
	}
	if a.chunks != nil {
		a.ranks = a.chunks.Coll.Ranks
	}
	return err
}

func (d *snapshot) langOptions(params lang.Params, facts *lang.Facts) lang.Options {
	return lang.Options{Params: params, Open: d.server.file, Limits: lightLimits, Facts: facts}
}

// exceeded reports whether err is of a limit, which a command may not have.
func exceeded(err error) bool {
	return slices.ContainsFunc(problemsOf(err), func(d diag.Diagnostic) bool { return d.Code == diag.Limit })
}

// problemsOf returns the diagnostics that err is, or that it is a fault of.
func problemsOf(err error) diag.List {
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		return diag.List{diag.New(diag.Internal, diag.Span{}, "%v", err)}
	}
	return list
}

// checkLibrary judges a library as an algorithm that imports it finds it.
func (d *snapshot) checkLibrary() error {
	tree, err := syntax.ParseLimited(d.path, d.text, lightLimits)
	if err != nil {
		return err
	}
	list := problemsOf(lang.CheckLibrary(tree, d.text, d.langOptions(nil, nil)))
	return slices.DeleteFunc(list, func(p diag.Diagnostic) bool { return p.Span.Filename != d.path }).Err()
}

// errStale ends the compilation of a version that is no longer the newest.
var errStale = errors.New("a newer version came")

// prove proves d, once. It returns nil where a newer version came meanwhile.
func (d *snapshot) prove() *proof {
	d.proving.Do(func() {
		switch a := d.analysis(); {
		case d.isMachine() || a.tooLarge:
			d.setProof(&proof{problems: a.problems})
		case d.isSource() && (a.tree == nil || a.problems.Rejects() || lang.IsLibrary(a.tree)):
			d.setProof(&proof{problems: a.problems})
		case d.isSource():
			d.proveSource(a)
		default:
			d.setProof(d.provePlan())
		}
	})
	return d.proofNow()
}

func (d *snapshot) setProof(p *proof) {
	d.server.mu.Lock()
	d.proof = p
	d.server.mu.Unlock()
}

// proofNow returns the proof of d, or nil where it was not made yet.
func (d *snapshot) proofNow() *proof {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	return d.proof
}

// proveSource compiles and proves a file of the language.
func (d *snapshot) proveSource(a *analysis) {
	p := &proof{}
	opt := mscclc.Options{Lang: d.langOptions(a.params, nil), Check: proofLimits, OneSided: true}
	opt.Stage = func(value any) error {
		if !d.server.current(d) {
			return errStale
		}
		if program, ok := value.(*either.Program); ok {
			p.program = program
		}
		return nil
	}
	_, err := mscclc.CompileFile(a.tree, opt)
	if errors.Is(err, errStale) {
		return
	}
	p.problems = problemsOf(err)
	if p.proven = err == nil && p.program != nil; p.proven {
		d.simulated(p, func(node []int32) (*either.Program, error) {
			again := opt
			again.Nodes, again.Unproven, again.Stage = func(int) ([]int32, error) { return node, nil }, true, nil
			return mscclc.CompileFile(a.tree, again)
		})
	}
	d.setProof(p)
}

// provePlan reads and proves a compiled program.
func (d *snapshot) provePlan() *proof {
	p := &proof{}
	opt := readLimits
	opt.Warn = func(w diag.Diagnostic) { p.problems = append(p.problems, w) }
	kind := codegen.Detect(d.text[:min(len(d.text), 1<<16)])
	switch {
	case kind == codegen.KindMSCCLPP:
		plan, c, err := mscclpp.Read(d.path, bytes.NewReader(d.text), opt)
		if err != nil {
			p.problems = append(p.problems, problemsOf(err)...)
			return p
		}
		unrolled, _, found := channels.Check(c, proofLimits)
		p.program = either.OfOneSided(unrolled)
		p.problems = slices.Concat(p.problems, plan.Ignored, mscclpp.Faults(c), found)
	case kind.Compiled():
		program, err := mscclc.ReadProgram(kind, d.path, bytes.NewReader(d.text), opt)
		if err != nil {
			p.problems = append(p.problems, problemsOf(err)...)
			return p
		}
		var found diag.List
		p.program = program
		_, found = verify.Check(program, proofLimits)
		p.problems = append(p.problems, found...)
	default:
		return p // a file of something else
	}
	if p.proven = !p.problems.Rejects(); p.proven {
		d.simulated(p, nil)
	}
	return p
}

// mostSimulated is the most steps of a program that is simulated while it is edited.
const mostSimulated = 50_000

// simulated notes how long a call of p's program takes on the machine, where that is known. Again, where not nil,
// compiles the program for ranks on several nodes: one-sided programs move data between nodes in another way.
func (d *snapshot) simulated(p *proof, again func(node []int32) (*either.Program, error)) {
	d.server.mu.Lock()
	name, bytes := d.server.machine, d.server.bytes
	d.server.mu.Unlock()
	program := p.program
	if len(program.Steps) > mostSimulated {
		return
	}
	t, err := topology.Open(name)
	if err != nil || program.Coll.Ranks > t.Ranks() {
		return
	}
	if node := simulate.DomainsOn(&program.Header, t, nil); node != nil && again != nil {
		if program, err = again(node); err != nil {
			return
		}
	}
	r, err := simulate.Run(program, t, nil, simulate.Call{Bytes: bytes, DType: data.F32, Rough: true})
	if err == nil {
		p.latency, p.machine = r.Micros, name
	}
}

// importedNames returns the functions of the file that a line imports, by their names.
func (d *snapshot) importedNames(path string) map[string]*decl {
	file := path
	if !filepath.IsAbs(path) {
		file = filepath.Join(filepath.Dir(d.path), path)
	}
	text, err := d.server.file(file)
	if err != nil {
		return nil
	}
	n := resolve(syntax.Words(file, text, lightLimits), nil)
	return maps.Clone(n.functions)
}
