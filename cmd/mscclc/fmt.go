package main

import (
	"bytes"
	"fmt"
	"io"

	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"

	"github.com/spf13/cobra"
)

func (a *app) fmtCommand() *cobra.Command {
	var write, list bool
	var lim limits
	cmd := &cobra.Command{
		Use:   "fmt FILE|FOLDER...",
		Short: "Format .mscl files",
		Long: `Print .mscl files in their one true format, with their comments. -w writes files that differ instead; -l prints
their names, and the exit code is 1 if there are any. Of a folder, all .mscl files below it are taken.`,
		Example: `  mscclc fmt -w algorithms/
  mscclc fmt - <ring.mscl`,
		Args: atLeast(1, "files or folders to format"),
		RunE: func(_ *cobra.Command, args []string) error { return a.format(args, write, list, &lim) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the files instead of printing them")
	cmd.Flags().BoolVarP(&list, "list", "l", false,
		"print the names of files whose format differs, and exit with 1 if there are any")
	limitFlag(cmd.Flags(), &lim, syntax.LimitNames())
	return cmd
}

type formatted struct {
	report
	Changed bool `json:"changed" doc:"its format differs, or did"`
}

func (a *app) format(args []string, write, list bool, lim *limits) error {
	reports := []formatted{}
	worst, differ := exitGood, false
	for _, t := range a.regular(expand(args, sourceEndings...)) {
		changed, err := false, t.err
		if err == nil {
			changed, err = a.formatFile(t.name, write, list, lim)
		}
		differ = differ || changed
		var found diag.List
		if err != nil {
			found = placed(problems(err), t.name)
			worst = max(worst, exitCode(found))
			a.show(found)
		}
		reports = append(reports, formatted{newReport(t.name, found, nil), changed})
	}
	if a.json {
		if len(reports) > 0 {
			reports[0].report = a.noted(reports[0].report)
		}
		if err := a.writeJSON(reports); err != nil {
			return err
		}
	}
	if list && differ {
		worst = max(worst, exitInput)
	}
	if worst > exitGood {
		return reportedError{worst}
	}
	return nil
}

func (a *app) formatFile(file string, write, list bool, lim *limits) (changed bool, err error) {
	s, err := a.open(file, lim)
	if err != nil {
		return false, err
	}
	defer s.Close()
	if s.kind != codegen.KindSource {
		return false, diag.List{diag.New(diag.Malformed, fileSpan(s.name), "%s is a program, not an algorithm", s.name)}
	}
	text, err := s.readSource(lim)
	if err != nil {
		return false, err
	}
	good, err := syntax.FormatLimited(s.name, text, lim.lang)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(text, good)
	switch {
	case list && changed && !a.json:
		fmt.Fprintln(a.stdout, diag.Printable(file))
	case write && changed && !isStdin(file):
		return true, a.writeTo(file, func(w io.Writer) error {
			_, err := w.Write(good)
			return err
		})
	case !list && (!write || isStdin(file)) && !a.json:
		_, err = a.stdout.Write(good)
	}
	return changed, err
}
