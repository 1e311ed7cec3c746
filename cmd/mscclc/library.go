package main

import (
	"fmt"
	"os"
	"path/filepath"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/runtime"

	"github.com/spf13/cobra"
)

// A libraryDocument is what library --json prints.
type libraryDocument struct {
	Schema  int    `json:"schema"`
	Library string `json:"library"`
	Header  string `json:"header"`
}

func libraryCommand(a *cli.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "library -o FOLDER",
		Short: "Build libmscclc.so and mscclc.h, by which C programs run the programs of bundles",
		Long: `Build libmscclc.so, and write it and include/mscclc.h to a folder. The library runs programs of bundles
by their names, in processes of C, C++ or Python. It needs the C library only. mscclc.h describes its functions.

g++ is needed once, or the compiler that CXX names. What it builds is kept in the user's cache.`,
		Example: `  mscclc library -o mscclc-c`,
		Args:    cli.AtMost(0, ""),
		RunE:    func(*cobra.Command, []string) error { return writeLibrary(a, out) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FOLDER`, which is made if there is none")
	return cmd
}

func writeLibrary(a *cli.App, out string) error {
	if cli.IsStdout(out) {
		return cli.Usagef("the library is written to a folder").Hint("give -o FOLDER")
	}
	built, err := runtime.CachedC()
	if err != nil {
		return cli.Unavailable("%v", err)
	}
	doc := libraryDocument{Schema: cli.Schema}
	for name, to := range map[string]*string{runtime.CLibrary: &doc.Library, runtime.Header: &doc.Header} {
		text, err := os.ReadFile(filepath.Join(built, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		*to = filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(*to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(*to, text, 0o666); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.WriteJSON(doc)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s\n%s\n", doc.Library, doc.Header)
	return err
}
