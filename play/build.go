package play

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/topology"
)

// A Request asks for a Scene.
type Request struct {
	Name string // of the file, as messages have it; its ending says what it is
	Text []byte
	Kind codegen.FileKind                  // what it is, or KindUnknown
	Open func(path string) ([]byte, error) // files that the text imports; nil has none

	Params   lang.Params // of the algorithm
	Protocol *ir.Protocol
	OneSided bool
	Lanes    int // of a one-sided program; 0 is 1

	Machine  string // as topology.Open takes it; "" is h200. With Topology its parameters, as in nodes=2
	Topology string // the text of a .topo file, or ""
	Bytes    int64  // of the call that is simulated; 0 is 1 MiB
	DType    data.DType

	Stale func() bool // the scene is not wanted any more; nil never is
}

// A Result is a Scene, and what the server and the command need beside it.
type Result struct {
	Scene    *Scene
	Problems diag.List
	Program  *either.Program // nil where there is none
	Proven   bool
}

// ErrStale is the error of a scene that is not wanted any more.
var ErrStale = errors.New("the scene is not wanted any more")

// Bounds of a scene: ranks that a file has which does not say how many it is for; and what a program has at most that
// is drawn, proven and simulated while it is edited.
const (
	mostRanks     = 16
	fewRanks      = "8"
	mostOps       = 8192
	mostCells     = 1 << 16
	mostSimulated = 50_000 // steps
)

var (
	runLimits   = syntax.Limits{Steps: 4_000_000, Ops: 100_000, Cells: 1 << 20, File: 1 << 20, List: 100_000}
	proofLimits = verify.Options{Cells: 4 << 20, Moves: 4 << 20, Work: 16 << 20}
	readLimits  = codegen.ReadOptions{MaxCells: 4 << 20, MaxMoved: 4 << 20, MaxFile: 8 << 20}
)

// A builder makes one scene.
type builder struct {
	*Request
	scene    *Scene
	found    diag.List // what rejects the program, or the text
	warned   diag.List
	tree     *syntax.File    // of a source
	opt      lang.Options    // that it is run with
	chunks   *ir.ChunkDAG    // of a source in chunks
	alg      *Algorithm      // nil where nothing is to be shown
	run      *Run            // nil where it is not
	program  *either.Program // nil where there is none
	judged   *either.Program // that the proof was of, which has loops of channels several times
	report   verify.Report
	order    []int32 // steps of judged that run, in an order in which they may end
	proven   bool
	large    bool // too large to be proven here
	topology *topology.Topology
	seats    []int32   // by rank: its GPU; nil where the machine has no room
	steps    [][]int32 // by step of program: its operations, as in operationsOf
}

// Build makes the scene of r. It fails with ErrStale only: the scene says what is wrong with a text.
func Build(r *Request) (*Result, error) {
	own := *r
	own.Bytes, own.Lanes = cmp.Or(r.Bytes, 1<<20), max(r.Lanes, 1)
	if own.Topology == "" {
		own.Machine = cmp.Or(r.Machine, "h200")
	}
	if own.Open == nil {
		own.Open = func(path string) ([]byte, error) { return nil, fmt.Errorf("%s: no such file", path) }
	}
	b := &builder{Request: &own, scene: newScene(r.Name)}
	b.scene.Text = string(b.textOf(r.Name))
	b.machine()
	if err := b.compile(); err != nil {
		return nil, err
	}
	b.params()
	b.verdict()
	b.collective()
	b.frames()
	if b.stale() {
		return nil, ErrStale
	}
	b.simulate()
	b.fault()
	return &Result{b.scene, slices.Concat(b.found, b.warned), b.program, b.proven}, nil
}

func newScene(name string) *Scene {
	return &Scene{Schema: SceneSchema, Name: name, Verdict: Verdict{Problems: []Problem{}}, Params: []Param{},
		Collective: Collective{Root: -1, NodeOf: []int{}}, Buffers: []Buffer{}, Columns: []Column{}, Contents: []Content{},
		Start: []Holds{}, Ops: []Op{}, Frames: []Frame{}, Wrong: []Wrong{}, Notes: []string{},
		Machine: Machine{Vertices: []Vertex{}, Links: []Link{}, Seats: []int{}, Paths: []Path{}}}
}

func (b *builder) note(format string, args ...any) {
	b.scene.Notes = append(b.scene.Notes, fmt.Sprintf(format, args...))
}

func (b *builder) stale() bool { return b.Stale != nil && b.Stale() }

// params lists the parameters of the file.
func (b *builder) params() {
	if b.tree == nil {
		return
	}
	info := b.tree.Info()
	for _, p := range info.Params {
		value := p.Default
		given, set := b.opt.Params[p.Name]
		if set {
			value = fmt.Sprint(given)
		}
		b.scene.Params = append(b.scene.Params, Param{Name: p.Name, Value: value, Default: p.Default, Given: set})
	}
}

// collective says what the program must do, and where its ranks are.
func (b *builder) collective() {
	s := b.scene
	s.Sided = "two"
	if b.OneSided && b.tree != nil || b.program != nil && b.program.OneSided != nil { // a compiled program says it itself
		s.Sided = "one"
	}
	h := b.header()
	if h == nil {
		return
	}
	b.seat(h)
	c := h.Coll
	s.Protocol = h.Protocol.String()
	s.Collective = Collective{Kind: c.Kind.String(), Ranks: c.Ranks, Root: -1, InPlace: c.Inplace, Nodes: 1,
		NodeOf: []int{}}
	if c.Kind.Rooted() {
		s.Collective.Root = c.Root
	}
	for r := range c.Ranks {
		node := 0
		switch {
		case b.seats != nil:
			node = b.topology.Places[b.seats[r]].Node
		case h.RanksPerNode > 0:
			node = r / h.RanksPerNode
		}
		s.Collective.NodeOf = append(s.Collective.NodeOf, node)
		s.Collective.Nodes = max(s.Collective.Nodes, node+1)
	}
}

// header returns what the program and the algorithm share, or nil where there is neither.
func (b *builder) header() *ir.Header {
	switch {
	case b.program != nil:
		return &b.program.Header
	case b.alg != nil:
		return &b.alg.Header
	}
	return nil
}
