package measurecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor"
	"mscclc/executor/exchange"
	"mscclc/executor/measure"
	"mscclc/executor/plan"
	"mscclc/ir/diag"
	devicecosts "mscclc/simulate/devices"
	"mscclc/topology"

	"github.com/spf13/cobra"
)

// Flags are those of topo --measure.
type Flags struct {
	Measure bool
	output  string
	costs   string
	device  string
	wait    time.Duration
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Measure, "measure", false, "measure the network between the hosts of a job")
	flags.StringVarP(&f.output, "output", "o", "", "of --measure: write the topology to `FILE.topo`")
	flags.StringVar(&f.costs, "costs", "", "of --measure: write the costs of messages to `FILE.json`")
	cli.WordFlag(flags, &f.device, "device", "", "cpu", "of --measure: what the ranks are: "+cli.List(devices.Names())+
		"; else what the GPUs of the topology are, as h100", devices.Names())
	flags.DurationVar(&f.wait, "timeout", time.Minute, "of --measure: give up when a process has not come by then")
}

// Check refuses flags that go with --measure only.
func (f *Flags) Check(a *cli.App, cmd *cobra.Command, args []string) error {
	for _, name := range []string{"output", "costs", "device", "timeout"} {
		if cmd.Flags().Changed(name) && !f.Measure && (name != "device" || len(args) == 0) {
			return cli.Usagef("--%s goes with --measure", name)
		}
	}
	if f.Measure && a.JSON {
		return cli.Usagef("topo --measure has no --json: -o and --costs write what is measured")
	}
	if f.Measure && len(args) > 0 {
		return cli.Usagef("topo --measure measures the hosts of a job, and takes no %q", args[0])
	}
	return nil
}

// GPUs returns what --device says that the GPUs of a topology are, or "" where it is not given. It fails where nobody
// knows such GPUs.
func (f *Flags) GPUs(cmd *cobra.Command) (string, error) {
	if f.Measure || !cmd.Flags().Changed("device") {
		return "", nil
	}
	known := append(topology.Devices(), devicecosts.Names()...)
	slices.Sort(known)
	known = slices.Compact(known)
	if !slices.Contains(known, topology.DeviceOf(f.device)) {
		return "", cli.Unknown("device", f.device, known)
	}
	return f.device, nil
}

// Run measures, and writes what process 0 is to write.
func (f *Flags) Run(ctx context.Context, a *cli.App, cmd *cobra.Command) error {
	ctx, stop := cli.EndsBy(ctx, os.Interrupt)
	defer stop()
	base, err := f.base()
	if err != nil {
		return err
	}
	return processes.In(ctx, a, func(job *processes.Job) error { return f.runIn(ctx, a, cmd, base, job) })
}

// runIn is Run in a job.
func (f *Flags) runIn(ctx context.Context, a *cli.App, cmd *cobra.Command, base *base, job *processes.Job) error {
	if job == nil {
		return unfit(measure.ErrOneProcess)
	}
	x, err := job.Join(ctx, f.wait)
	if err != nil {
		return devices.Impossible(fmt.Errorf("%w: %w", err, executor.ErrNoDevice))
	}
	if err := processes.Same(ctx, x, processes.Arguments(nil, cmd.Flags())); err != nil {
		return err
	}
	node, err := plan.NodesOf(ctx, x, job.GPUs(f.device))
	if err != nil {
		return devices.Impossible(err)
	}
	r, err := f.measure(ctx, x, node)
	if err != nil {
		return err
	}
	if err := base.keep(ctx, a, x, node, r); err != nil {
		return err
	}
	if x.Index() > 0 {
		return nil
	}
	return f.write(a, base, r)
}

// measure measures in all processes.
func (f *Flags) measure(ctx context.Context, x *exchange.Member, node []int) (*measure.Result, error) {
	r, err := measure.Run(ctx, x, node, f.wait)
	switch {
	case errors.Is(err, measure.ErrOneProcess) || errors.Is(err, measure.ErrOneNode):
		return nil, unfit(err)
	case err != nil:
		return nil, devices.Impossible(fmt.Errorf("%w: %w", err, executor.ErrNoDevice))
	case len(node) != r.Nodes*r.PerNode:
		return nil, unfit(errors.New("nodes have different numbers of processes"))
	}
	return r, nil
}

// unfit says what is to be done about a job in which there is nothing to measure.
func unfit(err error) error {
	return diag.List{diag.New(diag.Unavailable, diag.Span{}, "nothing is measured between nodes: %v", err).
		WithHint("start equally many processes on each of several hosts by mpirun, torchrun or srun; on one machine " +
			"MSCCLC_NODE makes nodes of processes")}
}

// write writes the files, and says what was measured.
func (f *Flags) write(a *cli.App, base *base, r *measure.Result) error {
	if f.output != "" {
		if err := a.WriteTo(f.output, base.topology(r)); err != nil {
			return err
		}
	}
	if f.costs != "" {
		if err := a.WriteTo(f.costs, base.costs(r)); err != nil {
			return err
		}
	}
	if f.output == "-" || f.costs == "-" {
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s of %s, by %s\n\n", diag.Counted(r.Nodes, "node"), diag.Counted(r.PerNode, "process"), r.Engine)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BETWEEN\tLATENCY\tMESSAGE\tBANDWIDTH\tTOGETHER")
	for i, p := range r.ByNode {
		fmt.Fprintf(w, "nodes 0 and %d\t%.3g us\t%.3g us\t%.3g GB/s\t%.3g GB/s\n", i+1, p.Latency, p.Message, p.One,
			p.All)
	}
	w.Flush()
	_, err := fmt.Fprintf(a.Stdout, "\nwithin a node: each process copies %.3g GB/s while all do\n", r.Copy)
	return err
}
