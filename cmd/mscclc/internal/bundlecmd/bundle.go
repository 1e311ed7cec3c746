package bundlecmd

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/data"
	"mscclc/files"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

type bundleFlags struct {
	device, ranks, dtypes string
	ctas                  int
	ctasGiven             bool
	rules, programs, then []string
	candidates, finish    bool
	out                   string
	cli.Reading
}

// Command returns mscclc bundle.
func Command(a *cli.App) *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "bundle --device NAME -o FILE.bundle [FILE...]",
		Short: "Write a bundle: proven programs, kernels and rules for communicators of a GPU",
		Long: `Write a bundle, the file that the library of mscclc reads in a job of PyTorch, JAX or nccl-tests. A
bundle has the rules that say which program runs a call, the programs with their tables, and the kernels for the types
of --dtype. Equal input gives equal bytes.

All programs are one-sided and staged: ranks reach scratch, packets and flags of other ranks only, so that calls may
have any buffers. Rules for windows may name direct programs, which reach buffers of other ranks. Each is proven for
calls in place and out of place, and all ranks of an AllReduce end with the same bits. mscclc verify FILE.bundle proves
the programs again, and mscclc show FILE.bundle prints rules, programs and memory.

Rules are those of --rules FILE, which mscclc search --staged measures or mscclc select --staged simulates, then
those that are built in for the device. NCCL runs all other calls. With --candidates, the bundle has candidates for
calls of up to 4 MiB among them: programs that nobody measured. In a job, the library learns which of them are faster
than NCCL. A rule with "nodes" is for ranks that lie on several nodes so. Its program is compiled and proven for these:
what a rank reads of another node has arrived (mscclc explain across-nodes).

FILEs are programs of your own, which rules name by the names of the files: algorithms, which are compiled for each
number of ranks, and .mprog files of staged programs.

With --program NAME=FILE, the bundle has a program that jobs run by its name, from C (docs/c.md) or Python. It may be of
any collective, also a custom one. It is compiled for each number of --ranks, and for the parameters after the file's
name. A compiled file is for its own number of ranks. With --rules none, the bundle has these programs alone, and needs
less memory. --rules none --candidates leaves out measured rules, so that the library learns all that it can.

With --then LIST, the bundle has programs that finish the rows of an AllReduce, such as
--then "residual, rms_norm(eps)": rules that nobody measured, for each number of --ranks. Jobs call them by
mscclc_all_reduce_rows (docs/c.md), or mscclc.all_reduce_rms_norm of Python. Rules of --rules FILE that have the same
"then" count before them.

Kernels are PTX, which the driver compiles when a job starts. With --finish, the driver of this machine, which has the
GPU, makes machine code of them, and jobs start sooner.

The programs for a number of ranks have at most ` + diag.SizeText(limits.Arena) + ` of memory on each rank.`,
		Example: `  mscclc bundle --device "NVIDIA H200" --ranks 2 --rules h200.rules -o h200.bundle
  mscclc bundle --device "NVIDIA H200" --ranks 2,4 --dtype bf16,f32 --candidates -o h200.bundle
  mscclc bundle --device "NVIDIA H200" --ranks 4 --program halo=halo/direct,rows=2 -o my.bundle
  mscclc bundle --device "NVIDIA H200" --ranks 4 --program halo=halo/direct,rows=2 --rules none -o halo.bundle
  mscclc bundle --device "NVIDIA H200" --ranks 4 --rules none --then "residual, rms_norm(eps)" -o rows.bundle
  mscclc bundle --device "NVIDIA H200" --ranks 8 --ctas 16 --candidates -o small.bundle`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ctasGiven = cmd.Flags().Changed("ctas")
			return write(a, args, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.device, "device", "", "communicators of GPUs of `NAME`, as the driver has it: NVIDIA H200")
	flags.StringVar(&f.ranks, "ranks", "2,4,8", "communicators have one of `COUNTS` ranks")
	flags.StringVar(&f.dtypes, "dtype", defaultTypes(), "calls have elements of `TYPES`: "+cli.List(cli.DtypeNames()))
	flags.IntVar(&f.ctas, "ctas", bundle.DefaultCTAs, "a launch has at most `N` CTAs a rank, unless its rule says another number")
	flags.StringArrayVar(&f.rules, "rules", nil,
		"use the rules in `FILE`, of mscclc search --staged or select --staged (repeatable; the first that has some counts); none: no measured rules")
	flags.StringArrayVar(&f.programs, "program", nil,
		"add the program of a file, which jobs run by its name: `NAME=FILE[,PARAMETER=VALUE...]` (repeatable)")
	flags.StringArrayVar(&f.then, "then", nil,
		"add programs that finish the rows of an AllReduce by the stages of `LIST`, as in residual, rms_norm(eps) (repeatable)")
	flags.BoolVar(&f.candidates, "candidates", false, "add programs that nobody measured, among which the library learns")
	flags.BoolVar(&f.finish, "finish", false, "have this machine's driver make machine code of the kernels: needs the GPU")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`.bundle")
	f.Reading.Flags(flags, cli.LimitNames())
	return cmd
}

// defaultTypes has the types of --dtype by default.
func defaultTypes() string {
	var names []string
	for _, t := range bundle.DefaultDTypes {
		names = append(names, t.String())
	}
	return strings.Join(names, ",")
}

// A Document is what bundle --json prints.
type Document struct {
	Schema int       `json:"schema"`
	File   string    `json:"file"`
	Bytes  int       `json:"bytes"`
	Sets   []SetInfo `json:"sets"`
	cli.Noted
}

// A SetInfo is what a bundle has for a number of ranks.
type SetInfo struct {
	Ranks    int    `json:"ranks"`
	Nodes    string `json:"nodes,omitempty" doc:"the ranks of each node; absent: one node"`
	Bits     string `json:"bits,omitempty" doc:"invariant: for jobs with MSCCLC_BITS=invariant; absent: for others"`
	Rules    int    `json:"rules"`
	Programs int    `json:"programs"`
	CTAs     int    `json:"ctas" doc:"of the rule that has most"`
	Arena    uint64 `json:"arena" doc:"bytes of a rank's memory that other ranks reach"`
}

func write(a *cli.App, own []string, f *bundleFlags) error {
	spec, err := f.spec()
	if err != nil {
		return err
	}
	read := slices.DeleteFunc(slices.Clone(f.rules), func(name string) bool { return name == noRules })
	if err := a.Claims(cli.Named{"-o": f.out}, read...); err != nil {
		return err
	}
	var more []string
	if spec.Named, more, err = f.named(own); err != nil {
		return err
	}
	if spec.Own, err = choosing.ReadForBundle(a, slices.Concat(own, more), &f.Reading); err != nil {
		return err
	}
	if err := refusePlans(spec.Own); err != nil {
		return err
	}
	if err := f.addRules(a, &spec, len(own)); err != nil {
		return err
	}
	spec.Notify = func(text string) { a.Note("", "%s", text) }
	b, err := bundle.Build(spec)
	if err != nil {
		return err
	}
	if f.finish {
		if err := devices.Finish(b); err != nil {
			return devices.Impossible(err)
		}
	}
	text := bundle.Encode(b)
	if err := a.WriteTo(f.out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	if err := files.Protect(f.out); err != nil {
		return err
	}
	doc := Document{Schema: cli.Schema, File: f.out, Bytes: len(text)}
	for _, s := range b.Info().Sets {
		doc.Sets = append(doc.Sets, SetInfo{s.Ranks, s.Nodes, s.Bits, len(s.Rules), len(s.Programs), s.CTAs, s.Arena})
	}
	return doc.print(a)
}

// spec reads the flags.
func (f *bundleFlags) spec() (bundle.Spec, error) {
	spec := bundle.Spec{Device: f.device, CTAs: f.ctas, Maker: "mscclc " + cli.Version()}
	switch {
	case f.device == "":
		return spec, cli.Usagef("--device is needed: the GPU, as its driver names it").Hint(`--device "NVIDIA H200"`)
	case len(f.device) > limits.Name:
		return spec, cli.Usagef("--device takes a name of at most %d bytes", limits.Name)
	case cli.IsStdout(f.out):
		return spec, cli.Usagef("a bundle is written to a file").Hint("give -o FILE.bundle")
	}
	if err := cmp.Or(cli.From("ctas", f.ctas, 1), cli.UpTo("ctas", f.ctas, limits.CTAs)); err != nil {
		return spec, err
	}
	if err := cli.WrongEnding("-o", f.out, cli.BundleEndings, ""); err != nil {
		return spec, err
	}
	for word := range strings.SplitSeq(f.ranks, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > limits.Ranks {
			return spec, cli.Usagef("--ranks takes numbers from 2 to %d, as in 2,4,8; not %q", limits.Ranks, f.ranks)
		}
		spec.Ranks = append(spec.Ranks, n)
	}
	slices.Sort(spec.Ranks)
	spec.Ranks = slices.Compact(spec.Ranks)
	for word := range strings.SplitSeq(f.dtypes, ",") {
		t, ok := data.DTypeByName(word)
		if !ok {
			return spec, cli.Unknown("type", word, cli.DtypeNames())
		}
		spec.DTypes = append(spec.DTypes, t)
	}
	return spec, nil
}

// print says what was written.
func (d *Document) print(a *cli.App) error {
	if a.JSON {
		d.Noted = a.Notes.List()
		return a.WriteJSON(d)
	}
	for _, s := range d.Sets {
		a.Say("%s: %s, %s proven, %s, %d KiB of memory a rank", bundle.SetTitle(s.Ranks, s.Nodes, s.Bits),
			diag.Counted(s.Rules, "rule"), diag.Counted(s.Programs, "program"), diag.Counted(s.CTAs, "CTA"), s.Arena>>10)
	}
	a.Say("%s: %d bytes", d.File, d.Bytes)
	return nil
}

// refusePlans refuses execution plans of MSCCL++, which are not staged.
func refusePlans(userPrograms choose.UserPrograms) error {
	for i := range userPrograms {
		if o := &userPrograms[i]; o.Plan != nil {
			d := diag.New(diag.Unsupported, cli.FileSpan(o.File),
				"a bundle holds staged programs, and an execution plan of MSCCL++ is none")
			return diag.List{d.WithHint("give the algorithm itself, which bundle compiles; MSCCL++ loads plans (docs/mscclpp.md)")}
		}
	}
	return nil
}
