package selectcmd

import (
	"fmt"
	"text/tabwriter"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/simulatecmd"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/selection"
)

func printSelected(a *cli.App, s *choose.Selector, is *selected) error {
	if a.JSON {
		return selectedJSON(a, s, is)
	}
	fmt.Fprintf(a.Stdout, "%v of %s %s on %s, simulated, by %v%s\n\n", s.Call.Kind, diag.Counted(s.Call.Ranks, "rank"),
		choosing.PlaceName(s.Call.Inplace), s.Topology.Name, s.By, s.Costs.Caveat())
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTO\tPROGRAM\tREPLICAS\tAT\tLATENCY (us)\tINTERVAL (us)\tOF THE BOUND\tSECOND\tWHY FROM HERE")
	for _, r := range is.list {
		to, next := "and above", ""
		if r.To > 0 {
			to = diag.RoughSize(r.To)
		}
		if r.Ratio > 0 {
			second := r.Next.Plain()
			if s.Target.Format != codegen.FormatProgram {
				second.Sided = selection.OneSided // as all are
			}
			next = fmt.Sprintf("%v %.2fx", second, r.Ratio)
		}
		r.Form.Choice = r.Form.Plain()
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%s\t%.2f\t%s\t%s\t%s\t%s\n",
			diag.RoughSize(r.From), to, r.Form, replicasText(r.Widths), diag.RoughSize(r.At),
			r.Latency, simulatecmd.MicrosText(r.Interval, r.Latency), is.limit.Beside(r.At, s.DType, r.Micros).Text(), next,
			r.Reason)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(a.Stdout, is.limit.Line(s.Topology))
	if err := printOwn(a, is.own); err != nil {
		return err
	}
	for _, g := range is.gaps {
		fmt.Fprintf(a.Stdout, "gap: %s\n", g)
	}
	for _, o := range is.overlaps {
		fmt.Fprintf(a.Stdout, "overlap: %s\n", o)
	}
	if len(is.gaps)+len(is.overlaps) == 0 {
		fmt.Fprintln(a.Stdout, "each size runs exactly one of these programs")
	}
	for _, n := range is.notes {
		fmt.Fprintf(a.Stdout, "note: %s\n", n)
	}
	return nil
}

// printOwn says how the user's files stand beside what is the fastest.
func printOwn(a *cli.App, own []choose.Standing) error {
	if len(own) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AT\tYOUR FILE\tREPLICAS\tLATENCY (us)\tINTERVAL (us)\tBESIDE THE FASTEST")
	for _, o := range own {
		if o.Err != nil {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t%s\n", diag.RoughSize(o.At), diag.Printable(o.Program), diag.Printable(firstText(o.Err)))
			continue
		}
		replicas := o.Replicas
		o.Form.Choice = o.Form.Plain()
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%.2fx\n",
			diag.RoughSize(o.At), diag.Printable(o.Form.String()), simulatecmd.ReplicasText(replicas),
			o.Latency, simulatecmd.MicrosText(o.Interval, o.Latency), o.Ratio)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// replicasText returns how many replicas a range has, from the fewest to the most.
func replicasText(widths []choose.Width) string {
	least, most := widths[0].Replicas, widths[0].Replicas
	for _, w := range widths {
		least, most = min(least, w.Replicas), max(most, w.Replicas)
	}
	switch {
	case most == 0:
		return "-"
	case least == most:
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// A Document is what select --json prints.
type Document struct {
	Schema     int           `json:"schema"`
	Collective string        `json:"collective"`
	Topology   string        `json:"topology"`
	Target     string        `json:"target"`
	Ranks      int           `json:"ranks"`
	Inplace    bool          `json:"inplace"`
	Guessed    bool          `json:"unmeasured,omitempty" doc:"nobody measured the device's costs: times are estimates"`
	By         string        `json:"by" doc:"latency or interval: what us and behind are of"`
	Ranges     []rangeRow    `json:"ranges"`
	Own        []standingRow `json:"own,omitempty" doc:"the files beside the collective"`
	Gaps       []string      `json:"gaps"`
	Overlaps   []string      `json:"overlaps"`
	Notes      []string      `json:"notes"`
}

// A rangeRow is a range of sizes.
type rangeRow struct {
	From int64 `json:"from"`
	To   int64 `json:"to,omitempty" doc:"absent: all above"`
	At   int64 `json:"at" doc:"the size that the times are of"`
	choose.Form
	Micros   float64 `json:"us" doc:"the time that by names"`
	Latency  float64 `json:"latency_us" doc:"of one call alone"`
	Interval float64 `json:"interval_us,omitempty" doc:"of calls one after the other; absent where it is not known"`
	Next     string  `json:"next,omitempty" doc:"the second fastest program"`
	Ratio    float64 `json:"behind,omitempty" doc:"how many times as long next takes"`
	Reason   string  `json:"reason,omitempty" doc:"why the range begins here"`

	choosing.Beside
}

// A standingRow is how a file of the user stands beside the fastest.
type standingRow struct {
	At int64 `json:"at"`
	choose.Form
	Latency  float64 `json:"latency_us,omitempty"`
	Interval float64 `json:"interval_us,omitempty"`
	Ratio    float64 `json:"behind,omitempty" doc:"how many times as long as the fastest it takes"`
	Why      string  `json:"why,omitempty" doc:"why it does not run there"`
}

func selectedJSON(a *cli.App, s *choose.Selector, is *selected) error {
	var own []standingRow
	for _, o := range is.own {
		at := standingRow{At: o.At, Form: o.Form, Latency: o.Latency, Interval: o.Interval, Ratio: o.Ratio}
		if o.Err != nil {
			at.Why = firstText(o.Err)
		}
		own = append(own, at)
	}
	rows := []rangeRow{}
	for _, r := range is.list {
		next := ""
		if r.Ratio > 0 {
			next = r.Next.String()
		}
		rows = append(rows, rangeRow{r.From, r.To, r.At, r.Form, r.Micros, r.Latency, r.Interval, next, r.Ratio, r.Reason,
			is.limit.Beside(r.At, s.DType, r.Micros)})
	}
	return a.WriteJSON(Document{cli.Schema, s.Call.Kind.String(), s.Topology.Name, s.Target.Name, s.Call.Ranks,
		s.Call.Inplace, s.Costs.Unmeasured, s.By.String(), rows, own, is.gaps, is.overlaps,
		append(is.notes, a.Notes.List().Notes...)})
}
