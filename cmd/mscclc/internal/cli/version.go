package cli

import "runtime/debug"

// version is what a release is called; the linker sets it.
var version string

// Version returns the module's version, or the commit that it was built from.
func Version() string {
	if version != "" {
		return version
	}
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
