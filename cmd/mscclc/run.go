package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

type runFlags struct {
	compiling
	device  string
	bytes   []string
	dtype   string
	redop   string
	iters   int
	threads int
	seed    uint64
	wait    time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run an algorithm or a program on random data, and compare every element",
		Long: `Run an algorithm, which is compiled first, or a program, which is checked first. Inputs are random, outputs poisoned, and
guards stand round every buffer; afterwards every element is compared with the collective computed directly: integers
exactly, floats within the bound of the summation's own error.

Sizes are in bytes as nccl-tests counts them, of the larger of a rank's input and output, with a suffix K, M or G, and
several with commas. A program that needs sizes that divide runs the next smaller one that does.`,
		Example: `  mscclc run allreduce/allpairs -p ranks=8 --bytes 1M
  mscclc run ring.xml --bytes 1K,1M,64M --dtype bf16 --op max --iters 10`,
		Args: exactly(1, "a file to run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return a.run(ctx, args[0], &f)
		},
	}
	flags := cmd.Flags()
	f.flags(flags, "plan")
	f.complete(cmd)
	flags.StringVar(&f.device, "device", "cpu", "run on `D`: "+list(deviceNames()))
	flags.StringSliceVarP(&f.bytes, "bytes", "b", []string{"1M"}, "run `N` bytes, or each of N,N,...")
	flags.StringVar(&f.dtype, "dtype", "f32", "elements are of type `T`: "+list(dtypeNames()))
	flags.StringVar(&f.redop, "op", "sum", "reduce by `OP`: "+list(executor.RedOps[:]))
	flags.IntVar(&f.iters, "iters", 1, "run each size `N` times, and compare after each")
	flags.IntVar(&f.threads, "threads", 0, "threads of the host for all blocks (default: its processors)")
	flags.Uint64Var(&f.seed, "seed", 1, "the random data's seed")
	flags.DurationVar(&f.wait, "timeout", time.Minute, "give up when a step waits longer")
	return cmd
}

// deviceNames are the devices that a build may have.
func deviceNames() []string { return []string{"cpu"} }

// devices are those that this build has.
func devices() []string {
	if !hasCPU {
		return []string{}
	}
	return deviceNames()
}

func dtypeNames() []string {
	names := make([]string, len(executor.DTypes))
	for i := range executor.DTypes {
		names[i] = executor.DTypes[i].Name
	}
	return names
}

// A runResult is one size.
type runResult struct {
	Device   string  `json:"device"`
	Bytes    int64   `json:"bytes"`
	DType    string  `json:"dtype"`
	Op       string  `json:"op"`
	Inplace  bool    `json:"inplace"`
	Protocol string  `json:"protocol"`
	Iters    int     `json:"iters"`
	Seconds  float64 `json:"seconds"`
	Checked  int64   `json:"checked"`
	Wrong    int64   `json:"wrong"`

	fault error // what is wrong besides elements
}

// A runPlan is what the flags of run say.
type runPlan struct {
	flags *runFlags
	sizes []int64
	dtype executor.DType
	redop executor.RedOp
}

func (f *runFlags) plan() (*runPlan, error) {
	r := &runPlan{flags: f}
	var ok bool
	if r.dtype, ok = executor.DTypeByName(f.dtype); !ok {
		return nil, usagef("%q is no type of elements; there are %s", f.dtype, list(dtypeNames()))
	}
	if r.redop, ok = executor.RedOpByName(f.redop); !ok {
		return nil, usagef("%q is no reduction; there are %s", f.redop, list(executor.RedOps[:]))
	}
	if _, ok := ir.ProtocolByName(f.protocol); !ok && f.protocol != "" {
		return nil, usagef("%q is no protocol; there are %s", f.protocol, list(protocolNames()))
	}
	for _, s := range f.bytes {
		n, err := parseBytes(s)
		if err != nil {
			return nil, err
		}
		r.sizes = append(r.sizes, n)
	}
	switch {
	case f.device == "cuda" || f.device == "hip":
		return nil, machineError{diag.List{diag.New(diag.Unsupported, diag.Span{}, "this mscclc has no %s device yet", f.device).
			WithHint("use --device cpu")}}
	case f.device != "cpu":
		return nil, usagef("%q is no device; there are %s", f.device, list(deviceNames()))
	case f.iters < 1 || f.threads < 0 || f.wait < time.Millisecond || len(r.sizes) == 0:
		return nil, usagef("run takes --iters from 1, --threads from 0, --timeout from 1ms, and some --bytes")
	}
	return r, nil
}

func parseBytes(s string) (int64, error) {
	digits, shift := s, 0
	if n := len(s) - 1; n >= 0 {
		if i := strings.IndexByte("KMG", s[n]); i >= 0 {
			digits, shift = s[:n], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<50>>shift {
		return 0, usagef("%q is no number of bytes: digits, and perhaps K, M or G", s)
	}
	return n << shift, nil
}

// sizeText is n as a person reads it.
func sizeText(n int64) string {
	for _, u := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func (a *app) run(ctx context.Context, arg string, f *runFlags) error {
	a.file = arg
	plan, err := f.plan()
	if err != nil {
		return err
	}
	p, err := a.load(arg, f)
	if err != nil {
		return err
	}
	loaded, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true}) // load has checked it
	if err != nil {
		return impossible(err)
	}
	defer loaded.Close()
	runs, failed := []runResult{}, false
	bar := a.progress(len(plan.sizes)*f.iters, "run")
	for _, bytes := range plan.sizes {
		r, err := plan.run(ctx, loaded, p, bytes, bar.step)
		bar.clear()
		if err != nil {
			return impossible(err)
		}
		failed = failed || r.Wrong > 0 || r.fault != nil
		runs = append(runs, r)
		if !a.json {
			a.printRun(p, r)
		}
	}
	if a.json {
		doc := struct {
			report
			Runs []runResult `json:"runs"`
		}{newReport(arg, nil, p), runs}
		doc.OK = !failed
		if err := a.writeJSON(doc); err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// impossible says what an error of the executor is: diagnostics are about the
// program or the call; the rest is what this machine or this build cannot do.
func impossible(err error) error {
	var found diag.List
	var machine machineError
	switch {
	case errors.Is(err, context.Canceled) || errors.As(err, &found) || errors.As(err, &machine):
		return err
	}
	return machineError{diag.List{diag.New(diag.Unsupported, diag.Span{}, "%v", err)}}
}

// load compiles or reads what arg names, and checks it.
func (a *app) load(arg string, f *runFlags) (*ir.Program, error) {
	s, err := a.open(arg)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.kind == codegen.KindSource {
		p, err := a.compileSource(s, &f.compiling, nil)
		if err != nil {
			return nil, err
		}
		target, err := f.findTarget()
		if err != nil {
			return nil, err
		}
		return p, codegen.Fits(p, target).Err()
	}
	if len(f.params) > 0 {
		return nil, usagef("%s is compiled already: -p cannot change it", arg)
	}
	p, check, err := readProgram(s, &f.compiling)
	if err != nil {
		return nil, err
	}
	if want := f.inplace.value; want != nil && *want != p.Coll.Inplace {
		if *want && !p.InPlace || !*want && !p.OutOfPlace {
			return nil, diag.List{diag.New(diag.NotInPlace, fileSpan(s.name), "the program is not made for --inplace=%v", *want)}
		}
		c := *p.Coll
		c.Inplace = *want
		p.Coll = &c
	}
	if f.protocol != "" {
		p.Protocol, _ = ir.ProtocolByName(f.protocol)
	}
	if _, found := verify.Check(p, check); len(found) > 0 {
		return nil, found
	}
	if p.Coll.Kind == ir.Opaque {
		observe(p)
	}
	if p.ModifiesInput() {
		fmt.Fprintf(a.stderr, "%s: note: the program overwrites input that is not output\n", diag.Printable(s.name))
	}
	return p, nil
}

// run runs one size, as often as --iters says; step is called after each.
func (r *runPlan) run(ctx context.Context, l *executor.Loaded, p *ir.Program, bytes int64, step func()) (runResult, error) {
	elems := executor.PieceElems(p.Coll, bytes, r.dtype)
	if l.Even() {
		if n := int64(max(p.Coll.Chunks, 1)); elems >= n {
			elems -= elems % n
		}
	}
	geo := executor.NewGeometry(p.Coll, elems, r.dtype.Size())
	if err := checkMemory(p, geo, int64(r.dtype.Size())); err != nil {
		return runResult{}, err
	}
	if err := checkSize(p, bytes); err != nil {
		return runResult{}, err
	}
	data := executor.NewData(geo, r.dtype, r.redop, r.flags.seed)
	result := runResult{Device: r.flags.device, Bytes: callBytes(p.Coll, elems, r.dtype), DType: r.dtype.String(), Inplace: p.Coll.Inplace,
		Protocol: p.Protocol.String(), Iters: r.flags.iters}
	if p.Coll.Reduces() {
		result.Op = r.redop.String()
	}
	modifies := p.ModifiesInput()
	for i := range r.flags.iters {
		if i > 0 {
			data.Reset()
		}
		args := data.Args()
		args.Threads, args.Wait = r.flags.threads, r.flags.wait
		done, err := l.Run(ctx, args)
		if err != nil {
			return result, err
		}
		if s := done.Elapsed.Seconds(); i == 0 || s < result.Seconds {
			result.Seconds = s
		}
		found := data.Check()
		if modifies { // a program from elsewhere; load has told
			found.Changed = nil
		}
		result.Checked += found.Checked
		result.Wrong += found.Wrong
		if err := found.Err(); err != nil && result.fault == nil {
			result.fault = err
		}
		step()
	}
	return result, nil
}

// checkSize judges a program anew for a size beyond those that it is for, where
// a message holds fewer chunks.
func checkSize(p *ir.Program, bytes int64) error {
	if p.Sizes.Max == 0 || bytes < p.Sizes.Max {
		return nil
	}
	_, found := verify.Check(p, verify.Options{MessageChunks: p.Coll.MessageChunks(bytes, p.Protocol.SlotBytes())})
	for i := range found {
		if found[i].Hint == "" {
			found[i].Hint = fmt.Sprintf("the program is for sizes below %s", sizeText(p.Sizes.Max))
		}
	}
	return found.Err()
}

// callBytes is what a call of elems elements a piece counts, in bytes.
func callBytes(c *ir.Collective, elems int64, t executor.DType) int64 {
	return elems * int64(c.Divisor()/max(c.Chunks, 1)) * int64(t.Size())
}

func (a *app) printRun(p *ir.Program, r runResult) {
	verdict := "ok  "
	if r.Wrong > 0 || r.fault != nil {
		verdict = "FAIL"
	}
	name := kindName(p) + " " + diag.Printable(p.Name)
	op := r.DType
	if r.Op != "" {
		op += " " + r.Op
	}
	wrong := fmt.Sprintf("%d wrong", r.Wrong)
	if r.Checked == 0 && r.Bytes > 0 {
		wrong = "nothing to compare: the file does not say what must hold"
	}
	fmt.Fprintf(a.stdout, "%s  %s    %s   %s   %s   %s   %s\n", verdict, name, count(p.Coll.Ranks, "rank"), r.Device, sizeText(r.Bytes), op, wrong)
	if r.fault != nil {
		io.WriteString(a.stderr, r.fault.Error()+"\n")
	}
}
