package cli

import (
	"strings"

	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/text"

	"github.com/spf13/cobra"
)

// A Report is what --json says of one file; mscclc help json describes it.
type Report struct {
	Schema int `json:"schema"`
	diag.FileReport
	Program *ProgramInfo `json:"program,omitempty" doc:"where it is ok"`
	Noted
}

// A ProgramInfo is what a report says of a program.
type ProgramInfo struct {
	Algorithm  string `json:"algorithm"`
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Chunks     int    `json:"chunks"`
	Inplace    bool   `json:"inplace"`
	Protocol   string `json:"protocol"`
	Channels   int    `json:"channels"`
	Blocks     int    `json:"blocks"`
	Steps      int    `json:"steps"`

	Sizes sizesInfo `json:"sizes" doc:"the bytes that it is for"`

	Root     *int              `json:"root,omitempty" doc:"of collectives that have one"`
	OneSided *onesided.Traffic `json:"one_sided,omitempty" doc:"of one-sided programs"`
}

// A sizesInfo is the range of bytes that a program is for.
type sizesInfo struct {
	From  int64 `json:"from"`
	Below int64 `json:"below,omitempty" doc:"absent: no end"`
}

// NewReport returns the report of what was found in file. p may be nil.
func NewReport(file string, found diag.List, p *either.Program) Report {
	r := Report{Schema: Schema, FileReport: diag.Report(file, found)}
	if p != nil && !found.Rejects() {
		r.Program = &ProgramInfo{p.Name, text.KindName(p), p.Coll.Ranks, p.Coll.Chunks, p.Coll.Inplace,
			p.Protocol.String(), p.Channels(), len(p.Blocks), len(p.Steps), sizesInfo{p.Sizes.Min, p.Sizes.Max}, nil, nil}
		if p.Coll.Kind.Rooted() {
			r.Program.Root = new(p.Coll.Root)
		}
		if p.OneSided != nil {
			r.Program.OneSided = new(p.OneSided.Traffic())
		}
	}
	return r
}

// Exactly, AtLeast and AtMost check the number of arguments; what says what is
// missing.
func Exactly(n int, what string) cobra.PositionalArgs { return Between(n, n, what) }

// AtLeast takes n arguments or more, which are called what.
func AtLeast(n int, what string) cobra.PositionalArgs { return Between(n, 1<<30, what) }

// AtMost takes up to n arguments, which are called what.
func AtMost(n int, what string) cobra.PositionalArgs { return Between(0, n, what) }

// Between takes least to most arguments, which are called what.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s needs %s", cmd.Name(), what).Hint("see mscclc %s --help", cmd.Name())
		case len(args) > most && most == 0:
			return Usagef("%s takes no arguments", cmd.Name()).Hint("see mscclc %s --help", cmd.Name())
		case len(args) > most:
			return Usagef("%s takes %s, and nothing after it: %q", cmd.Name(), what, args[most]).Hint("see mscclc %s --help",
				cmd.Name())
		}
		return nil
	}
}

// FirstLine returns s up to its first newline, which it leaves out.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// List joins names by commas; it returns "none" if there are none.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
