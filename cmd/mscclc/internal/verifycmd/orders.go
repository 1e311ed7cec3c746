package verifycmd

import (
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
	f.StringVar(what, "bits", "", "`order`: print in which order elements are summed; exit code 1 where it depends on their "+
		"place, or differs among the programs that are named")
}

// A programOrders is the orders of a program's sums.
type programOrders struct {
	file, of string // of names the program among several of the file, as lines about it begin, or is ""
	ranks    int
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
	Sums    int           `json:"sums" doc:"output chunks that hold a sum"`
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
	r := orderReport{Program: strings.TrimSuffix(o.of, ": "), Ranks: o.ranks, One: o.orders.One(), Sums: o.orders.Sums}
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
	o := programOrders{file: d.file, of: of, ranks: p.Coll.Ranks, orders: bitwise.OrdersOf(p)}
	if !o.orders.One() {
		d.code = max(d.code, cli.ExitInput)
	}
	d.orders = append(d.orders, o)
}

// ordersOf notes the orders of the programs of a bundle that reduce.
func (d *verdict) ordersOf(b *bundle.Bundle) error {
	for _, row := range b.Programs {
		p, err := program.Decode(row.Title(), row.Source, codegen.ReadOptions{})
		if err != nil {
			return err
		}
		if p.Coll.Reduces() {
			d.noteOrder(p, fmt.Sprintf("%s on %d ranks: ", row.Title(), row.Ranks))
		}
	}
	if len(d.orders) == 0 {
		d.note = "--bits=order is about sums, and no program of the bundle sums"
	}
	return nil
}

// printOrders prints the orders of a program, below its verdict.
func printOrders(a *cli.App, o *programOrders) {
	say := func(format string, args ...any) { fmt.Fprintf(a.Stdout, "      order: "+o.of+format+"\n", args...) }
	if o.orders.Sums == 0 {
		say("no output holds a sum")
		return
	}
	each, chain := o.orders.Of[bitwise.Each], o.orders.Of[bitwise.Chain]
	if slices.EqualFunc(each, chain, func(x, y bitwise.Tree) bool { return x.Text == y.Text && len(x.Chunks) == len(y.Chunks) }) {
		printTrees(a, say, each, "floats")
		return
	}
	for by, trees := range o.orders.Of {
		printTrees(a, say, trees, roundings[by].in)
	}
}

// printTrees prints the orders of a program for some types.
func printTrees(a *cli.App, say func(format string, args ...any), trees []bitwise.Tree, in string) {
	switch {
	case slices.ContainsFunc(trees, func(x bitwise.Tree) bool { return x.Unknown }):
		say("%s: a switch adds, in an order that nobody knows", in)
		return
	case len(trees) == 1:
		say("%s: every element is %s", in, trees[0].Text)
		return
	}
	say("%s: %d orders; which one an element has depends on its chunk, and so on the size of the call", in, len(trees))
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
		fmt.Fprintf(a.Stdout, "        and %d other orders\n", n)
	}
}

// compareOrders says whether programs for equally many ranks, each of which has one order, have the same.
func (v *verifying) compareOrders() {
	byRanks := map[int][]*programOrders{}
	for i := range v.orders {
		if o := &v.orders[i]; o.orders.Sums > 0 && o.orders.One() {
			byRanks[o.ranks] = append(byRanks[o.ranks], o)
		}
	}
	for _, ranks := range slices.Sorted(maps.Keys(byRanks)) {
		list := byRanks[ranks]
		if len(list) < 2 {
			continue
		}
		text := fmt.Sprintf("order: the %d programs for %d ranks that have one order have the same", len(list), ranks)
		if by, other := firstOther(list); other != nil {
			v.worst = max(v.worst, cli.ExitInput)
			text = fmt.Sprintf("order: programs for %d ranks differ in %s: %s has %s, and %s has %s", ranks, roundings[by].in,
				list[0].name(), list[0].orders.Of[by][0].Text, other.name(), other.orders.Of[by][0].Text)
		}
		if !v.JSON {
			fmt.Fprintln(v.Stdout, diag.Printable(text))
		}
	}
}

// firstOther finds the first program that has another order than the first, and types for which it has.
func firstOther(list []*programOrders) (bitwise.Rounding, *programOrders) {
	for _, o := range list[1:] {
		for by := range bitwise.NumRoundings {
			if o.orders.Of[by][0].Key != list[0].orders.Of[by][0].Key {
				return by, o
			}
		}
	}
	return 0, nil
}
