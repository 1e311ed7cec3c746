package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"text/tabwriter"
	"time"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/topology"
	"mscclc/topology/bound"

	"github.com/spf13/cobra"
)

// boundFlags are those of topo --bound.
type boundFlags struct {
	bound   bool
	part    choosing.Part
	root    int
	weights []int64
	within  time.Duration
}

func (f *boundFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.bound, "bound", false, "print how fast collectives can be, and what limits them")
	f.part.Add(flags, "of --bound: ")
	flags.IntVar(&f.root, "root", -1, "of --bound: rank `N` is the root (default: the first)")
	flags.Int64SliceVar(&f.weights, "weights", nil,
		"of --bound: the parts of ranks are as large as `N,N,...` say, of AllGather, ReduceScatter, Gather and Scatter")
	flags.DurationVar(&f.within, "within", choosing.BoundLimit, "of --bound: how long each collective may take")
}

// check refuses flags that go with --bound of a topology only.
func (f *boundFlags) check(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"without", "ranks", "no-relay", "root", "weights", "within"} {
		if cmd.Flags().Changed(name) && !f.bound {
			return cli.Usagef("--%s goes with --bound", name)
		}
	}
	if f.bound && len(args) == 0 {
		return cli.Usagef("--bound is of a topology: name a machine or a file")
	}
	return cli.From("within", f.within, time.Millisecond)
}

// A boundsReport is the bounds of collectives on a topology.
type boundsReport struct {
	Schema   int        `json:"schema"`
	Name     string     `json:"name"`
	Ranks    int        `json:"ranks"`
	Without  []string   `json:"without"`
	Bounds   []boundRow `json:"bounds"`
	Problems []string   `json:"problems" doc:"why collectives have no bound"`
	cli.Noted
}

// A boundRow is the bound of a collective.
type boundRow struct {
	Collective string  `json:"collective"`
	AlgBW      float64 `json:"algbw" doc:"GB/s, as nccl-tests has it: no algorithm is faster"`
	BusBW      float64 `json:"busbw" doc:"GB/s"`
	Fraction   string  `json:"algbw_mbs" doc:"algbw in MB/s, as a fraction"`
	Reached    float64 `json:"reached,omitempty" doc:"an algbw that is known to be possible"`
	Exact      bool    `json:"exact" doc:"both are equal"`
	Cut        string  `json:"cut" doc:"what limits it"`
}

func (f *boundFlags) print(ctx context.Context, a *cli.App, t *topology.Topology) error {
	less, gpus, err := f.part.Of(t)
	if err != nil {
		return err
	}
	root, err := choosing.RootAmong(gpus, f.root)
	if err != nil {
		return err
	}
	if len(gpus) < 2 {
		return diag.List{diag.New(diag.Unsupported, diag.Span{}, "%s moves nothing: a bound is of two or more",
			diag.Counted(len(gpus), "rank"))}
	}
	r := boundsReport{cli.Schema, t.Name, len(gpus), append([]string{}, f.part.Without...), []boundRow{}, []string{},
		a.Notes.List()}
	var failed diag.List
	for _, kind := range bound.Kinds {
		weighted := kind == ir.AllGather || kind == ir.ReduceScatter || kind == ir.Gather || kind == ir.Scatter
		q := bound.Question{Kind: kind, GPUs: gpus, Root: root, NoRelay: f.part.NoRelay}
		if f.weights != nil {
			if !weighted {
				continue
			}
			q.Weights = f.weights
		}
		row, err := f.row(ctx, less, q)
		var list diag.List
		if errors.As(err, &list) {
			failed = append(failed, list...)
			r.Problems = append(r.Problems, list[0].Text)
			continue
		}
		if err != nil {
			return err
		}
		r.Bounds = append(r.Bounds, *row)
	}
	if len(r.Bounds) == 0 {
		return failed[:1]
	}
	if a.JSON {
		return a.WriteJSON(r)
	}
	return r.write(a)
}

// row returns the bound of a question.
func (f *boundFlags) row(ctx context.Context, t *topology.Topology, q bound.Question) (*boundRow, error) {
	ctx, cancel := context.WithTimeout(ctx, f.within)
	defer cancel()
	b, err := bound.Of(ctx, t, q)
	if err != nil {
		return nil, err
	}
	row := &boundRow{Collective: q.Kind.String(), AlgBW: b.MBs() / 1e3, Fraction: b.Rate.RatString(), Exact: b.Exact,
		Cut: b.Cut}
	row.BusBW = row.AlgBW * (&ir.Collective{Kind: q.Kind, Ranks: len(q.GPUs)}).BusFactor()
	if b.Reached != nil {
		reached, _ := new(big.Rat).Quo(b.Reached, big.NewRat(1000, 1)).Float64()
		row.Reached = reached
	}
	return row, nil
}

func (r *boundsReport) write(a *cli.App) error {
	fmt.Fprintf(a.Stdout, "%s: bounds of %s", r.Name, diag.Counted(r.Ranks, "rank"))
	if len(r.Without) > 0 {
		fmt.Fprintf(a.Stdout, ", without %s", diag.Printable(strings.Join(r.Without, ", ")))
	}
	fmt.Fprint(a.Stdout, "\n\n")
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COLLECTIVE\tALGBW\tBUSBW\tTHE CUT")
	for _, b := range r.Bounds {
		most, reached := "", ""
		if !b.Exact {
			most = "at most "
			if b.Reached > 0 {
				reached = fmt.Sprintf(" (%.4g GB/s is possible)", b.Reached)
			}
		}
		fmt.Fprintf(w, "%s\t%s%.4g GB/s\t%.4g GB/s\t%s%s\n", b.Collective, most, b.AlgBW, b.BusBW, b.Cut, reached)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.Stdout, "no bound: %s\n", p)
	}
	return nil
}
