package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

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
