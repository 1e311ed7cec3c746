package synthcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"mscclc/simulate"
	"mscclc/synthesis"
	"mscclc/synthesis/certificate"
	"mscclc/topology"

	"github.com/spf13/cobra"
)

// A made is a program that was made, with what is known of it.
type made struct {
	result  *synthesis.Result
	verdict *certificate.Verdict
	form    choose.Form // the fastest by simulation
	micros  float64     // of simulated bytes; 0 where nothing was simulated
	why     error       // why nothing was
}

// simulated is how large the calls are that programs are compared by.
const simulated = 1 << 30

// most is how many hops of trees a program has that is simulated to find the best number of trees.
const most = 6000

func synthesize(cmd *cobra.Command, a *cli.App, arg string, f *flags) error {
	kind, ok := ir.KindByName(cli.Collective(arg))
	if !ok || !slices.Contains(certificate.Kinds, kind) {
		return cli.Usagef("synthesize has %s, and not %q", cli.List(kindNames()), diag.Printable(arg))
	}
	if f.topology == "" {
		return cli.Usagef("synthesize needs --topology").Hint("mscclc topo lists the machines that it knows")
	}
	if err := a.Claims(cli.Named{"-o": f.out, "--certificate": f.certificate}, topology.File(f.topology)); err != nil {
		return err
	}
	t, err := a.TopologyOf(f.topology, "")
	if err != nil {
		return err
	}
	root, given := cli.Root(f.root)
	if err := cli.CheckRoot(kind, t.Ranks(), root, given); err != nil {
		return err
	}
	counts, err := f.counts()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.limit)
	defer cancel()
	best, err := bestOf(ctx, a, t, synthesis.Request{Kind: kind, Root: root}, counts)
	if err != nil {
		return err
	}
	return write(a, t, f, best)
}

// counts returns the numbers of trees that are tried.
func (f *flags) counts() ([]int, error) {
	if f.chunks == "best" {
		return []int{0, 1, 2, 3, 4, 6, 8}, nil
	}
	n, err := strconv.Atoi(f.chunks)
	if err != nil || n < 1 || n > synthesis.MostChunks {
		return nil, cli.Usagef("--chunks is best, or a number from 1 to %d, not %q", synthesis.MostChunks, f.chunks)
	}
	return []int{n}, nil
}

// bestOf makes a program for each number of trees, and returns the fastest by simulation. What is not simulated is
// judged by its certificate.
func bestOf(ctx context.Context, a *cli.App, t *topology.Topology, r synthesis.Request,
	counts []int) (best *made, err error) {
	bar := a.Progress(len(counts), "synthesize")
	defer bar.Watch()()
	for _, k := range counts {
		r.Chunks = k
		m, err := makeOne(ctx, t, r)
		bar.Step()
		switch {
		case err != nil && best != nil:
			continue // time is over, or these do not fit
		case err != nil:
			return nil, err
		}
		if hops := m.hops(); hops <= most || best == nil && len(counts) == 1 && hops <= 10*most {
			m.why = m.simulate(t)
		}
		if best == nil || m.better(best) {
			best = m
		}
	}
	return best, nil
}

// better compares by time, and by the share of the bound where one of the two was not simulated.
func (m *made) better(o *made) bool {
	if m.micros > 0 && o.micros > 0 {
		return m.micros < o.micros
	}
	return m.verdict.Share() > o.verdict.Share()
}

func (m *made) hops() (n int) {
	for _, list := range [][]synthesis.Tree{m.result.Plan.Spread, m.result.Plan.Gather} {
		for _, t := range list {
			n += len(t.Hops)
		}
	}
	return n
}

// makeOne makes a program, proves it, and checks its certificate and that it is the certificate's.
func makeOne(ctx context.Context, t *topology.Topology, r synthesis.Request) (*made, error) {
	found, err := synthesis.Find(ctx, t, r)
	if err != nil {
		return nil, err
	}
	m := &made{result: found}
	if m.verdict, err = certificate.Check(&found.Certificate, t); err != nil {
		return nil, fmt.Errorf("the certificate is wrong: %w", err)
	}
	return m, m.prove()
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

// simulate finds the form in which the program is the fastest.
func (m *made) simulate(t *topology.Topology) error {
	target, err := codegen.TargetByName("program")
	if err != nil {
		return err
	}
	costs, err := simulate.CostsOf(t.Device)
	if err != nil {
		return err
	}
	p := &m.result.Plan
	call := simulate.Call{Bytes: simulated, DType: data.BF16}
	s, err := choosing.Selector(p.Kind.String(), t, costs, call, target, false, p.Root)
	if err != nil {
		return err
	}
	s.OwnOnly, s.Rough = true, true
	s.Own = choose.Shelf{{Name: p.Name + ".mscl", File: p.Name + ".mscl", Text: []byte(p.Text())}}
	list, err := s.Sizes([]int64{simulated})
	if err != nil {
		return err
	}
	m.form, m.micros = list[0].Form, list[0].Latency
	return nil
}

// A Document is what synthesize prints with --json.
type Document struct {
	Schema      int     `json:"schema"`
	Collective  string  `json:"collective"`
	Topology    string  `json:"topology"`
	Ranks       int     `json:"ranks"`
	Bound       float64 `json:"bound_gbs" doc:"of a call's bytes, as nccl-tests counts them, which no algorithm exceeds"`
	Cut         string  `json:"cut" doc:"what limits it"`
	Reached     float64 `json:"reached_gbs" doc:"by the trees, as the certificate proves"`
	Trees       int     `json:"trees"`
	Height      int     `json:"height" doc:"the most hops from a root to a rank"`
	Micros      float64 `json:"micros,omitempty" doc:"of a call of 1G, simulated in the program's fastest form"`
	Form        string  `json:"form,omitempty"`
	Output      string  `json:"output,omitempty"`
	Certificate string  `json:"certificate,omitempty"`
	cli.Noted
}

func write(a *cli.App, t *topology.Topology, f *flags, m *made) error {
	doc := m.document(a, t, f)
	m.result.Plan.Header = doc.header()
	if err := m.prove(); err != nil { // as it is written, with its header
		return err
	}
	text := m.result.Plan.Text()
	if f.certificate != "" {
		err := a.WriteTo(f.certificate, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(&m.result.Certificate)
		})
		if err != nil {
			return err
		}
	}
	if a.JSON && cli.IsStdout(f.out) {
		return a.WriteJSON(doc)
	}
	if err := a.WriteTo(f.out, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(doc)
	}
	for _, line := range doc.lines() {
		a.Say("%s", line)
	}
	return nil
}

func (m *made) document(a *cli.App, t *topology.Topology, f *flags) *Document {
	p := &m.result.Plan
	reached, _ := m.verdict.Reached.Float64()
	d := &Document{Schema: cli.Schema, Collective: p.Kind.String(), Topology: t.Name, Ranks: p.Ranks,
		Bound: m.result.Bound.MBs() / 1e3, Cut: m.result.Bound.Cut, Reached: reached / 1e3, Micros: m.micros,
		Output: f.out, Certificate: f.certificate}
	for _, list := range [][]synthesis.Tree{p.Spread, p.Gather} {
		for _, tree := range list {
			d.Trees += int(tree.Count)
			d.Height = max(d.Height, tree.Height())
		}
	}
	if m.micros > 0 {
		d.Form = m.form.Variant.Sided
		if d.Form == "" {
			d.Form = "one-sided"
		}
		d.Form += " " + m.form.Protocol + m.form.LanesText()
	} else if m.why != nil && !errors.Is(m.why, context.DeadlineExceeded) {
		a.Note("", "not simulated: %v", m.why)
	}
	d.Noted = a.Notes.List()
	return d
}

// header returns the comment at the top of the program.
func (d *Document) header() []string {
	return append([]string{fmt.Sprintf("%s by trees, for %s. mscclc synthesize made it.", d.Collective, d.Topology), ""}, d.lines()...)
}

// lines say how good the program is.
func (d *Document) lines() []string {
	list := []string{
		fmt.Sprintf("bound: %.4g GB/s; the cut is %s", d.Bound, d.Cut),
		fmt.Sprintf("trees: %d, of at most %d hops, reach %.1f %% of the bound", d.Trees, d.Height, 100*d.Reached/d.Bound),
	}
	if d.Micros > 0 {
		rate := float64(simulated) / d.Micros / 1e3
		list = append(list, fmt.Sprintf("simulated: a call of 1G takes %.0f us (%s), %.1f %% of the bound", d.Micros, d.Form, 100*rate/d.Bound))
	}
	return list
}
