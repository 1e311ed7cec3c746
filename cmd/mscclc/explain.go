package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

func explainCommand(a *cli.App) *cobra.Command {
	var example bool
	var sided string
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain the code of an error, or list all codes",
		Long: `Explain the code of an error: what it means, why it is an error and what to do. An example follows, with the
command line that shows the error. Without a code, list all codes; lint lists those that begin with
lint-. --example prints the example alone, for a command that reads it:

  mscclc explain deadlock --example | mscclc verify - --replay
  mscclc explain undecided --example | mscclc verify -
  mscclc explain race --example --sided one | mscclc verify - --replay`,
		Example: "  mscclc explain stale",
		Args:    cli.AtMost(1, "a code"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(compiling.SideNames[:2], sided):
				return cli.Usagef("--sided takes one or two, not %q", sided)
			case sided == "one" && !example:
				return cli.Usagef("--sided one chooses which --example to print: give --example too")
			case len(args) == 1:
				return explainCode(a, args[0], example, sided == "one")
			case example:
				return cli.Usagef("--example needs a code; mscclc explain lists them")
			}
			return listCodes(a, "")
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, "print the example alone")
	cli.WordFlag(cmd.Flags(), &sided, "sided", "", "two",
		"one: with --example, print the example that is a one-sided program", compiling.SideNames[:2])
	return cmd
}

// listCodes lists the codes that begin with prefix, with their first sentences.
func listCodes(a *cli.App, prefix string) error {
	if a.JSON {
		return explainJSON(a, begun(diag.Codes(), prefix))
	}
	between := ""
	for _, g := range diag.Groups {
		codes := begun(g.Codes(), prefix)
		if len(codes) == 0 {
			continue
		}
		fmt.Fprintf(a.Stdout, "%s%s:\n", between, g.Title)
		for _, code := range codes {
			e, _ := diag.Explain(code)
			fmt.Fprintf(a.Stdout, "  %-17s %s\n", code, e.First())
		}
		between = "\n"
	}
	fmt.Fprintln(a.Stdout, "\nmscclc explain CODE says more of each.")
	return nil
}

// begun returns those of codes that begin with prefix.
func begun(codes []diag.Code, prefix string) []diag.Code {
	return slices.DeleteFunc(slices.Clone(codes),
		func(c diag.Code) bool { return !strings.HasPrefix(string(c), prefix) })
}

// explainCode explains a code, or prints its example alone. Of the first word of several codes it lists these.
func explainCode(a *cli.App, code string, example, oneSided bool) error {
	e, ok := diag.Explain(diag.Code(code))
	text := e.Example
	if oneSided {
		text = e.OneSided
	}
	switch {
	case !ok && !example && len(begun(diag.Codes(), code+"-")) > 0:
		return listCodes(a, code+"-")
	case !ok:
		return cli.Usagef("%q is not the code of an error", code).
			Hint("%s", cli.DidYouMean(code, cli.CodeNames(), "mscclc explain lists them"))
	case a.JSON:
		return explainJSON(a, []diag.Code{e.Code})
	case !example:
		writeExplanation(a.Stdout, &e)
	case text != "":
		fmt.Fprint(a.Stdout, text)
	case oneSided:
		return cli.Usagef("%s has no example that is a one-sided program", code)
	case e.NoCommand != "":
		return cli.Usagef("%s has no example: %s", code, e.NoCommand)
	default:
		return cli.Usagef("%s needs no input file: %q shows it", code, e.Command)
	}
	return nil
}

// An explainedDocument is what explain --json prints.
type explainedDocument struct {
	Schema int         `json:"schema"`
	Codes  []explained `json:"codes"`
}

// An explained is what --json says of a code.
type explained struct {
	Code    diag.Code `json:"code"`
	Text    string    `json:"text"`
	Example string    `json:"example,omitempty"`
	Command string    `json:"command,omitempty" doc:"shows the error: lines for a shell"`
	Replay  bool      `json:"replay,omitempty" doc:"verify --replay shows it in a run"`

	OneSided string `json:"one_sided_example,omitempty" doc:"an execution plan in JSON, which verify rejects"`
}

func explainJSON(a *cli.App, codes []diag.Code) error {
	doc := explainedDocument{Schema: cli.Schema}
	for _, code := range codes {
		e, _ := diag.Explain(code)
		lines := strings.Join(e.Lines(), "\n")
		doc.Codes = append(doc.Codes, explained{code, e.Text(), e.Example, lines, code.Replayable(), e.OneSided})
	}
	return a.WriteJSON(doc)
}

// writeExplanation prints what e says, its example and the commands that show it.
func writeExplanation(w io.Writer, e *diag.Explanation) {
	for paragraph := range strings.SplitSeq(e.Text(), "\n\n") {
		fmt.Fprintf(w, "%s\n\n", filled(paragraph, textWidth))
	}
	kind := "error"
	if e.Code.Warning() {
		kind = "warning"
	}
	if e.NoCommand != "" {
		fmt.Fprintf(w, "There is no example. %s\n", e.NoCommand)
		return
	}
	fmt.Fprintf(w, "To see the %s:\n\n%s\n", kind, cli.Indent(strings.Join(e.Lines(), "\n")))
	if e.Code.Replayable() {
		fmt.Fprintf(w, "\nTo see it happen in a run:\n\n%s\n", cli.Indent(e.Lines()[0]+" --replay"))
	}
	if e.OneSided != "" {
		fmt.Fprintf(w, "\nTo see the %s in a one-sided program:\n\n%s\n", kind, cli.Indent(e.OneSidedLine()))
	}
	if e.Example != "" {
		fmt.Fprintf(w, "\nThe example:\n\n%s\n", cli.Indent(e.Example))
	}
}

// textWidth is the width of explanations in columns.
const textWidth = 80

// filled breaks a paragraph into lines of up to width columns.
func filled(paragraph string, width int) string {
	var lines []string
	for _, word := range strings.Fields(paragraph) {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}
