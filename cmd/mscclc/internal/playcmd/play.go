// Package playcmd is mscclc play: it serves the page that proves, draws and animates algorithms.
package playcmd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/play/site"

	"github.com/spf13/cobra"
)

type playFlags struct {
	params   []string
	topology string
	port     int
	noOpen   bool
	out      string
}

// Command returns mscclc play.
func Command(a *cli.App) *cobra.Command {
	var f playFlags
	cmd := &cobra.Command{
		Use:   "play [FILE]",
		Short: "Serve a page that proves an algorithm while one types, and shows its chunks move",
		Long: `Serve a page on this machine, and open it in a browser. An editor is on the left. On the right the program
runs step by step: chunks move over the links of a machine, a table fills, and a timeline shows a simulated call. The
page says at each change whether the program is proven, and draws a counterexample if it is not. All of it runs in the
browser.

FILE is what the page opens, with what it imports: an algorithm, a program (.xml, .mprog, .json), or the trace of a run
(run --trace). Without it the page opens an algorithm of the catalog. The page does not write FILE.

Only this machine reaches the page. -o FOLDER writes it as a static folder for any web host instead. show --html writes
one file that plays one program.

The engine of the page is that of the package of mscclc. In a clone it is built with the Go tool.`,
		Example: `  mscclc play mine.mscl
  mscclc play allreduce/hierarchical -p nodes=2 -t dgx_h100:nodes=2
  mscclc play -o page`,
		Args: cli.Between(0, 1, "a file to open, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			arg := ""
			if len(args) > 0 {
				arg = a.About(args[0])
			}
			return start(cmd.Context(), a, arg, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.params, "param", "p", nil, "set a parameter of the algorithm: `NAME=VALUE`")
	flags.StringVarP(&f.topology, "topology", "t", "", "show it on `T`: a machine, or a .topo file, as mscclc topo takes it")
	flags.IntVar(&f.port, "port", 0, "serve on port `N`; 0 is any that is free")
	flags.BoolVar(&f.noOpen, "no-open", false, "open no browser")
	flags.StringVarP(&f.out, "output", "o", "", "write the page to `FOLDER`, and serve nothing")
	return cmd
}

// A Document is what play --json prints.
type Document struct {
	Schema int      `json:"schema"`
	URL    string   `json:"url,omitempty" doc:"of the page, where it is served; it is served until the command is interrupted"`
	Output string   `json:"output,omitempty" doc:"the folder that it was written to"`
	Files  []string `json:"files,omitempty" doc:"in that folder"`
	cli.Noted
}

// page returns all files of the page.
func page(a *cli.App, o *site.Opened) (map[string][]byte, error) {
	all, err := site.Files()
	if err != nil {
		return nil, err
	}
	engine, err := engineOf(a)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, engine)
	if o != nil {
		if all["index.html"], err = site.Index(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// engineOf returns the engine: of the package, or built of the clone that the command was built in.
func engineOf(a *cli.App) (map[string][]byte, error) {
	if self, err := os.Executable(); err == nil {
		dir, err := site.Installed(self, cli.Version())
		switch {
		case errors.Is(err, site.ErrOther):
			a.Note("", "the page in %s is of another version than this command, and is not taken: install the package anew", dir)
		case dir != "":
			return site.ReadEngine(dir)
		}
	}
	clone := site.Clone()
	if clone == "" {
		return nil, diag.List{diag.New(diag.Unavailable, diag.Span{}, "%v", site.ErrNoEngine).WithHint(
			"install a package of mscclc, which has the engine, or build the command in a clone without -trimpath")}
	}
	a.Say("building the engine of the page in %s", clone)
	engine, err := site.BuildEngine(clone)
	if err != nil {
		return nil, cli.Unavailable("the engine of the page cannot be built: %v", err)
	}
	return engine, nil
}

// writePage writes the page as a static folder.
func writePage(a *cli.App, folder string, all map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), all[name], 0o644); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.WriteJSON(Document{Schema: cli.Schema, Output: folder, Files: names, Noted: a.Notes.List()})
	}
	fmt.Fprintf(a.Stdout, "%s: the page, in %s\n", folder, diag.Counted(len(names), "file"))
	return nil
}
