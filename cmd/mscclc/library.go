package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/withcmd"
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

The library is that of the package of mscclc, if one is installed. Otherwise g++ builds it once, or the compiler that
CXX names. What it builds is kept in the user's cache.`,
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
	built, err := libraryFolder()
	if err != nil {
		return err
	}
	doc := libraryDocument{Schema: cli.Schema, Library: filepath.Join(out, runtime.CLibrary),
		Header: filepath.Join(out, filepath.FromSlash(runtime.Header))}
	library, err := os.ReadFile(filepath.Join(built, runtime.CLibrary))
	if err != nil {
		return err
	}
	header, err := runtime.Sources.ReadFile(runtime.Header)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(doc.Header), 0o777); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(doc.Library, library, 0o666), os.WriteFile(doc.Header, header, 0o666)); err != nil {
		return err
	}
	if a.JSON {
		return a.WriteJSON(doc)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s\n%s\n", doc.Library, doc.Header)
	return err
}

// libraryFolder returns the folder of the library: that of the package of this command, or one where it is built.
func libraryFolder() (string, error) {
	if self, err := os.Executable(); err == nil {
		if dir, err := runtime.PrebuiltC(self); err == nil && dir != "" {
			return dir, nil
		}
	}
	dir, err := runtime.CachedC()
	if err != nil {
		return "", withcmd.NotBuilt(err)
	}
	return dir, nil
}
