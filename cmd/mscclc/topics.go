package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/passes"
)

// topics are help pages made from the tables that the compiler works by.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "passes", Short: "What the compiler does, pass by pass", Long: passesHelp()},
		{Use: "ops", Short: "The operations of a program's steps", Long: opsHelp()},
		{Use: "targets", Short: "What programs are compiled for, and the limits of each", Long: targetsHelp()},
	}
}

// table lays out rows whose cells are separated by tabs.
func table(rows ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

func passesHelp() string {
	rows := []string{"PASS\tWHAT IT DOES\tGIVES"}
	for _, p := range passes.Table {
		name := p.Name
		if p.Required {
			name += " *"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%v", name, p.Doc, p.Gives))
	}
	return "The passes in their order; --opt PASS=off turns one off that has no star, -O0 all of them.\n\n" + table(rows...)
}

func opsHelp() string {
	rows := []string{"STEP\tNAME\tWHAT IT DOES"}
	for op := range ir.NumOps {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", op, op.Info().Name, op.Info().Doc))
	}
	return `The steps of a thread block. src and dst are chunks of the rank's own memory; received is the next message of the
connection that the block receives from. The last three, of one-sided programs (--sided one), have lists of srcs and dsts:
chunks of any rank's memory, or flags; see mscclc show FILE --sided one.

` + table(rows...)
}

func targetsHelp() string {
	rows := []string{"TARGET\tSTEPS A BLOCK\tBLOCKS A RANK\tCHANNELS\tCHUNKS A STEP\tFUSED RECEIVES\tWHAT IT IS"}
	limit := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for _, t := range codegen.Targets {
		l := &t.Limits
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%v\t%s", t.Name, limit(l.Steps), limit(l.Blocks), limit(l.Channels), limit(l.Count), l.ReceiveFused, t.Doc))
	}
	return "A program that is larger than its target allows is refused, with the limit and a way out.\n\n" + table(rows...)
}
