package completion

import (
	"bytes"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"

	"github.com/spf13/cobra"
)

// A ScriptDocument is what completion SHELL --json prints.
type ScriptDocument struct {
	Schema int    `json:"schema"`
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// AddCommand makes the command completion. With --json its scripts come in a document.
func AddCommand(a *cli.App, root *cobra.Command) {
	var script bytes.Buffer
	root.SetOut(&script) // where cobra's scripts go
	root.InitDefaultCompletionCmd()
	root.SetOut(a.Stdout)
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" })
	for _, shell := range root.Commands()[i].Commands() {
		generate := shell.RunE
		shell.RunE = func(cmd *cobra.Command, args []string) error {
			if err := generate(cmd, args); err != nil {
				return err
			}
			if a.JSON {
				return a.WriteJSON(ScriptDocument{cli.Schema, cmd.Name(), script.String()})
			}
			_, err := script.WriteTo(a.Stdout)
			return err
		}
	}
}
