// Package withcmd is mscclc with: it starts an application that uses NCCL. A program of a bundle runs a collective
// call, if the bundle has a rule for the call. NCCL runs calls without a rule, but learning changes that for some calls
// of up to 4 MiB. In the first such calls, the library of package runtime times NCCL and several programs. The fastest
// then runs all later ones.
package withcmd

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/runtime"
	"mscclc/selection"

	"github.com/spf13/cobra"
)

type withFlags struct {
	bundle, nccl, lib string
	replace, print    bool
	tune              bool
}

// none is the value of --nccl for programs without NCCL.
const none = nccllib.None

// Command returns mscclc with.
func Command(a *cli.App) *cobra.Command {
	var f withFlags
	cmd := &cobra.Command{
		Use:   "with [--bundle FILE] [-- COMMAND...]",
		Short: "Run a program that uses NCCL, with a bundle's programs for its collectives",
		Long: `Run a program that uses NCCL, such as one of PyTorch, JAX or nccl-tests, without any change. Collective
calls that a rule of the bundle is for run the bundle's programs. NCCL runs all others.

Without --bundle, the bundle is that of the rules that mscclc tune measured on this machine, or else of those that are
built in for its GPUs. For some other calls of up to 4 MiB, the library learns: NCCL and programs run the first ones in
turn, and the fastest runs later ones. The bundle is made once, and kept in the user's cache. --tune measures first what
is not measured yet.

The command sets environment variables and then becomes COMMAND, such as torchrun, mpirun or srun. With --print, it
prints the variables instead, for launchers that take them as flags.

The library is that of the package of mscclc, if one is installed. Otherwise it is built once with g++ and kept in the
user's cache, which MSCCLC_CACHE=FOLDER moves. It stands before NCCL in the program (LD_PRELOAD). A
program that opens libnccl.so.2 by its name needs --replace: then the library stands in the place of NCCL, and hands all
other calls on to NCCL. NCCL is found on LD_LIBRARY_PATH, in the system's list of libraries, or among the packages of
python3; --nccl names another file. --nccl none runs without NCCL: what no rule is for is an error.

Messages name the calls that NCCL runs, by collective, size and type; --json has all of them with reasons. The
environment counts: MSCCLC_CTAS and NCCL_MAX_CTAS say how many CTAs a launch has, and rules that need more do not count.

With MSCCLC_BITS=invariant, the bits of a sum of floats do not depend on the size of the call. NCCL runs no such sum,
and the library stands in the place of NCCL, as with --replace, where NCCL is found.

MSCCLC_DEBUG=INFO prints what the library does, to stderr or to MSCCLC_DEBUG_FILE. MSCCLC_STATS=FILE has it write counts
of calls by function and reason to FILE every 10 s, as lines of JSON. MSCCLC_METRICS=FOLDER has each process write
metrics for Prometheus to FOLDER, and its last calls when a communicator fails or the file dump appears there. In these
paths %h is the host and %p the process. MSCCLC_PERIOD is the number of seconds instead of 10. MSCCLC_CTAS is the most
CTAs of a launch.`,
		Example: `  mscclc with -- torchrun --nproc-per-node 2 train.py
  mscclc with --tune -- torchrun --nproc-per-node 8 train.py
  mscclc with --bundle h200.bundle -- torchrun --nproc-per-node 4 train.py
  mscclc with --bundle h200.bundle --replace -- python3 train_jax.py
  mscclc with --bundle h200.bundle --print`,
		RunE: func(_ *cobra.Command, args []string) error { return with(a, &f, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&f.bundle, "bundle", "", "run the programs of `FILE` (default: what tune measured, or what is built in for the GPU)")
	flags.StringVar(&f.nccl, "nccl", "", "NCCL is `FILE`, or none (default: search for libnccl.so.2)")
	flags.StringVar(&f.lib, "lib", "", "take the library from `DIR` (default: the package's, or build it in the user's cache)")
	flags.BoolVar(&f.replace, "replace", false, "stand in the place of NCCL, for programs that open it by its name")
	flags.BoolVar(&f.tune, "tune", false, "measure first what mscclc tune has not measured on this machine")
	flags.BoolVar(&f.print, "print", false, "print the environment variables")
	return cmd
}

// A Document is what with --print --json prints.
type Document struct {
	Schema    int         `json:"schema"`
	Variables []Variable  `json:"variables"`
	Bundle    string      `json:"bundle" doc:"the file of the bundle"`
	CTAs      int         `json:"ctas" doc:"the most CTAs of a launch, by MSCCLC_CTAS and NCCL_MAX_CTAS"`
	Sets      []SetReport `json:"sets" doc:"one for each number of ranks of the bundle"`
	NCCL      string      `json:"nccl,omitempty" doc:"the file of NCCL, if one was found"`
	Missing   []string    `json:"missing,omitempty" doc:"functions of NCCL that the library does not hand on"`
	cli.Noted
}

// A Variable is an environment variable and its value.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func with(a *cli.App, f *withFlags, command []string) error {
	switch {
	case len(command) == 0 && !f.print && !a.JSON:
		return cli.Usagef("with needs a command, or --print").Hint("mscclc with -- torchrun train.py")
	case f.tune && f.bundle != "":
		return cli.Usagef("--bundle says what runs, and --tune measures for bundles of this machine: give one")
	case len(command) > 0 && f.print:
		return cli.Usagef("--print takes no command")
	}
	doc := &Document{Schema: cli.Schema}
	if err := f.variables(a, doc); err != nil {
		return err
	}
	if len(command) == 0 {
		return doc.write(a)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return cli.Unavailable("%s cannot be run: %v", command[0], err)
	}
	env := os.Environ()
	for _, v := range doc.Variables {
		env = append(env, v.Name+"="+v.Value)
	}
	return become(path, command, env)
}

// variables sets what the program needs.
func (f *withFlags) variables(a *cli.App, doc *Document) error {
	file := f.bundle
	var err error
	if err := checkBits(); err != nil {
		return err
	}
	if doc.NCCL, err = f.findNCCL(a); err != nil {
		return err
	}
	if invariant() { // a program that opens NCCL by its name must not get NCCL's sums
		f.replace = doc.NCCL != ""
	}
	if file == "" {
		file, err = f.ofMachine(a, doc.NCCL)
	} else {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return err
	}
	doc.Bundle = file
	b, err := tuned.Open(cmp.Or(f.bundle, file))
	if err != nil {
		return err
	}
	doc.report(a, b)
	if info, err := os.Stat(f.lib); f.lib != "" && (err != nil || !info.IsDir()) {
		return cli.Unavailable("--lib: there is no folder %s", f.lib)
	}
	if f.bundle != "" {
		noteMachine(a, b, doc.NCCL)
	}
	dir, err := f.folder(a, doc.NCCL)
	if err != nil {
		return err
	}
	doc.print(a)
	library := filepath.Join(dir, runtime.PreloadLibrary)
	if f.replace || f.nccl == none {
		library = filepath.Join(dir, filepath.FromSlash(runtime.NCCLLibrary))
	}
	if names, err := nccllib.Exports(library); err != nil {
		return cli.Unavailable("%v", err)
	} else if !slices.Contains(names, "ncclAllReduce") {
		return cli.Unavailable("%s is another library", library)
	}
	if err := files.Trusted(library); err != nil {
		return cli.Unavailable("the library is not taken, since a job would run it: %v", err)
	}
	if strings.ContainsAny(library, " :\t\n") {
		d := diag.New(diag.Unavailable, diag.Span{}, "LD_PRELOAD cannot hold %q, which has a space or a colon", library)
		return diag.List{d.WithHint("name another folder by --lib DIR, or by MSCCLC_CACHE")}
	}
	if f.replace && doc.NCCL != none {
		if doc.Missing, err = nccllib.Missing(doc.NCCL, library); err != nil {
			return cli.Unavailable("%v", err)
		}
		if len(doc.Missing) > 0 {
			a.Note("", "the library does not hand on %s: programs that open NCCL by its name do not find them",
				strings.Join(doc.Missing, ", "))
		}
	}
	doc.Variables = []Variable{{"LD_PRELOAD", preload(library, os.Getenv("LD_PRELOAD"))}, {"MSCCLC_BUNDLE", file}}
	if f.replace || f.nccl == none {
		doc.Variables = append(doc.Variables, Variable{"MSCCLC_NCCL", doc.NCCL})
	}
	if invariant() {
		doc.Variables = append(doc.Variables, Variable{bitsVariable, selection.Invariant})
	}
	if os.Getenv("MSCCLC_LEARNED") == "" && f.nccl != none && b.Candidates() {
		if path := learned(); path != "" {
			doc.Variables = append(doc.Variables, Variable{"MSCCLC_LEARNED", path})
		}
	}
	return nil
}

// findNCCL returns the file of NCCL, or none. Where --replace does not need it, there may be no file.
func (f *withFlags) findNCCL(a *cli.App) (string, error) {
	path, err := nccllib.Find(f.nccl)
	switch {
	case err != nil:
		return "", cli.Unavailable("%v", err)
	case path == "" && f.replace:
		return "", cli.Unavailable("%s is not found on LD_LIBRARY_PATH, by ldconfig, or in the packages of python3; give --nccl FILE",
			nccllib.Soname)
	case path == "" && invariant():
		a.Note("", "%s is not found here; a program that opens it by its name gets NCCL's sums: give --nccl FILE", nccllib.Soname)
	case path == "":
		a.Note("", "%s is not found here; the program must bring its own", nccllib.Soname)
	}
	return path, nil
}

// preload returns LD_PRELOAD with a library before what was there, without libraries of mscclc that were there.
func preload(library, before string) string {
	list := []string{library}
	for _, other := range strings.FieldsFunc(before, func(r rune) bool { return r == ':' || r == ' ' }) {
		names, _ := nccllib.Exports(other)
		if filepath.Base(other) != runtime.PreloadLibrary && !slices.Contains(names, nccllib.Ours) {
			list = append(list, other)
		}
	}
	return strings.Join(list, ":")
}

// write prints the variables: as JSON, or as a shell reads them.
func (d *Document) write(a *cli.App) error {
	if a.JSON {
		d.Noted = a.Notes.List()
		return a.WriteJSON(d)
	}
	for _, v := range d.Variables {
		fmt.Fprintf(a.Stdout, "export %s='%s'\n", v.Name, strings.ReplaceAll(v.Value, "'", `'\''`))
	}
	return nil
}
