package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/diag"
	"mscclc/ir/lint"

	"github.com/spf13/cobra"
)

func lintCommand(a *cli.App) *cobra.Command {
	var ignore []string
	var sarif string
	var lim cli.Limits
	var nodes cli.Nodes
	cmd := &cobra.Command{
		Use:   "lint FILE|FOLDER...",
		Short: "Report what is slow or fragile in plans of MSCCL++",
		Long: `Report what is legal in an execution plan of MSCCL++, but slow or fragile:

  * unneeded block barriers, and operations that could be one
  * signals that could be relaxed
  * idle thread blocks, unused channels and unused scratch
  * more thread blocks than a GPU may run at once

Report also what MSCCL++'s own executor does wrong with the plan, and plans that share a name and are not equal. mscclc
explain CODE explains each finding. mscclc verify proves the plan. A warning that several files have is printed once.

--nodes says which ranks share memory: between nodes MSCCL++ has ports only. Without it a note names the ranks that
memory channels join.

The exit code is 1 if anything was found that --ignore does not name. Every plan with packets has mscclpp-graph. Of a
folder, all .json files below it that are plans are read. --json prints a list, with the findings of each file.`,
		Example: `  mscclc lint plan.json
  mscclc lint plan.json --ignore mscclpp-graph,mscclpp-size
  mscclc lint plan.json --sarif results.sarif
  mscclc lint plan.json --json`,
		Args: cli.AtLeast(1, "a plan of MSCCL++"),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, code := range ignore {
				if _, known := diag.Explain(diag.Code(code)); !known || !diag.Code(code).Warning() {
					return cli.Usagef("--ignore takes codes of warnings, not %q; mscclc explain lists them: those that begin with lint- or mscclpp-", code)
				}
			}
			if a.JSON && sarif == "-" {
				return cli.Usagef("--json and --sarif - both want stdout: give --sarif a file")
			}
			if err := nodes.Check(); err != nil {
				return err
			}
			return lintFiles(a, args, ignore, sarif, nodes, &lim)
		},
	}
	cmd.Flags().StringSliceVar(&ignore, "ignore", nil, "leave out what has one of these `CODES`, separated by commas")
	cli.StrictFlag(cmd.Flags(), &lim)
	cli.SARIFFlag(cmd.Flags(), &sarif)
	cmd.Flags().StringVar((*string)(&nodes), "nodes", "",
		"check plans for ranks on several nodes: `N` that have equally many each, or the ranks of each, as in 4,4")
	cli.LimitFlag(cmd.Flags(), &lim, []string{"file", "cells", "moves"})
	return cmd
}

// lintFiles looks at all files, also where one cannot be read.
func lintFiles(out *cli.App, args, ignore []string, sarif string, nodes cli.Nodes, lim *cli.Limits) error {
	a := out
	if sarif == "-" { // stdout is the document, and the lines are talk
		a = out.Talking()
	}
	tasks := a.ProgramsOnly(cli.Expand(args, cli.PlanEndings...), nil, "")
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	if err := a.Claims(cli.Named{"--sarif": sarif}, names...); err != nil {
		return err
	}
	reports, worst, named := []cli.Report{}, cli.ExitGood, map[string]namedPlan{}
	var all diag.List
	for _, t := range tasks {
		name, found, err := t.Name, diag.List(nil), t.Err
		if err == nil {
			found, err = lintPlan(a, name, named, nodes, lim)
		}
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return slices.Contains(ignore, string(d.Code)) })
		var usage cli.UsageError
		if errors.As(err, &usage) {
			return err
		}
		if err != nil {
			found = cli.Placed(cli.Problems(err), name)
			worst = max(worst, cli.ExitCode(found))
		}
		reports = append(reports, cli.NewReport(name, found, nil))
		if len(found) > 0 {
			worst = max(worst, cli.ExitInput)
		}
		if a.JSON {
			continue
		}
		if len(found) == 0 {
			fmt.Fprintf(a.Stdout, "ok    %s\n", diag.Printable(name))
			continue
		}
		fmt.Fprintf(a.Stdout, "FOUND %s    %s\n", diag.Printable(name), diag.Counted(len(found), "thing"))
		all = append(all, found...)
	}
	a.ShowFiles(all)
	if sarif != "" {
		err := out.WriteTo(sarif, func(w io.Writer) error { return cli.WriteSARIF(w, reports, a.Text) })
		if err != nil {
			return err
		}
	}
	if a.JSON {
		if len(reports) > 0 {
			reports[0] = a.Noted(reports[0])
		}
		if err := a.WriteJSON(reports); err != nil {
			return err
		}
	}
	if worst > cli.ExitGood {
		return cli.ReportedError{Code: worst}
	}
	return nil
}

// A namedPlan is the first plan that was looked at of a name, by which MSCCL++'s executor distinguishes plans.
type namedPlan struct {
	file string
	hash uint64
}

// lintPlan looks at one plan, and notes its name. Without nodes it notes which ranks must share memory.
func lintPlan(a *cli.App, name string, named map[string]namedPlan, nodes cli.Nodes,
	lim *cli.Limits) (diag.List, error) {
	a.File = name
	s, err := a.Open(name, lim)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.Kind != codegen.KindMSCCLPP {
		d := diag.New(diag.Malformed, cli.FileSpan(s.Name), "%s is no plan of MSCCL++", s.Name)
		if s.Kind == codegen.KindSource {
			file, plan := s.Name, strings.TrimSuffix(path.Base(s.Name), ".mscl")+".json"
			if cli.IsStdin(file) {
				file, plan = "-", "plan.json"
			}
			d = d.WithHint("compile it to a plan: mscclc compile %s --target mscclpp -o %s", file, plan)
		}
		return nil, diag.List{d}
	}
	f, p, err := mscclpp.Read(s.Name, s, lim.Read)
	if err != nil {
		return nil, err
	}
	node, err := nodes.Of(p.Coll.Ranks)
	if err != nil {
		return nil, err
	}
	if text := mscclpp.GroupsText(p); text != "" && nodes == "" {
		a.Note(name, "%s", text)
	}
	found := slices.Concat(f.Ignored, mscclpp.CheckNodes(p, f, node), lint.Channels(p), mscclpp.Faults(p))
	hash, err := mscclpp.Hash(f)
	if err != nil {
		return nil, err
	}
	if first, known := named[f.Name]; !known {
		named[f.Name] = namedPlan{s.Name, hash}
	} else if first.hash != hash {
		found = append(found,
			diag.New(diag.MSCCLPPName, cli.FileSpan(s.Name),
				"the plan's name, %s, is that of %s too, which is another plan: the executor takes one for the other",
				diag.Printable(strconv.Quote(f.Name)), first.file))
	}
	return found, nil
}
