// Command mscclc compiles, proves and runs collective communication algorithms.
//
// Results go to stdout, or to the file that -o names. Messages go to stderr. With --json, a command prints one JSON
// document on stdout, which also has the messages.
//
// Exit codes: 0 good, 1 the input is wrong, 2 the command line is wrong, 3 not possible with this machine or build, 4 a
// fault of mscclc.
package main

import (
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/benchcmd"
	"mscclc/cmd/mscclc/internal/bundlecmd"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/completion"
	"mscclc/cmd/mscclc/internal/doctorcmd"
	"mscclc/cmd/mscclc/internal/playcmd"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/runcmd"
	"mscclc/cmd/mscclc/internal/scarce"
	"mscclc/cmd/mscclc/internal/selectcmd"
	"mscclc/cmd/mscclc/internal/showcmd"
	"mscclc/cmd/mscclc/internal/simulatecmd"
	"mscclc/cmd/mscclc/internal/synthcmd"
	"mscclc/cmd/mscclc/internal/tunecmd"
	"mscclc/cmd/mscclc/internal/verifycmd"
	"mscclc/cmd/mscclc/internal/withcmd"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

func main() {
	// A compilation is short and keeps most of what it makes. To collect garbage less often saves a seventh of the
	// time, and takes twice the memory. Programs of millions of steps stay below 2.5 GiB where they can.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(5 << 29)
	}
	code, alone, err := scarce.Watch()
	switch {
	case alone:
		cli.RemoveOnSignal()
		if os.Getenv(processes.EnvParent) != "" {
			processes.Follow()
		}
		code = main1(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	case err != nil:
		a := cli.NewApp(os.Args[1:], nil, os.Stdout, os.Stderr, completion.ValueEndings)
		a.JSON = cli.AsksJSON(os.Args[1:])
		code = a.Fail(err)
	}
	os.Exit(code)
}

// main1 returns the whole command.
func main1(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := cli.NewApp(args, stdin, stdout, stderr, completion.ValueEndings)
	defer func() {
		if r := recover(); r != nil {
			if os.Getenv("MSCCLC_STACK") != "" {
				stderr.Write(debug.Stack())
			}
			code = a.Fail(diag.List{cli.Panicked(r)})
		}
	}()
	root := rootCommand(a)
	spelled(a, root, args)
	if err := noCommand(root, args); err != nil {
		return a.Fail(err)
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil && a.Stdout.Err != nil {
		err = a.Stdout.Err
	}
	if err != nil {
		return a.Fail(err)
	}
	return cli.ExitGood
}

func rootCommand(a *cli.App) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "mscclc",
		Short: "Compile, prove and run collective communication algorithms",
		Long: `mscclc compiles collective communication algorithms to programs for thread blocks. Algorithms are .mscl files
that say which chunk goes where. mscclc proves that programs are right, writes them for other runtimes, and runs them.

FILE is a .mscl, .xml or .mprog file, - for stdin, or the name of an algorithm of the catalog, such as
allreduce/ring; "mscclc list" shows them.

Exit codes: 0 good, 1 the input is wrong, 2 usage, 3 not possible with this machine or build, 4 a fault of mscclc.`,
		Example: `  mscclc run allreduce/allpairs -p ranks=8 --bytes 512K
  mscclc compile ring.mscl -p ranks=8 -o ring.xml
  mscclc verify ring.xml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("%q is not a command", args[0]).Hint("%s", cli.DidYouMean(args[0], cli.CommandNames(cmd), cli.MeantRun(args[0])))
			}
			if showVersion {
				return printVersion(a)
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.PersistentFlags().BoolVar(&a.JSON, "json", false,
		"print one JSON document on stdout; mscclc help json describes it")
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, as mscclc version does")
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(compiling.Command(a), verifycmd.Command(a), runcmd.Command(a), benchcmd.Command(a),
		benchcmd.Compare(a), benchcmd.Search(a), showcmd.Command(a),
		lintCommand(a), topoCommand(a), simulatecmd.Command(a), selectcmd.Command(a), synthcmd.Synthesize(a),
		synthcmd.Check(a), bundlecmd.Command(a), libraryCommand(a),
		withcmd.Command(a), tunecmd.Command(a), doctorcmd.Command(a), showcmd.TraceChunk(a), fmtCommand(a),
		listCommand(a), explainCommand(a), lspCommand(a), playcmd.Command(a),
		versionCommand(a), manCommand(a),
		jsonHelp())
	root.AddCommand(topics()...)
	completion.AddCommand(a, root)
	strict(root)
	completion.Register(root)
	documented(a, root)
	return root
}

// strict makes errors of usage of what cobra's own commands take for a wish to
// see their help: a topic or a shell that there is not.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run = nil
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 {
					return noTopic(root, args)
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("%q is no shell that there is completion for; there are %s", args[0], cli.List(shells))
				}
				return cmd.Help()
			}
		}
	}
}

// noCommand returns the usage error of --help of a word that is no command, for which cobra shows the help of what is
// before it.
func noCommand(root *cobra.Command, args []string) error {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return nil
	}
	cmd, rest, err := root.Find(args)
	words := slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.HasPrefix(word, "-") })
	switch {
	case err != nil || len(words) == 0:
	case cmd.Name() == "help":
		if _, more, err := root.Find(words); err != nil || len(more) > 0 {
			return noTopic(root, words)
		}
	case cmd.HasSubCommands():
		return cmd.RunE(cmd, words)
	}
	return nil
}

// noTopic returns the usage error about args of help that are neither a command nor a topic.
func noTopic(root *cobra.Command, args []string) error {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	otherwise := "see mscclc --help"
	if slices.Contains(cli.CodeNames(), args[0]) {
		otherwise = "did you mean mscclc explain " + args[0] + "?"
	}
	return cli.Usagef("%q is neither a command nor a topic", strings.Join(args, " ")).Hint("%s",
		cli.DidYouMean(args[0], names, otherwise))
}

// spelled makes an error of usage of --FLAG false, which is --FLAG and a file that is called false: the
// value of a flag that needs none stands after an equals sign. It makes one of --FLAG "" too.
func spelled(a *cli.App, root *cobra.Command, given []string) {
	for _, cmd := range root.Commands() {
		judge := cmd.Args
		if judge == nil {
			continue
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := cli.EmptyFlag(cmd); err != nil {
				return err
			}
			for i, value := range given[:max(len(given), 1)-1] {
				name, next := strings.TrimLeft(value, "-"), given[i+1]
				if value == "--" {
					break
				}
				flag := cmd.Flags().Lookup(name)
				if len(name) == 1 {
					flag = cmd.Flags().ShorthandLookup(name)
				}
				if name == value || flag == nil || flag.NoOptDefVal == "" || next != "true" && next != "false" {
					continue
				}
				if _, err := os.Stat(next); err != nil {
					return cli.Usagef("%q is taken for a file, as %s needs no value", next, value).Hint("did you mean --%s=%s?",
						flag.Name, next)
				}
			}
			return judge(cmd, args)
		}
	}
}
