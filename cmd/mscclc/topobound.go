package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"mscclc/bench"
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
	without []string
	ranks   string
	noRelay bool
	root    int
	weights []int64
	within  time.Duration
}

func (f *boundFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.bound, "bound", false, "print how fast collectives can be, and what limits them")
	flags.StringSliceVar(&f.without, "without", nil, "of --bound: `LINK`, CLASS or RANK is down, or each of several")
	flags.StringVar(&f.ranks, "ranks", "", "of --bound: the GPUs of `LIST` take part, as 0-3,8-11")
	flags.BoolVar(&f.noRelay, "no-relay", false, "of --bound: GPUs that do not take part do not forward")
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

// mostListed is how many ranks --ranks may name.
const mostListed = 1 << 17

// listed reads numbers and ranges of them: 0-3,8.
func listed(text string) ([]int, error) {
	list, bad, ok := cli.Numbers(text, 0, math.MaxInt, mostListed)
	if !ok {
		return nil, cli.Usagef("--ranks %q: %q is no rank and no range of ranks", diag.Printable(text), diag.Printable(bad)).
			Hint("ranks are written so: 0-3,8-11")
	}
	return list, nil
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

// on returns the topology without what is down, and the GPUs that take part.
func (f *boundFlags) on(t *topology.Topology) (*topology.Topology, []int32, error) {
	less, err := t.Without(f.without)
	if err != nil {
		return nil, nil, err
	}
	var gpus []int32
	if f.ranks != "" {
		list, err := listed(f.ranks)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range list {
			gpus = append(gpus, int32(r))
		}
		return less, gpus, nil
	}
	for g := range t.Ranks() {
		if !slices.Contains(f.without, strconv.Itoa(g)) {
			gpus = append(gpus, int32(g))
		}
	}
	return less, gpus, nil
}

func (f *boundFlags) print(ctx context.Context, a *cli.App, t *topology.Topology) error {
	less, gpus, err := f.on(t)
	if err != nil {
		return err
	}
	root := 0
	if f.root >= 0 {
		if root = slices.Index(gpus, int32(f.root)); root < 0 {
			return cli.Usagef("root %d takes no part", f.root)
		}
	}
	if len(gpus) < 2 {
		return diag.List{diag.New(diag.Unsupported, diag.Span{}, "%s moves nothing: a bound is of two or more",
			diag.Counted(len(gpus), "rank"))}
	}
	r := boundsReport{cli.Schema, t.Name, len(gpus), append([]string{}, f.without...), []boundRow{}, []string{},
		a.Notes.List()}
	var failed diag.List
	for _, kind := range bound.Kinds {
		weighted := kind == ir.AllGather || kind == ir.ReduceScatter || kind == ir.Gather || kind == ir.Scatter
		q := bound.Question{Kind: kind, GPUs: gpus, Root: root, NoRelay: f.noRelay}
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
	row.BusBW = row.AlgBW * bench.BusFactor(&ir.Collective{Kind: q.Kind, Ranks: len(q.GPUs)})
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
