package main

import (
	"mscclc/cmd/mscclc/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A helpDocument is what help --json, and COMMAND --help --json, print.
type helpDocument struct {
	Schema   int           `json:"schema"`
	Command  string        `json:"command"`
	Usage    string        `json:"usage"`
	Short    string        `json:"short"`
	Long     string        `json:"long,omitempty"`
	Examples string        `json:"examples,omitempty"`
	Flags    []helpFlag    `json:"flags"`
	Commands []helpCommand `json:"commands,omitempty" doc:"and topics"`
}

// A helpFlag is a flag of a command.
type helpFlag struct {
	Name    string   `json:"name"`
	Short   string   `json:"short,omitempty"`
	Value   string   `json:"value,omitempty" doc:"what stands for its value in usage; absent of a switch"`
	Default string   `json:"default,omitempty"`
	Usage   string   `json:"usage"`
	Words   []string `json:"words,omitempty" doc:"the values that there are"`
}

// A helpCommand is a command, or a topic of help.
type helpCommand struct {
	Name  string `json:"name"`
	Short string `json:"short"`
}

// documented has help print a document where --json is given.
func documented(a *cli.App, root *cobra.Command) {
	text := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !a.JSON {
			text(cmd, args)
			return
		}
		a.WriteJSON(helpOf(cmd)) // the product knows of an error
	})
}

func helpOf(cmd *cobra.Command) helpDocument {
	d := helpDocument{Schema: cli.Schema, Command: cmd.CommandPath(), Usage: cmd.UseLine(), Short: cmd.Short,
		Long:     cmd.Long,
		Examples: cmd.Example, Flags: []helpFlag{}}
	visit := func(flag *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(flag)
		f := helpFlag{Name: flag.Name, Short: flag.Shorthand, Value: value, Usage: usage, Default: flag.DefValue}
		if w, ok := flag.Value.(cli.Word); ok {
			f.Words = w.Names
		}
		d.Flags = append(d.Flags, f)
	}
	cmd.LocalFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			d.Commands = append(d.Commands, helpCommand{c.Name(), c.Short})
		}
	}
	return d
}
