package synthcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/selection"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// A Document is what synthesize prints with --json.
type Document struct {
	Schema      int       `json:"schema"`
	Collective  string    `json:"collective"`
	Topology    string    `json:"topology"`
	Without     []string  `json:"without,omitempty" doc:"what is down"`
	Ranks       int       `json:"ranks"`
	GPUs        []int32   `json:"gpus" doc:"of the topology, by rank"`
	Bound       float64   `json:"bound_gbs" doc:"of a call's bytes, as nccl-tests counts them, which no algorithm exceeds"`
	Cut         string    `json:"cut" doc:"what limits it"`
	Reached     float64   `json:"reached_gbs" doc:"by the trees, as the certificate proves"`
	Trees       int       `json:"trees" doc:"or routes, of alltoall"`
	Height      int       `json:"height" doc:"the most hops from a root to a rank"`
	Schedule    *Schedule `json:"schedule,omitempty"`
	Micros      float64   `json:"micros,omitempty" doc:"of a call of 1G, simulated in the program's fastest form"`
	Form        string    `json:"form,omitempty"`
	Output      string    `json:"output,omitempty"`
	Certificate string    `json:"certificate,omitempty"`
	cli.Noted

	shape string // what the trees are called
	seats string // on which GPUs ranks are, where these are not all
}

func write(a *cli.App, t *topology.Topology, f *flags, m *made) error {
	doc := m.document(a, t, f)
	m.result.Plan.Header = doc.header()
	if err := m.prove(); err != nil { // as it is written, with its header
		return err
	}
	if err := m.writeBeside(a, t, f, doc); err != nil {
		return err
	}
	if a.JSON && cli.IsStdout(f.out) {
		return a.WriteJSON(doc)
	}
	if err := m.writeText(a, f.out); err != nil {
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

// writeTrees writes what is known of trees whose program is not made.
func writeTrees(a *cli.App, t *topology.Topology, f *flags, m *made) error {
	doc := m.document(a, t, f)
	if err := m.writeBeside(a, t, f, doc); err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(doc)
	}
	return a.WriteTo("", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, strings.Join(doc.lines(), "\n"))
		return err
	})
}

// writeBeside writes the certificate and the picture, where they are asked for.
func (m *made) writeBeside(a *cli.App, t *topology.Topology, f *flags, doc *Document) error {
	if f.certificate != "" {
		if err := m.writeCertificate(a, f.certificate); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	return a.WriteTo(f.svg, func(w io.Writer) error { return draw(w, t, doc, &m.result.Certificate) })
}

// writeText writes the program.
func (m *made) writeText(a *cli.App, file string) error {
	return a.WriteTo(file, func(w io.Writer) error { _, err := io.WriteString(w, m.result.Plan.Text()); return err })
}

func (m *made) writeCertificate(a *cli.App, file string) error {
	return a.WriteTo(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(&m.result.Certificate) })
}

func (m *made) document(a *cli.App, t *topology.Topology, f *flags) *Document {
	p := &m.result.Plan
	reached, _ := m.verdict.Reached.Float64()
	d := &Document{Schema: cli.Schema, Collective: p.Kind.String(), Topology: t.Name, Without: f.part.Without,
		Ranks: p.Ranks, GPUs: m.gpus, seats: seats(t, m.gpus), shape: certificate.Trees(p.Kind),
		Bound: m.result.Bound.MBs() / 1e3, Cut: m.result.Bound.Cut, Reached: reached / 1e3, Micros: m.micros,
		Output: f.out, Certificate: f.certificate, Schedule: scheduleOf(m.result), Trees: m.trees()}
	for _, tree := range p.Trees() {
		d.Height = max(d.Height, tree.Height())
	}
	if m.micros > 0 {
		if d.Form = "one-sided"; m.form.Sided != selection.OneSided {
			d.Form = m.form.Sided.String()
		}
		d.Form += " " + m.form.Protocol.String() + m.form.LanesText()
	} else if m.why != nil && !errors.Is(m.why, context.DeadlineExceeded) {
		why := m.why.Error()
		if list := (diag.List)(nil); errors.As(m.why, &list) {
			why = list[0].Text
		}
		a.Note("", "not simulated: %s", why)
	}
	d.Noted = a.Notes.List()
	return d
}

// on says on which machine.
func (d *Document) on() string {
	if len(d.Without) == 0 {
		return d.Topology
	}
	return d.Topology + " without " + strings.Join(d.Without, ", ")
}

// header returns the comment at the top of the program.
func (d *Document) header() []string {
	list := []string{fmt.Sprintf("%s by %s, for %s. mscclc synthesize made it.", d.Collective, d.shape, d.on()), ""}
	if d.seats != "" {
		list = append(list, d.seats)
	}
	return append(list, d.lines()...)
}

// seats says on which GPUs of a topology the ranks are: ranks 0-7 are GPUs 0-3,8-11. It is empty where they are all.
func seats(t *topology.Topology, gpus []int32) string {
	var list []string
	other := len(gpus) < t.Ranks()
	for first := 0; first < len(gpus); {
		last := first
		for last+1 < len(gpus) && gpus[last+1] == gpus[last]+1 {
			last++
		}
		text := fmt.Sprint(gpus[first])
		if last > first {
			text += fmt.Sprintf("-%d", gpus[last])
		}
		list, other = append(list, text), other || int(gpus[first]) != first
		first = last + 1
	}
	if !other {
		return ""
	}
	return fmt.Sprintf("ranks 0-%d are GPUs %s", len(gpus)-1, strings.Join(list, ","))
}

// lines say how good the program is.
func (d *Document) lines() []string {
	list := []string{
		fmt.Sprintf("bound: %.4g GB/s; the cut is %s", d.Bound, d.Cut),
		fmt.Sprintf("%s: %d, of at most %d hops, reach %.1f %% of the bound", d.shape, d.Trees, d.Height,
			100*d.Reached/d.Bound),
	}
	if d.Schedule != nil {
		list = append(list, d.Schedule.lines(d.Collective)...)
	}
	if d.Micros > 0 {
		rate := float64(simulated) / d.Micros / 1e3
		list = append(list, fmt.Sprintf("simulated: a call of 1G takes %.0f us (%s), %.1f %% of the bound", d.Micros,
			d.Form, 100*rate/d.Bound))
	}
	return list
}
