package verifycmd

import (
	"fmt"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/bitwise"
	"mscclc/ir/diag"
	"mscclc/ir/either"

	"github.com/spf13/pflag"
)

// bitwiseFlag registers the flag that asks whether all ranks get the same bits.
func bitwiseFlag(f *pflag.FlagSet, on *bool) {
	f.BoolVar(on, "bitwise", false,
		"say whether every rank ends with bit-identical sums; exit code 1 where some type's are not")
}

// roundings are the classes of types that sums depend on in the same way, and
// what the command calls them.
var roundings = [bitwise.NumRoundings]struct {
	types []string
	in    string
}{
	bitwise.Each:  {[]string{"f32", "f64"}, "f32 and f64"},
	bitwise.Chain: {[]string{"f16", "bf16", "e4m3", "e5m2"}, "f16, bf16 and fp8"},
}

// A bitwiseReport is what --json says of the order of a program's sums.
type bitwiseReport struct {
	Identical bool            `json:"identical" doc:"for every type"`
	Sums      int             `json:"sums" doc:"that several output chunks must hold"`
	Types     []bitwiseOfType `json:"types" doc:"of floats; integers, min and max are always identical"`
}

type bitwiseOfType struct {
	Types          []string                `json:"types"`
	Identical      bool                    `json:"identical"`
	Differ         int                     `json:"differ" doc:"sums that do"`
	Counterexample []bitwiseCounterexample `json:"counterexample,omitempty" doc:"two chunks whose sums differ"`
}

type bitwiseCounterexample struct {
	Rank       int32  `json:"rank"`
	Chunk      int32  `json:"chunk" doc:"of the output of the rank"`
	Expression string `json:"expression"`
	Part       bool   `json:"part,omitempty" doc:"the expression is the part that differs"`
	Step       string `json:"step" doc:"which completes the sum"`
	Pos        string `json:"pos,omitempty"`
}

func newBitwise(p *either.Program, o bitwise.Order) *bitwiseReport {
	r := &bitwiseReport{Identical: o.Same(), Sums: o.Sums}
	for by, d := range o.Counterexample {
		t := bitwiseOfType{Types: roundings[by].types, Identical: d == nil, Differ: o.Differ[by]}
		for i := range 2 {
			if d == nil {
				break
			}
			w := bitwiseCounterexample{Rank: d.Chunk[i].Rank, Chunk: d.Chunk[i].Index, Expression: d.Expr[i], Part: d.Part,
				Step: stepName(p, d.Step[i])}
			if span := p.Span(p.Steps[d.Step[i]].Pos); span.Line > 0 {
				w.Pos = span.Pos.String()
			}
			t.Counterexample = append(t.Counterexample, w)
		}
		r.Types = append(r.Types, t)
	}
	return r
}

// printBitwise prints what o says of p, below its verdict. of names p among several programs of a file.
func printBitwise(a *cli.App, of string, p *either.Program, o bitwise.Order) {
	say := func(format string, args ...any) { fmt.Fprintf(a.Stdout, "      bitwise: "+of+format+"\n", args...) }
	each, chain := o.Counterexample[bitwise.Each], o.Counterexample[bitwise.Chain]
	switch {
	case o.Sums == 0:
		say("no two outputs hold the same sum")
	case o.Same():
		say("every rank ends with the same bits (%s)", diag.Counted(o.Sums, "sum"))
	case each != nil && chain != nil && each.Expr == chain.Expr:
		printDifference(a, of, p, &o, bitwise.Each, "floats")
	default:
		for by, d := range o.Counterexample {
			if d == nil {
				say("sums of %s have the same bits on every rank", roundings[by].in)
			} else {
				printDifference(a, of, p, &o, bitwise.Rounding(by), roundings[by].in)
			}
		}
	}
}

// printDifference prints two sums that differ.
func printDifference(a *cli.App, of string, p *either.Program, o *bitwise.Order, by bitwise.Rounding, in string) {
	d := o.Counterexample[by]
	fmt.Fprintf(a.Stdout, "      bitwise: %ssums of %s differ, %d of %d; integers, min and max do not\n", of, in,
		o.Differ[by], o.Sums)
	has := "has"
	if d.Part {
		has = "has a sum with the part"
	}
	for i, at := range d.Chunk {
		fmt.Fprintf(a.Stdout, "        rank %d chunk %d %s %s, made by %s\n", at.Rank, at.Index, has, d.Expr[i],
			stepName(p, d.Step[i]))
	}
}

// stepName names step i of p, with its source position where there is one.
func stepName(p *either.Program, i int32) string {
	name := p.StepName(i)
	if span := p.Span(p.Steps[i].Pos); span.Line > 0 {
		name += " at " + span.Pos.String()
	}
	return name
}
