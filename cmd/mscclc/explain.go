package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mscclc/ir/diag"
)

func (a *app) explainCommand() *cobra.Command {
	var example bool
	var sided string
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain the code of an error, or list all codes",
		Long: `Explain the code of an error, with a small example that is rejected with it, or list all codes. --example prints the example
alone, to be tried:

  mscclc explain deadlock --example | mscclc verify - --replay
  mscclc explain race --example --sided one | mscclc verify - --replay`,
		Example: "  mscclc explain stale",
		Args:    atMost(1, "a code"),
		RunE: func(_ *cobra.Command, args []string) error {
			var codes []explained
			for _, c := range diag.Codes() {
				if len(args) == 0 || string(c) == args[0] {
					e, _ := diag.Explain(c)
					codes = append(codes, explained{c, e.Text, e.Example, e.Command, c.Replayable() && e.File() != "", diag.OneSidedExample(c)})
				}
			}
			switch {
			case !slices.Contains(sideNames, sided):
				return usagef("--sided takes one or two, not %q", sided)
			case sided == "one" && !example:
				return usagef("--sided one is which --example to print")
			case len(codes) == 0:
				return usagef("%q is not the code of an error%s", args[0], didYouMean(args[0], codeNames(), "; mscclc explain lists them"))
			case a.json:
				return a.writeJSON(struct {
					Schema int         `json:"schema"`
					Codes  []explained `json:"codes"`
				}{schema, codes})
			case len(args) == 0 && !example:
				for _, c := range codes {
					fmt.Fprintf(a.stdout, "%-17s %s\n", c.Code, firstLine(c.Text))
				}
			case len(args) == 0:
				return usagef("--example needs a code; mscclc explain lists them")
			case example && sided == "one" && codes[0].OneSided == "":
				return usagef("%s has no example that is a one-sided program", codes[0].Code)
			case example && sided == "one":
				fmt.Fprint(a.stdout, codes[0].OneSided)
			case example:
				fmt.Fprint(a.stdout, codes[0].Example)
			default:
				codes[0].print(a.stdout)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&example, "example", false, "print the example alone")
	wordFlag(cmd.Flags(), &sided, "sided", "", "two", "one: of --example, the one that is a one-sided program", sideNames)
	return cmd
}

// codeNames are all codes.
func codeNames() (names []string) {
	for _, c := range diag.Codes() {
		names = append(names, string(c))
	}
	return names
}

// explained is what --json says of a code.
type explained struct {
	Code    diag.Code `json:"code"`
	Text    string    `json:"text"`
	Example string    `json:"example,omitempty"`
	Command string    `json:"command,omitempty"` // rejects the example, where that is a file
	Replay  bool      `json:"replay,omitempty"`  // verify --replay shows the example's problem in a run

	OneSided string `json:"one_sided_example,omitempty"` // a plan in JSON
}

func (e *explained) print(w io.Writer) {
	fmt.Fprintln(w, e.Text)
	if e.Example == "" {
		return
	}
	if e.Command == "" {
		fmt.Fprintf(w, "\nAn example:\n\n%s\n", indent(e.Example))
		return
	}
	how := "An example, which %q rejects"
	if e.Code.Warning() {
		how = "An example, of which %q warns"
	}
	fmt.Fprintf(w, "\n"+how+":\n\n%s\n", e.Command, indent(e.Example))
	if e.Replay {
		fmt.Fprintf(w, "\nTo see it happen:\n\n    mscclc explain %s --example | mscclc verify - --replay\n", e.Code)
	}
	if e.OneSided == "" {
		return
	}
	fmt.Fprintf(w, "\nA one-sided program with this problem is shown, and judged, by\n\n    mscclc explain %[1]s --example --sided one | mscclc show -\n    mscclc explain %[1]s --example --sided one | mscclc verify -", e.Code)
	if e.Replay {
		fmt.Fprint(w, " --replay")
	}
	fmt.Fprintln(w)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the devices and the targets of this build",
		Args:  atMost(0, ""),
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Schema   int      `json:"schema"`
				Version  string   `json:"version"`
				Go       string   `json:"go"`
				Platform string   `json:"platform"`
				Devices  []string `json:"devices"`
				Targets  []string `json:"targets"`
			}{schema, version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, devices(), targetNames()}
			if a.json {
				return a.writeJSON(v)
			}
			fmt.Fprintf(a.stdout, "mscclc %s, %s %s\ndevices: %s\ntargets: %s\n", v.Version, v.Go, v.Platform, list(v.Devices), list(v.Targets))
			return nil
		},
	}
}

// version is the module's version, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value
		}
	}
	if v == "" {
		return "(devel)"
	}
	return v
}

// indent moves the lines of s four to the right.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}
