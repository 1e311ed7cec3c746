// Package cli has what all commands of mscclc share. [App] is one run of the command.
//
//   - Inputs, outputs, progress and JSON documents. An output file is written as a whole or not at all.
//   - Notes, errors of usage, hints and exit codes.
//   - Limits of sizes. Hints for users who write a flag or a word as another tool does.
package cli

import (
	"io"
	"runtime/debug"
)

// Exit codes.
const (
	ExitGood     = 0
	ExitInput    = 1
	ExitUsage    = 2
	ExitMachine  = 3
	ExitInternal = 4

	ExitInterrupted = 130 // by SIGINT, as shells have it
)

// An App is one run of the command: what its subcommands share.
type App struct {
	args      []string
	stdin     io.Reader
	Stdout    *product
	Stderr    io.Writer
	JSON      bool
	File      string // what the run is about, for reports
	stdinText excerpts
	Guard     *guard
	Notes     *notes
	endings   func(flag string) []string // those of the files that a flag names; nil: any
}

// NewApp returns a run of the command with some arguments. Its results go to stdout, its messages to stderr.
func NewApp(args []string, stdin io.Reader, stdout, stderr io.Writer, endings func(flag string) []string) *App {
	a := &App{args: args, stdin: stdin, Stderr: stderr, Guard: &guard{}, Notes: &notes{}, endings: endings}
	a.Stdout = &product{Writer: stdout, name: stdoutName}
	return a
}

// Mute leaves out the results: another process of the same job prints them.
func (a *App) Mute() { a.Stdout = &product{Writer: io.Discard} }

// Talking returns a with its results among the messages: stdout is something else.
func (a *App) Talking() *App {
	talk := *a
	talk.Stdout = &product{Writer: a.Stderr}
	return &talk
}

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
