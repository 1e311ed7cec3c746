package main

import (
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/lsp"

	"github.com/spf13/cobra"
)

func lspCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors: problems while one types, proofs, values, completion",
		Long: `Speak the Language Server Protocol on stdin and stdout. Editors start this command for .mscl files, machines
(.topo) and compiled programs (.xml, .json); docs/editors.md says how. The server checks a document at each change, and
proves it when nobody edits it for 300 ms.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.JSON {
				return cli.Usagef("lsp speaks to an editor, and has no --json")
			}
			if err := lsp.Serve(cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return diag.List{diag.New(diag.Io, cli.FileSpan("stdin"), "%v", err)}
			}
			return nil
		},
	}
}
