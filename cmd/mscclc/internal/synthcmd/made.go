package synthcmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/synthesis"
	"mscclc/synthesis/certificate"
	"mscclc/topology"

	"github.com/spf13/cobra"
)

// A made is a program that was made, with what is known of it.
type made struct {
	gpus    []int32 // indexed by rank
	result  *synthesis.Result
	verdict *certificate.Verdict
	form    choose.Form // the fastest by simulation
	micros  float64     // of simulated bytes; 0 where nothing was simulated
	why     error       // why nothing was
	least   bool        // no program has fewer hops
}

// simulated is how large the calls are that programs are compared by.
const simulated = 1 << 30

// most is how many hops of trees a program has that is simulated to find the best number of trees.
const most = 6000

// mostListed is how many trees of a rank a certificate has at most, where no program is made.
const mostListed = 1024

func synthesize(cmd *cobra.Command, a *cli.App, arg string, f *flags) error {
	kind, ok := ir.KindByName(cli.Collective(arg))
	if !ok || !slices.Contains(certificate.Kinds, kind) {
		return cli.Usagef("synthesize has %s, and not %q", cli.List(kindNames()), diag.Printable(arg))
	}
	if f.topology == "" {
		return cli.Usagef("synthesize needs --topology").Hint("mscclc topo lists the machines that it knows")
	}
	if err := f.claims(a); err != nil {
		return err
	}
	t, err := a.TopologyOf(f.topology, "")
	if err != nil {
		return err
	}
	counts, err := f.counts()
	if err != nil {
		return err
	}
	r, t, err := f.request(kind, t)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.limit)
	defer cancel()
	if f.sizes {
		return forSizes(ctx, a, t, f, *r)
	}
	best, err := bestOf(ctx, a, t, *r, counts, f.noProgram)
	if err != nil {
		return err
	}
	if f.noProgram {
		return writeTrees(a, t, f, best)
	}
	return write(a, t, f, best)
}

// claims checks what is to be written.
func (f *flags) claims(a *cli.App) error {
	out := cli.Named{"-o": f.out, "--certificate": f.certificate, "--svg": f.svg}
	if f.sizes { // to a folder
		delete(out, "-o")
	}
	if f.noProgram && (f.out != "" || f.sizes) {
		return cli.Usagef("--no-program makes no program, and takes no -o and --sizes")
	}
	if f.svg != "" {
		if err := cli.WrongEnding("--svg", f.svg, cli.DrawingEndings, ""); err != nil {
			return err
		}
	}
	return a.Claims(out, topology.File(f.topology))
}

// request returns what is asked for of a topology, and what is left of the topology.
func (f *flags) request(kind ir.Kind, t *topology.Topology) (*synthesis.Request, *topology.Topology, error) {
	root, given := cli.Root(f.root)
	if err := cli.CheckRoot(kind, t.Ranks(), root, given); err != nil {
		return nil, nil, err
	}
	if !given {
		root = -1
	}
	less, gpus, err := f.part.Of(t)
	if err != nil {
		return nil, nil, err
	}
	root, err = choosing.RootAmong(gpus, root)
	return &synthesis.Request{Kind: kind, Root: root, GPUs: gpus, NoRelay: f.part.NoRelay}, less, err
}

// counts returns the numbers of trees that are tried.
func (f *flags) counts() ([]int, error) {
	if f.chunks == "best" {
		return []int{0, 1, 2, 3, 4, 6, 8}, nil
	}
	limit := synthesis.MostChunks
	if f.noProgram {
		limit = mostListed
	}
	n, err := strconv.Atoi(f.chunks)
	if err != nil || n < 1 || n > limit {
		return nil, cli.Usagef("--chunks is best, or a number from 1 to %d, not %q", limit, f.chunks)
	}
	return []int{n}, nil
}

// bestOf makes a program for each number of trees, and returns the fastest by simulation. What is not simulated is
// judged by its certificate. With treesOnly, that is all, and no program is compiled.
func bestOf(ctx context.Context, a *cli.App, t *topology.Topology, r synthesis.Request, counts []int,
	treesOnly bool) (best *made, err error) {
	asks := requests(t, r, counts)
	bar := a.Progress(len(asks), "synthesize")
	defer bar.Watch()()
	for _, r := range asks {
		m, err := findOne(ctx, t, r)
		if err == nil && !treesOnly {
			err = m.prove()
		}
		bar.Step()
		switch {
		case err != nil && (best != nil || r.Alike && ctx.Err() == nil):
			continue // time is over, or these do not fit
		case err != nil:
			return nil, err
		}
		if best != nil && m.verdict.Share() < best.verdict.Share()/2 {
			continue
		}
		if hops := m.hops(); !treesOnly && (hops <= most || best == nil && len(asks) == 1 && hops <= 10*most) {
			m.why = m.simulate(t, r.GPUs, simulated)
		}
		if best == nil || m.better(best) {
			best = m
		}
		if len(r.GPUs) > manyRanks && r.Alike && m.verdict.Share() >= alikeEnough {
			break // others take long, and are no better by much
		}
	}
	return best.inLanes(t), nil
}

// mostLabels is how many labels of lanes a program has at most.
const mostLabels = 1 << 15

// inLanes returns the program with a lane for each tree if that is faster by simulation, or else m.
func (m *made) inLanes(t *topology.Topology) *made {
	p := m.result.Plan
	if m.micros == 0 || p.Shifts != nil || p.Kind == ir.AllToAll || 2*m.trees() > mostLabels {
		return m
	}
	result := *m.result
	result.Plan.Lanes = true
	laned := *m
	if laned.result = &result; laned.prove() != nil || laned.simulate(t, m.gpus, simulated) != nil || !laned.better(m) {
		return m
	}
	return &laned
}

// trees returns how many trees all ranks have together.
func (m *made) trees() (n int) {
	for _, t := range m.result.Plan.Trees() {
		n += int(t.Count)
	}
	return n * m.result.Plan.Images()
}

// Of machines with more than manyRanks GPUs, trees that are alike and reach such a share of the bound are enough.
const manyRanks, alikeEnough = 24, 0.99

// requests returns what is tried: few trees that are alike for all ranks, and each number of trees, over all links, and
// over those from GPU to GPU alone.
func requests(t *topology.Topology, r synthesis.Request, counts []int) (list []synthesis.Request) {
	list = alike(r, counts)
	for _, r.Direct = range []bool{false, true} {
		for _, r.Chunks = range counts {
			if !r.Direct || synthesis.HasDirect(t) {
				list = append(list, r)
			}
		}
	}
	return list
}

// alike returns requests of few trees that are alike for all ranks, of those numbers that counts has.
func alike(r synthesis.Request, counts []int) (list []synthesis.Request) {
	if r.Kind == ir.AllToAll || r.Kind.Rooted() {
		return nil
	}
	r.Alike = true
	for _, r.Hops = range []int{0, synthesis.LeastHops} {
		for _, r.Chunks = range counts {
			if r.Chunks == 1 || r.Chunks == 2 || r.Chunks == 4 {
				list = append(list, r)
			}
		}
	}
	return list
}

// better compares by time, and by the share of the bound where one of the two was not simulated.
func (m *made) better(o *made) bool {
	if m.micros > 0 && o.micros > 0 {
		return m.micros < o.micros
	}
	return m.verdict.Share() > o.verdict.Share()
}

// hops returns how many hops the trees of all ranks have.
func (m *made) hops() (n int) {
	for _, t := range m.result.Plan.Trees() {
		n += len(t.Hops)
	}
	return n * m.result.Plan.Images()
}

// makeOne makes a program, proves it, and checks its certificate and that it is the certificate's.
func makeOne(ctx context.Context, t *topology.Topology, r synthesis.Request) (*made, error) {
	m, err := findOne(ctx, t, r)
	if err != nil {
		return nil, err
	}
	return m, m.prove()
}

// findOne finds trees, and checks their certificate.
func findOne(ctx context.Context, t *topology.Topology, r synthesis.Request) (*made, error) {
	found, err := synthesis.Find(ctx, t, r)
	if err != nil {
		return nil, err
	}
	return checked(t, r, found)
}

// checked proves what was found for a request.
func checked(t *topology.Topology, r synthesis.Request, found *synthesis.Result) (m *made, err error) {
	m = &made{gpus: r.GPUs, result: found}
	part := certificate.Part{GPUs: r.GPUs, NoRelay: r.NoRelay}
	if m.verdict, err = certificate.Check(&found.Certificate, t, part); err != nil {
		return nil, fmt.Errorf("the certificate is wrong: %w", err)
	}
	return m, nil
}

// prove compiles and proves the program, and compares it with the certificate.
func (m *made) prove() error {
	other, err := compiled("synthesized.mscl", []byte(m.result.Plan.Text()), &m.result.Certificate)
	if other != nil {
		return other
	}
	return err
}

// compiled compiles and proves a program. Other is why it is not that of a certificate.
func compiled(name string, text []byte, c *certificate.Certificate) (other, err error) {
	opt := mscclc.Options{OneSided: true}
	opt.Stage = func(value any) error {
		if d, ok := value.(*ir.ChunkDAG); ok {
			other = synthesis.Matches(c, d)
		}
		return other
	}
	_, err = mscclc.Compile(name, text, opt)
	return other, err
}

// selector compares programs of mscclc's executor on some GPUs of a topology.
func selector(t *topology.Topology, gpus []int32, kind ir.Kind, root int) (*choose.Selector, error) {
	t, err := t.Only(gpus)
	if err != nil {
		return nil, err
	}
	target, err := codegen.TargetByName("program")
	if err != nil {
		return nil, err
	}
	costs, err := devices.CostsOf(t.Device)
	if err != nil {
		return nil, err
	}
	return choosing.Selector(kind.String(), t, costs, simulate.Call{DType: data.BF16}, target, false, root)
}

// simulate finds the form in which the program is the fastest on some GPUs of a topology, for calls of a given number
// of bytes.
func (m *made) simulate(t *topology.Topology, gpus []int32, bytes int64) error {
	p := &m.result.Plan
	s, err := selector(t, gpus, p.Kind, p.Root)
	if err != nil {
		return err
	}
	s.OwnOnly, s.Rough = true, true
	name := p.Name + ".mscl"
	tree, err := syntax.Parse(name, []byte(p.Text()))
	if err != nil {
		return err
	}
	s.Own = choose.UserPrograms{{Name: name, File: name, Tree: tree}}
	list, err := s.Sizes([]int64{bytes})
	if err != nil {
		return err
	}
	m.form, m.micros = list[0].Form, list[0].Latency
	return nil
}
