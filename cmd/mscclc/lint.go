package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/ir/lint"
)

func (a *app) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint FILE...",
		Short: "Report what is slow or fragile in plans of MSCCL++",
		Long: `Report what is legal in a plan of MSCCL++, and slow or fragile: threads that meet for nothing, operations that could be one,
signals that release nothing, blocks that wait for others, channels and scratch that nothing uses, more blocks than a GPU may run at once;
and what MSCCL++'s own executor does wrong. mscclc explain CODE says more of each; mscclc verify proves the plan.

The exit code is 1 where anything was found. --json prints a list, with the problems of each file.`,
		Example: `  mscclc lint plan.json
  mscclc lint plan.json --json`,
		Args: atLeast(1, "a plan of MSCCL++"),
		RunE: func(_ *cobra.Command, args []string) error { return a.lintFiles(args) },
	}
}

// lintFiles looks at all files, also where one cannot be read.
func (a *app) lintFiles(names []string) error {
	reports, worst := []report{}, exitGood
	for _, name := range names {
		found, err := a.lint(name)
		var usage usageError
		if errors.As(err, &usage) {
			return err
		}
		if err != nil {
			found = placed(problems(err), name)
			worst = max(worst, exitCode(found))
		}
		reports = append(reports, newReport(name, found, nil))
		if len(found) > 0 {
			worst = max(worst, exitInput)
		}
		if a.json {
			continue
		}
		if len(found) == 0 {
			fmt.Fprintf(a.stdout, "ok    %s\n", diag.Printable(name))
			continue
		}
		fmt.Fprintf(a.stdout, "FOUND %s    %s\n", diag.Printable(name), count(len(found), "thing"))
		a.show(found)
	}
	if a.json {
		if err := a.writeJSON(reports); err != nil {
			return err
		}
	}
	if worst > exitGood {
		return reportedError{worst}
	}
	return nil
}

// lint looks at one plan.
func (a *app) lint(name string) (diag.List, error) {
	a.file = name
	s, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.kind != codegen.KindMSCCLPP {
		return nil, diag.List{diag.New(diag.Malformed, fileSpan(s.name), "%s is no plan of MSCCL++", s.name)}
	}
	_, p, err := codegen.ReadMSCCLPP(s.name, s, codegen.ReadOptions{})
	if err != nil {
		return nil, err
	}
	return append(lint.Channels(p), codegen.FaultsMSCCLPP(p)...), nil
}
