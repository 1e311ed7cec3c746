package main

import (
	"os"
	"strconv"
	"time"

	"mscclc/cmd/mscclc/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand returns mscclc man, which is for packages and has no line in the help.
func manCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages of all commands to a folder",
		Hidden: true,
		Args:   cli.Exactly(1, "a folder"),
		RunE:   func(cmd *cobra.Command, args []string) error { return writeMan(a, cmd.Root(), args[0]) },
	}
}

// writeMan writes the pages. They have the date of SOURCE_DATE_EPOCH, or else of 1980, so that equal input gives equal
// bytes.
func writeMan(a *cli.App, root *cobra.Command, folder string) error {
	a.File = folder
	date := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0).UTC()
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "mscclc " + cli.Version(), Manual: "mscclc"}
	return doc.GenManTree(root, header, folder)
}
