package tunecmd

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file says what was found.

// A Document is what tune --json prints.
type Document struct {
	Schema   int           `json:"schema"`
	Machine  tuned.Machine `json:"machine"`
	Measured string        `json:"measured" doc:"when that ended"`
	Times    []tuned.Time  `json:"times" doc:"what calls take by the rules"`
	Bundle   string        `json:"bundle,omitempty" doc:"the file that mscclc with takes"`
	Others   []Other       `json:"others,omitempty" doc:"of --show: what else was measured with such GPUs"`
	cli.Noted
}

// An Other is what was measured with such GPUs, and does not count here.
type Other struct {
	Machine  tuned.Machine `json:"machine"`
	Measured string        `json:"measured"`
	Reason   string        `json:"reason" doc:"why it does not count"`
}

// finish makes the bundle that mscclc with takes, and says what was found.
func (p *plan) finish(a *cli.App) error {
	p.doc.Conclude()
	if err := p.doc.Write(); err != nil {
		return cli.Unavailable("what was found cannot be kept: %v", err)
	}
	path, err := tuned.Cached(a, tuned.SpecOf(p.machine, p.doc))
	if err != nil {
		return err
	}
	if p.out != "" {
		if err := copyTo(a, path, p.out); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.WriteJSON(p.document(a, path, nil))
	}
	a.Say("%s", p.doc.Title())
	if p.out != "" {
		a.Say("%s: for mscclc with --bundle on machines like this one", p.out)
	} else {
		nccl := ""
		if p.tuneFlags.nccl != "" {
			nccl = "--nccl " + p.tuneFlags.nccl + " "
		}
		variable := ""
		if p.bits != "" {
			variable = "MSCCLC_BITS=" + p.bits + " "
		}
		a.Say("mscclc with takes it on this machine: %smscclc with %s-- torchrun --nproc-per-node %d train.py", variable, nccl,
			p.ranks[0])
	}
	return nil
}

func (p *plan) document(a *cli.App, bundle string, others []Other) Document {
	return Document{cli.Schema, p.doc.Machine, p.doc.Measured.Format(time.RFC3339), p.doc.Times, bundle, others,
		a.Notes.List()}
}

// copyTo writes the bundle at path to a file that only its user may change.
func copyTo(a *cli.App, path, out string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := a.WriteTo(out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	return files.Protect(out)
}

// show prints what was found, or draws it.
func (p *plan) show(a *cli.App) error {
	others := p.others(a)
	p.doc.Conclude()
	times := slices.DeleteFunc(slices.Clone(p.doc.Times), func(t tuned.Time) bool {
		kind, _ := ir.KindByName(t.Collective)
		others := p.tuneFlags.ranks != "" && !slices.Contains(p.ranks, t.Ranks)
		return others || t.Bits != p.bits || !slices.Contains(p.kinds, kind)
	})
	if len(times) == 0 {
		for _, o := range others {
			a.Note("", "%s", o)
		}
		where := "this machine" + bitsText(p.bits)
		d := diag.New(diag.Unavailable, diag.Span{}, "nothing was measured on %s (%v)", where, p.machine)
		return diag.List{d.WithHint("mscclc tune%s measures it", p.bitsArgument())}
	}
	if p.plot != "" {
		paint := func(w io.Writer) error { return drawPicture(w, p.plot, p.machine.Device, times) }
		if err := a.WriteTo(p.plot, paint); err != nil {
			return err
		}
	}
	switch {
	case a.JSON:
		return a.WriteJSON(p.document(a, "", others))
	case !p.tuneFlags.show:
		return nil
	}
	if err := p.print(a.Stdout, times); err != nil {
		return err
	}
	for _, o := range others {
		fmt.Fprintf(a.Stdout, "# %s\n", o)
	}
	return nil
}

// others returns what was measured with such GPUs and does not count here. Where no NCCL is found, the last of it that
// differs in nothing else is what is shown.
func (p *plan) others(a *cli.App) (list []Other) {
	docs := tuned.Kept(p.machine.Device)
	if p.nccl == "" && len(p.doc.Groups) == 0 {
		for _, d := range docs {
			if m := d.Machine; m.NCCL != "" {
				if m.NCCL = ""; m == p.machine {
					p.doc, p.machine = d, d.Machine
					a.Note("", "%s is not found here, and what was measured beside NCCL %s is shown", nccllib.Soname, d.Machine.NCCL)
					break
				}
			}
		}
	}
	for _, d := range docs {
		if d.Machine != p.machine {
			list = append(list, Other{d.Machine, d.Measured.Format(time.RFC3339), d.Machine.Unlike(p.machine)})
		}
	}
	return list
}

// String says in a line what does not count, and why.
func (o Other) String() string {
	return fmt.Sprintf("what was measured on %.10s does not count here (%v): %s", o.Measured, o.Machine, o.Reason)
}

// print prints a table of all times, and the geometric means.
func (p *plan) print(to io.Writer, times []tuned.Time) error {
	fmt.Fprintf(to, "# %s\n", p.doc.Title())
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "collective\tranks\tlaunch\tsize\tours us\tNCCL us\tgain\truns")
	for i := range times {
		t := &times[i]
		launch := t.When
		if t.Windows {
			launch += ", windows"
		}
		if t.Bits != "" {
			launch += ", " + t.Bits
		}
		nccl, gain := "-", "-"
		if t.NCCLMicros > 0 {
			nccl, gain = fmt.Sprintf("%.2f", t.NCCLMicros), fmt.Sprintf("%.2f", t.Gain())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\n", t.Collective, ranksText(t.Ranks, t.Nodes), launch,
			cli.SizeText(t.Bytes), t.Micros, nccl, gain, t.Program)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, g := range groups(times) {
		if text := summary(times, g); text != "" {
			fmt.Fprintf(to, "# %s\n", text)
		}
	}
	return nil
}

// bitsText ends what a group is called.
func bitsText(bits string) string {
	if bits == "" {
		return ""
	}
	return " with " + bits + " bits"
}

func ranksText(ranks int, nodes string) string {
	if nodes == "" {
		return fmt.Sprint(ranks)
	}
	return fmt.Sprintf("%d on %s", ranks, nodes)
}

// groups returns the groups of times, in their order.
func groups(times []tuned.Time) (list []tuned.Group) {
	for _, t := range times {
		if !slices.Contains(list, t.Group) {
			list = append(list, t.Group)
		}
	}
	return list
}

// summary says in a line how many times as fast as NCCL calls of a group run, as the geometric mean of their sizes, or
// nothing where NCCL was not measured.
func summary(times []tuned.Time, g tuned.Group) string {
	text := ""
	least, first, last := math.Inf(1), int64(math.MaxInt64), int64(0)
	for _, when := range []string{bundle.Captured, bundle.Eager} {
		sum, n := 0.0, 0
		for _, t := range times {
			if t.Group != g || t.When != when || t.Gain() == 0 {
				continue
			}
			sum, n = sum+math.Log(t.Gain()), n+1
			least, first, last = min(least, t.Gain()), min(first, t.Bytes), max(last, t.Bytes)
		}
		if n > 0 {
			text += fmt.Sprintf(", %s %.2f", when, math.Exp(sum/float64(n)))
		}
	}
	if text == "" {
		return ""
	}
	windows := ""
	if g.Windows {
		windows = " between windows"
	}
	windows += bitsText(g.Bits)
	return fmt.Sprintf("%s of %s ranks%s, %s to %s, times as fast as NCCL: %s; least %.2f", g.Collective,
		ranksText(g.Ranks, g.Nodes), windows, cli.SizeText(first), cli.SizeText(last), text[2:], least)
}
