package simulatecmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/picture"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/play"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
	"mscclc/topology/nccl"
)

// notSimulated says why not, and what would help: more nodes only where the topology can have them, and they do help.
func (f *Flags) notSimulated(arg string, t *topology.Topology, costs *devices.Costs, p *either.Program,
	call simulate.Call, err error) error {
	d := diag.New(diag.Unsupported, cli.FileSpan(arg), "%v", err)
	if !errors.Is(err, simulate.ErrNoWay) {
		return diag.List{d}
	}
	if errors.Is(err, simulate.ErrWide) {
		var given []string
		for _, name := range []string{"ctas", "threads"} {
			if flag := f.OneGiven(name); flag != "" {
				given = append(given, flag)
			}
		}
		if len(given) == 0 {
			return diag.List{d.WithHint("a program with fewer thread blocks a rank, or fewer --lanes, has room")}
		}
		return diag.List{d.WithHint("give fewer %s", strings.Join(given, " or "))}
	}
	larger := withNodes(f.topology, int(slices.Max(simulate.NodesOn(&p.Header, t, call.Nodes)))+1)
	if t, err := nccl.Open(larger); err == nil {
		if _, err := simulate.Run(p, t, costs, call); err == nil {
			return diag.List{d.WithHint("--topology %s has room", larger)}
		}
	}
	shows := "mscclc topo " + f.topology
	if f.device != "" {
		shows += " --device " + f.device
	}
	return diag.List{d.WithHint("%s shows its GPUs and the paths between them", shows)}
}

// withNodes returns a topology as --topology has it, of a given number of nodes.
func withNodes(spec string, nodes int) string {
	name, values, _ := strings.Cut(spec, ":")
	params := slices.DeleteFunc(strings.Split(values, ","), func(p string) bool {
		return p == "" ||
			strings.HasPrefix(p, "nodes=")
	})
	return name + ":" + strings.Join(append(params, fmt.Sprintf("nodes=%d", nodes)), ",")
}

// rowOf is the row of a call by its figure, or by the latency where the interval is not known.
func rowOf(t *topology.Topology, p *either.Program, call simulate.Call, latency, interval *simulate.Result,
	shared bool) simulatedSize {
	r := latency
	if call.Figure == simulate.Interval && interval != nil {
		r = interval
	}
	row := simulatedSize{Bytes: call.Bytes, Micros: r.Micros, Latency: latency.Micros, Replicas: call.Replicas,
		CTAs: p.CTAs(call.Replicas, shared), Passes: r.Passes, Occupied: r.Occupied}
	if interval != nil {
		row.Interval = interval.Micros
	}
	row.AlgBW, row.BusBW = bench.Bandwidths(p.Coll, call.Bytes, r.Micros)
	if r.Link >= 0 {
		row.Link = t.LinkName(r.Link)
	}
	return row
}

// boundOf returns the bound of calls of a program on a topology. There is none where switches add up: these move less.
func boundOf(t *topology.Topology, p *either.Program, call simulate.Call) choosing.Bound {
	gpus, err := simulate.Seats(&p.Header, t, call.Nodes)
	if err != nil || call.Multicast {
		return choosing.Bound{}
	}
	return choosing.BoundOn(t, p.Coll, gpus)
}

// drawSimulated simulates a call alone, and writes the pictures of it that the flags ask for.
func drawSimulated(a *cli.App, arg string, f *Flags, p *either.Program, t *topology.Topology, costs *devices.Costs,
	call simulate.Call) error {
	call.Trace, call.Figure = true, simulate.Latency
	r, err := simulate.Run(p, t, costs, call)
	if err != nil {
		return f.notSimulated(arg, t, costs, p, call, err)
	}
	looks, err := play.LooksOn(p, t, call.Nodes)
	if err != nil {
		return err
	}
	if f.trace != "" {
		if err := picture.SaveTrace(a, f.trace, p, r.Trace, looks); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	title := fmt.Sprintf("%s: %v of %s, %s, on %s: a call alone takes %.2f us", diag.Printable(arg), p.Coll.Kind,
		diag.Counted(p.Coll.Ranks, "rank"), cli.SizeText(call.Bytes), t.Name, r.Micros)
	d := picture.NewTimeline(p, r, looks, call.Replicas)
	if err := a.WriteTo(f.svg, func(w io.Writer) error { return d.Write(w, title) }); err != nil {
		return err
	}
	a.Say("%s: a drawing of %s, in %d of %s",
		f.svg, diag.Counted(len(d.Spans), "step"), d.Passes, diag.Counted(int(r.Passes), "tile iteration"))
	return nil
}

// ReplicasText returns a number of replicas, of which 0 is not known.
func ReplicasText(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// MicrosText returns a time in microseconds, of which 0 is not known where a latency is.
func MicrosText(micros, latency float64) string {
	if micros == 0 && latency > 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", micros)
}

func printSimulated(a *cli.App, arg string, t *topology.Topology, costs *devices.Costs, p *either.Program,
	by simulate.Figure, rows []simulatedSize, limit choosing.Bound) error {
	if a.JSON {
		return a.WriteJSON(Document{cli.Schema, arg, t.Name, costs.Device, p.Coll.Ranks, costs.Unmeasured, by.String(), rows,
			a.Notes.List()})
	}
	fmt.Fprintf(a.Stdout, "%s: %v of %s on %s, simulated%s\n\n", diag.Printable(arg), p.Coll.Kind,
		diag.Counted(p.Coll.Ranks, "rank"), t.Name, costs.Caveat())
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "bytes\tlatency (us)\tinterval (us)\talgbw (GB/s)\tbusbw (GB/s)\tof the bound\treplicas\ttile iterations\t\t"+
		"  the link that is busiest")
	chosen := rows[0].Program != ""
	if chosen {
		fmt.Fprint(w, "\t  program")
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%.2f\t%s\t%.2f\t%.2f\t%s\t%s\t%d\t%.0f %%\t  %s",
			r.Bytes, r.Latency, MicrosText(r.Interval, r.Latency), r.AlgBW, r.BusBW, r.Text(), ReplicasText(r.Replicas),
			r.Passes, 100*r.Occupied, strings.TrimSpace(r.Link))
		if chosen {
			fmt.Fprintf(w, "\t  %s", r.Program)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(a.Stdout, limit.Line(t))
	return err
}

// noteEmpty says which of the sizes that were simulated are too small for the program to do anything.
func noteEmpty(a *cli.App, arg string, call simulate.Call, rows []simulatedSize) {
	var empty []string
	for _, r := range rows {
		if r.Passes == 0 {
			empty = append(empty, cli.SizeText(r.Bytes))
		}
	}
	if len(empty) > 0 {
		what := fmt.Sprintf("element of %v", call.DType)
		if call.Row > 0 {
			what = "row"
		}
		a.Note(arg, "calls of %s have no whole %s for it to move: their time is a launch's", cli.List(empty), what)
	}
}
