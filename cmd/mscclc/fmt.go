package main

import (
	"bytes"
	"fmt"
	"io"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"

	"github.com/spf13/cobra"
)

func fmtCommand(a *cli.App) *cobra.Command {
	var write, list bool
	var lim cli.Limits
	cmd := &cobra.Command{
		Use:   "fmt FILE|FOLDER...",
		Short: "Format .mscl files",
		Long: `Print .mscl files in their one true format, with their comments. -w writes files that differ instead; -l prints
their names, and the exit code is 1 if there are any. Of a folder, all .mscl files below it are taken.`,
		Example: `  mscclc fmt -w algorithms/
  mscclc fmt - <ring.mscl`,
		Args: cli.AtLeast(1, "files or folders to format"),
		RunE: func(_ *cobra.Command, args []string) error { return formatAll(a, args, write, list, &lim) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the files instead of printing them")
	cmd.Flags().BoolVarP(&list, "list", "l", false,
		"print the names of files whose format differs, and exit with 1 if there are any")
	cli.LimitFlag(cmd.Flags(), &lim, syntax.LimitNames())
	return cmd
}

type formatted struct {
	cli.Report
	Changed bool `json:"changed" doc:"its format differs, or did"`
}

func formatAll(a *cli.App, args []string, write, list bool, lim *cli.Limits) error {
	reports := []formatted{}
	worst, differ := cli.ExitGood, false
	for _, t := range a.Regular(cli.Expand(args, cli.SourceEndings...)) {
		changed, err := false, t.Err
		if err == nil {
			changed, err = formatFile(a, t.Name, write, list, lim)
		}
		differ = differ || changed
		var found diag.List
		if err != nil {
			found = cli.Placed(cli.Problems(err), t.Name)
			worst = max(worst, cli.ExitCode(found))
			a.Show(found)
		}
		reports = append(reports, formatted{cli.NewReport(t.Name, found, nil), changed})
	}
	if a.JSON {
		if len(reports) > 0 {
			reports[0].Report = a.Noted(reports[0].Report)
		}
		if err := a.WriteJSON(reports); err != nil {
			return err
		}
	}
	if list && differ {
		worst = max(worst, cli.ExitInput)
	}
	if worst > cli.ExitGood {
		return cli.ReportedError{Code: worst}
	}
	return nil
}

func formatFile(a *cli.App, file string, write, list bool, lim *cli.Limits) (changed bool, err error) {
	s, err := a.Open(file, lim)
	if err != nil {
		return false, err
	}
	defer s.Close()
	if s.Kind != codegen.KindSource {
		return false, diag.List{diag.New(diag.Malformed, cli.FileSpan(s.Name), "%s is a program, not an algorithm", s.Name)}
	}
	text, err := s.ReadSource(lim)
	if err != nil {
		return false, err
	}
	good, err := syntax.FormatLimited(s.Name, text, lim.Lang)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(text, good)
	switch {
	case list && changed && !a.JSON:
		fmt.Fprintln(a.Stdout, diag.Printable(file))
	case write && changed && !cli.IsStdin(file):
		return true, a.WriteTo(file, func(w io.Writer) error {
			_, err := w.Write(good)
			return err
		})
	case !list && (!write || cli.IsStdin(file)) && !a.JSON:
		_, err = a.Stdout.Write(good)
	}
	return changed, err
}
