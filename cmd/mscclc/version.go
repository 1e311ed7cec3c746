package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"mscclc/cmd/mscclc/internal/cli"

	"github.com/spf13/cobra"
)

// A versionDocument is what version --json prints.
type versionDocument struct {
	Schema   int      `json:"schema"`
	Version  string   `json:"version"`
	Go       string   `json:"go" doc:"the version of Go that built it"`
	Platform string   `json:"platform"`
	Devices  []string `json:"devices"`
	Targets  []string `json:"targets"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the devices and the targets of this build",
		Args:  cli.AtMost(0, ""),
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// printVersion is mscclc version, and mscclc --version.
func (a *app) printVersion() error {
	v := versionDocument{cli.Schema, version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, devices(),
		cli.TargetNames()}
	if a.JSON {
		return a.WriteJSON(v)
	}
	fmt.Fprintf(a.Stdout, "mscclc %s, %s %s\ndevices: %s\ntargets: %s\n", v.Version, v.Go, v.Platform, cli.List(v.Devices),
		cli.List(v.Targets))
	return nil
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
