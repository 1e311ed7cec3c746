package tunecmd

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/internal/usercache"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// A plan is what is to be measured.
type plan struct {
	*tuneFlags
	kinds   []ir.Kind
	ranks   []int // of each group of processes
	nccl    string
	end     int64
	machine tuned.Machine
	doc     *tuned.Document
}

// plan reads the flags, and what was found before.
func (f *tuneFlags) plan(a *cli.App, job *processes.Job, args []string) (*plan, error) {
	p := &plan{tuneFlags: f}
	var err error
	if p.end, err = cli.ParseBytes(f.end); err != nil {
		return nil, err
	}
	if p.end < firstSize {
		return nil, cli.Usagef("--end takes a size from %s on, not %s", cli.SizeText(firstSize), f.end)
	}
	if f.shows() && (f.again || f.out != "") {
		return nil, cli.Usagef("--show and --plot measure nothing: they take no --again and no -o")
	}
	if f.bits != "" && f.bits != selection.Invariant {
		return nil, cli.Usagef("--bits takes %s, not %q", selection.Invariant, f.bits)
	}
	if f.time < 0 || f.wait <= 0 {
		return nil, cli.Usagef("--time and --timeout take a time above 0")
	}
	if f.out != "" {
		if err := cli.WrongEnding("-o", f.out, cli.BundleEndings, ""); err != nil {
			return nil, err
		}
	}
	if f.plot != "" {
		if err := cli.WrongEnding("--plot", f.plot, cli.PictureEndings, ""); err != nil {
			return nil, err
		}
	}
	if err := p.collectives(args); err != nil {
		return nil, err
	}
	if p.nccl, err = nccllib.Find(f.nccl); err != nil {
		return nil, cli.Unavailable("%v", err)
	}
	if p.nccl == "" && !f.shows() {
		d := diag.New(diag.Unavailable, diag.Span{}, "%s is not found, and programs are measured beside it", nccllib.Soname)
		return nil, diag.List{d.WithHint("give --nccl FILE, or --nccl none for jobs without NCCL")}
	}
	if p.machine, err = tuned.Here(nccllib.Version(p.nccl)); err != nil {
		return nil, devices.Impossible(err)
	}
	if err := p.groups(job); err != nil {
		return nil, err
	}
	if err := p.sums(); err != nil {
		return nil, err
	}
	if p.time == 0 {
		p.time = time.Duration(max(2, min(6, p.machine.GPUs))) * time.Minute
	}
	p.doc, err = tuned.Read(p.machine)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, usercache.ErrOff) || f.again && err != nil {
		p.doc, err = &tuned.Document{Machine: p.machine}, nil
	}
	if err != nil {
		return nil, cli.Unavailable("%v; --again measures anew", err)
	}
	return p, nil
}

// collectives reads the names of collectives; without names all are measured.
func (p *plan) collectives(args []string) error {
	if len(args) == 0 {
		p.kinds = bundle.Kinds
		return nil
	}
	names := bundle.KindNames()
	for _, arg := range args {
		i := slices.Index(names, strings.ToLower(arg))
		if i < 0 {
			return cli.Unknown("collective", arg, names)
		}
		if !slices.Contains(p.kinds, bundle.Kinds[i]) {
			p.kinds = append(p.kinds, bundle.Kinds[i])
		}
	}
	return nil
}

// sums leaves what --bits measures: sums among more than two ranks.
func (p *plan) sums() error {
	if p.bits == "" {
		return nil
	}
	if !slices.ContainsFunc(p.kinds, ir.Kind.Reduces) {
		return cli.Usagef("--bits %s measures allreduce, reducescatter and reduce", p.bits)
	}
	p.ranks = slices.DeleteFunc(p.ranks, func(n int) bool { return n == 2 })
	if len(p.ranks) == 0 && !p.shows() {
		return cli.Usagef("--bits %s measures groups of more than 2 ranks: of 2, a sum is one addition, whose bits depend on "+
			"nothing else", p.bits)
	}
	return nil
}

// bitsArgument is --bits as it was given, after a blank.
func (p *plan) bitsArgument() string {
	if p.bits == "" {
		return ""
	}
	return " --bits " + p.bits
}

// groups reads --ranks. The largest group comes first.
func (p *plan) groups(job *processes.Job) error {
	switch {
	case job != nil && (!processes.Started() && p.tuneFlags.ranks != ""):
		return cli.Usagef("--ranks is for one process: a job measures its %s", diag.Counted(job.Size, "rank"))
	case job != nil:
		p.ranks = []int{job.Size}
	case p.tuneFlags.ranks == "":
		for n := 2; n < p.machine.GPUs && n <= 8; n *= 2 {
			p.ranks = append(p.ranks, n)
		}
		p.ranks = append(p.ranks, p.machine.GPUs)
	default:
		for word := range strings.SplitSeq(p.tuneFlags.ranks, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return cli.Usagef("--ranks takes numbers, as in 8,2; not %q", p.tuneFlags.ranks)
			}
			p.ranks = append(p.ranks, n)
		}
	}
	slices.Sort(p.ranks)
	p.ranks = slices.Compact(p.ranks)
	slices.Reverse(p.ranks)
	if p.shows() {
		return nil
	}
	if job != nil && job.Beside > p.machine.GPUs {
		return cli.Usagef("%s of this host are in the job, and there are %s: start one for each GPU",
			diag.Counted(job.Beside, "process"), diag.Counted(p.machine.GPUs, "GPU"))
	}
	for _, n := range p.ranks {
		if p.tuneFlags.ranks != "" && (n < 2 || n > limits.Ranks) {
			return cli.Usagef("--ranks takes numbers from 2 to %d, not %d", limits.Ranks, n)
		}
		if n < 2 || n > limits.Ranks {
			return cli.Unavailable("%s: groups of 2 to %d GPUs are measured", p.machine, limits.Ranks)
		}
		if job == nil && n > p.machine.GPUs {
			return cli.Usagef("--ranks has %d, and there are %s", n, diag.Counted(p.machine.GPUs, "GPU"))
		}
	}
	return nil
}

// shows reports whether what was found is shown or drawn, and nothing measured.
func (f *tuneFlags) shows() bool { return f.show || f.plot != "" }

// done reports whether all groups of a given number of ranks were measured. Optional ones count if something was found
// of them.
func (p *plan) done(n int) bool {
	for _, g := range p.tasks(n, "") {
		if g.optional && len(p.doc.Of(g.Group).Sizes) == 0 {
			continue
		}
		if !p.doc.Done(g.Group, g.sizes[len(g.sizes)-1]) {
			return false
		}
	}
	return !p.again
}
