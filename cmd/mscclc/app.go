package main

import "io"

// Exit codes.
const (
	exitGood     = 0
	exitInput    = 1
	exitUsage    = 2
	exitMachine  = 3
	exitInternal = 4

	exitInterrupted = 130 // by SIGINT, as shells have it
)

// An App is one run of the command: what its subcommands share.
type App struct {
	args      []string
	stdin     io.Reader
	stdout    *product
	stderr    io.Writer
	json      bool
	file      string // what the run is about, for reports
	stdinText excerpts
	guard     *guard
	notes     *notes
	endings   func(flag string) []string // those of the files that a flag names; nil: any
}

// newApp returns a run of the command with some arguments. Its results go to stdout, its messages to stderr.
func newApp(args []string, stdin io.Reader, stdout, stderr io.Writer, endings func(flag string) []string) *App {
	a := &App{args: args, stdin: stdin, stderr: stderr, guard: &guard{}, notes: &notes{}, endings: endings}
	a.stdout = &product{Writer: stdout, name: stdoutName}
	return a
}

// talking is a with its results among the messages: stdout is something else.
func (a *App) talking() *App {
	talk := *a
	talk.stdout = &product{Writer: a.stderr}
	return &talk
}
