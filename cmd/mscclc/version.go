package main

import (
	"fmt"
	"runtime"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"

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

func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the devices and the targets of this build",
		Args:  cli.AtMost(0, ""),
		RunE:  func(*cobra.Command, []string) error { return printVersion(a) },
	}
}

// printVersion is mscclc version, and mscclc --version.
func printVersion(a *cli.App) error {
	v := versionDocument{cli.Schema, cli.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, devices.Built(),
		cli.TargetNames()}
	if a.JSON {
		return a.WriteJSON(v)
	}
	fmt.Fprintf(a.Stdout, "mscclc %s, %s %s\ndevices: %s\ntargets: %s\n", v.Version, v.Go, v.Platform, cli.List(v.Devices),
		cli.List(v.Targets))
	return nil
}
