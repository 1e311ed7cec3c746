package verifycmd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"

	"github.com/spf13/pflag"
)

// bitsOrder is what --bits takes.
const bitsOrder = "order"

// mostTrees is how many orders of a program are printed.
const mostTrees = 8

// bitsFlag registers the flag that asks for the order of sums.
func bitsFlag(f *pflag.FlagSet, what *string) {
	f.StringVar(what, "bits", "", "`order`: print in which order mscclc's executor adds the elements of sums, where "+
		"r0 is rank 0's input; exit code 1 where that depends on their place, differs among the programs, or is not known")
}

// A programOrders is the orders of a program's sums.
type programOrders struct {
	file, of string // of names the program among several of the file, as lines about it begin, or is ""
	ranks    int
	sums     string // which sums they are: the collective, and its root
	orders   bitwise.Orders
}

// name names the program among all that are judged.
func (o *programOrders) name() string {
	if o.of == "" {
		return o.file
	}
	return o.file + ", " + strings.TrimSuffix(o.of, ": ")
}

// An orderReport is what --json says of the order of a program's sums.
type orderReport struct {
	Program string        `json:"program,omitempty" doc:"of a bundle"`
	Ranks   int           `json:"ranks"`
	One     bool          `json:"one" doc:"all elements are summed in the same order, for every type"`
	Sums    int           `json:"sums" doc:"output chunks that hold a sum of all ranks' inputs"`
	Others  int           `json:"others,omitempty" doc:"output chunks that hold other sums, which are not judged"`
	Types   []orderOfType `json:"types" doc:"of floats; the order of integers, min and max does not matter"`
}

type orderOfType struct {
	Types []string    `json:"types"`
	Trees []orderTree `json:"trees" doc:"the orders"`
}

type orderTree struct {
	Tree    string `json:"tree" doc:"r0 is rank 0's input; long ones are shortened"`
	Key     string `json:"key" doc:"the same for the same order of any program"`
	Unknown bool   `json:"unknown,omitempty" doc:"a switch adds, in an order that nobody knows"`
	Chunks  int    `json:"chunks" doc:"how many output chunks are summed so"`
	Rank    int32  `json:"rank" doc:"of the first"`
	Chunk   int32  `json:"chunk" doc:"the first"`
}

func (o *programOrders) report() orderReport {
	r := orderReport{Program: strings.TrimSuffix(o.of, ": "), Ranks: o.ranks, One: o.orders.One(), Sums: o.orders.Sums,
		Others: o.orders.Others}
	for by, trees := range o.orders.Of {
		t := orderOfType{Types: roundings[by].types, Trees: []orderTree{}}
		for _, x := range trees {
			t.Trees = append(t.Trees, orderTree{x.Text, fmt.Sprintf("%016x%016x", x.Key[0], x.Key[1]), x.Unknown, len(x.Chunks),
				x.Chunks[0].Rank, x.Chunks[0].Index})
		}
		r.Types = append(r.Types, t)
	}
	return r
}

// noteOrder notes the orders of a program.
func (d *verdict) noteOrder(p *either.Program, of string) {
	o := programOrders{file: d.file, of: of, ranks: p.Coll.Ranks, sums: p.Coll.Kind.String(), orders: bitwise.OrdersOf(p)}
	if p.Coll.Kind.Rooted() {
		o.sums += fmt.Sprintf(" to rank %d", p.Coll.Root)
	}
	if !o.orders.One() {
		d.code = max(d.code, cli.ExitInput)
	}
	d.orders = append(d.orders, o)
}

// ordersOf notes the orders of the programs of a bundle that reduce: of those for invariant bits, where it has such,
// else of all.
func (d *verdict) ordersOf(b *bundle.Bundle) error {
	invariant := slices.ContainsFunc(b.Sets, func(s bundle.Set) bool { return s.Invariant })
	for i := range b.Sets {
		for _, n := range b.Sets[i].Programs {
			row := b.Programs[n]
			if b.Sets[i].Invariant != invariant || invariant && row.Named != nil {
				continue
			}
			p, err := program.Decode(row.Title(), row.Source, codegen.ReadOptions{})
			if err != nil {
				return err
			}
			if p.Coll.Reduces() {
				d.noteOrder(p, fmt.Sprintf("%s on %d ranks: ", row.Title(), row.Ranks))
			}
		}
	}
	if invariant {
		d.note = "the orders are those of jobs with MSCCLC_BITS=invariant; in others they depend on the size of a call"
	}
	if len(d.orders) == 0 {
		d.note = "--bits=order is about sums, and no program of the bundle sums"
	}
	return nil
}

// printOrders prints the orders of a program, below its verdict.
func printOrders(a *cli.App, o *programOrders) {
	say := func(format string, args ...any) { fmt.Fprintf(a.Stdout, "      order: "+o.of+format+"\n", args...) }
	if n := o.orders.Others; n > 0 {
		say("%s of outputs hold sums of other than one input of each rank, whose order is not judged",
			diag.Counted(n, "chunk"))
	}
	if o.orders.Sums == 0 {
		if o.orders.Others == 0 {
			say("no output holds a sum")
		}
		return
	}
	each, chain := o.orders.Of[bitwise.Each], o.orders.Of[bitwise.Chain]
	alike := func(x, y bitwise.Tree) bool { return x.Text == y.Text && len(x.Chunks) == len(y.Chunks) }
	if slices.EqualFunc(each, chain, alike) {
		o.printTrees(a, say, each, "floats")
		return
	}
	for by, trees := range o.orders.Of {
		o.printTrees(a, say, trees, roundings[by].in)
	}
}

// printTrees prints the orders of a program for some types.
func (o *programOrders) printTrees(a *cli.App, say func(format string, args ...any), trees []bitwise.Tree, in string) {
	switch {
	case slices.ContainsFunc(trees, func(x bitwise.Tree) bool { return x.Unknown }):
		say("%s: a switch adds, in an order that nobody knows", in)
		return
	case len(trees) == 1:
		say("%s: every element is %s", in, trees[0].Text)
		return
	}
	why := "its chunk, and so on the size of the call"
	if o.orders.Ranks {
		why = "the rank: ranks may end with different bits"
	}
	say("%s: %d orders; which one an element has depends on %s", in, len(trees), why)
	for _, t := range trees[:min(len(trees), mostTrees)] {
		more := ""
		if n := len(t.Chunks) - 1; n > 0 {
			more = ", and so is " + diag.Counted(n, "other chunk")
			if n > 1 {
				more = ", and so are " + diag.Counted(n, "other chunk")
			}
		}
		fmt.Fprintf(a.Stdout, "        rank %d chunk %d is %s%s\n", t.Chunks[0].Rank, t.Chunks[0].Index, t.Text, more)
	}
	if n := len(trees) - mostTrees; n > 0 {
		fmt.Fprintf(a.Stdout, "        and %s\n", diag.Counted(n, "other order"))
	}
}

// compareOrders says whether programs of the same sums, each of which has one order, have the same.
func (v *verifying) compareOrders() {
	type group struct {
		ranks int
		sums  string
	}
	all, of := map[group]int{}, map[group][]*programOrders{}
	for i := range v.orders {
		o := &v.orders[i]
		g := group{o.ranks, o.sums}
		if o.orders.Sums+o.orders.Others > 0 {
			all[g]++
		}
		if o.orders.Sums > 0 && o.orders.One() {
			of[g] = append(of[g], o)
		}
	}
	groups := slices.SortedFunc(maps.Keys(all), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.ranks, b.ranks), cmp.Compare(a.sums, b.sums))
	})
	for _, g := range groups {
		if all[g] < 2 {
			continue
		}
		text := fmt.Sprintf("order: %d programs of %s for %d ranks: ", all[g], g.sums, g.ranks)
		if without := all[g] - len(of[g]); without > 0 {
			text += fmt.Sprintf("%d without a single order; ", without)
		}
		switch in, other := firstOther(of[g]); {
		case len(of[g]) < 2:
			text += "no two to compare"
		case other == nil:
			text += fmt.Sprintf("%d add in the same order", len(of[g]))
		default:
			v.worst = max(v.worst, cli.ExitInput)
			first := of[g][0]
			text += fmt.Sprintf("orders differ in %s: %s has %s, and %s has %s", typesIn(in), first.name(),
				first.orders.Of[in[0]][0].Text, other.name(), other.orders.Of[in[0]][0].Text)
		}
		if v.JSON {
			v.Note("", "%s", text)
		} else {
			fmt.Fprintln(v.Stdout, diag.Printable(text))
		}
	}
}

// typesIn names types of some classes.
func typesIn(in []bitwise.Rounding) string {
	if len(in) == int(bitwise.NumRoundings) {
		return "floats"
	}
	return roundings[in[0]].in
}

// firstOther finds the first program that has another order than the first, and types for which it has.
func firstOther(list []*programOrders) (in []bitwise.Rounding, other *programOrders) {
	for i := range list {
		for by := range bitwise.NumRoundings {
			if list[i].orders.Of[by][0].Key != list[0].orders.Of[by][0].Key {
				in = append(in, by)
			}
		}
		if in != nil {
			return in, list[i]
		}
	}
	return nil, nil
}
