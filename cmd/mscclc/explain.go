package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"mscclc/ir/diag"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Explain the code of an error, or list all codes",
		Example: "  mscclc explain stale",
		Args:    atMost(1, "a code"),
		RunE: func(_ *cobra.Command, args []string) error {
			type code struct {
				Code    diag.Code `json:"code"`
				Text    string    `json:"text"`
				Example string    `json:"example,omitempty"`
			}
			var codes []code
			for _, c := range diag.Codes() {
				if len(args) == 0 || string(c) == args[0] {
					e, _ := diag.Explain(c)
					codes = append(codes, code{c, e.Text, e.Example})
				}
			}
			switch {
			case len(codes) == 0:
				return usagef("%q is no code of an error; mscclc explain lists them", args[0])
			case a.json:
				return a.writeJSON(struct {
					Schema int    `json:"schema"`
					Codes  []code `json:"codes"`
				}{schema, codes})
			}
			for _, c := range codes {
				if len(args) == 0 {
					fmt.Fprintf(a.stdout, "%-14s %s\n", c.Code, firstLine(c.Text))
					continue
				}
				fmt.Fprintln(a.stdout, c.Text)
				if c.Example != "" {
					fmt.Fprintf(a.stdout, "\nAn example:\n\n%s\n", indent(c.Example))
				}
			}
			return nil
		},
	}
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
