package runcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/hostcache"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/selection"
	"mscclc/synthesis/certificate"
)

// A chosen is what run runs at each size: the one program of a file, or of a
// collective that is named, the catalog's variant for the size.
type chosen struct {
	app      *cli.App
	arg      string
	flags    *runFlags
	dtype    data.DType
	chooser  *choose.Chooser  // nil for a file
	own      *selection.Table // --table's, or nil
	call     choose.Call
	loaded   map[string]*loadedProgram  // by what was loaded
	variants map[int64]selection.Choice // by size: what was chosen, which a job agrees on once
	limit    *choosing.Bound            // of the collective, once it is known
}

// beside returns how a run of a collective stands beside the bound of the machine that its device is of; nothing of a
// file, and of the CPU, whose ranks share memory and have no links. A run that is faster than the bound is on another
// machine than the bound is of, so that there is none.
func (c *chosen) beside(p *either.Program, r *runResult) choosing.Beside {
	if c.chooser == nil || c.flags.device == "cpu" {
		return choosing.Beside{}
	}
	if c.limit == nil {
		c.limit = &choosing.Bound{}
		if t, err := c.chooser.Topology(c.call); err == nil && t.Ranks() >= p.Coll.Ranks {
			gpus := make([]int32, p.Coll.Ranks)
			for i := range gpus {
				gpus[i] = int32(i)
			}
			*c.limit = choosing.BoundOn(t, p.Coll, gpus)
		}
	}
	is := c.limit.Beside(r.Bytes, c.dtype, r.Seconds*1e6)
	if is.Share > 1 {
		return choosing.Beside{}
	}
	return is
}

// suggest notes how to make a program of trees, where the last run may be faster by one.
func (c *chosen) suggest(r *runResult) {
	if c.chooser == nil || len(c.chooser.Own) > 0 || !choosing.WantsTrees(c.call, r.Bytes, r.Share) {
		return
	}
	if t, err := c.chooser.Topology(c.call); err == nil {
		c.app.Note("", "%s runs at %.0f %% of the bound of %s: a program of %s for the machine may be faster (%s; name the "+
			"file beside the collective)", cli.SizeText(r.Bytes), 100*r.Share, t.Name, certificate.Trees(c.call.Kind),
			choosing.TreesCommand(c.call, t.Name))
	}
}

type loadedProgram struct {
	loaded  runner
	program *either.Program
	turns   compiling.Turned

	observed bool // see request
}

func newChosen(a *cli.App, arg string, files []string, f *runFlags, plan *runPlan) (*chosen, error) {
	if err := a.Claims(cli.Named{"--trace": f.trace}, arg, f.table); err != nil {
		return nil, err
	}
	c := &chosen{app: a, arg: arg, flags: f, dtype: plan.dtype, loaded: map[string]*loadedProgram{},
		variants: map[int64]selection.Choice{}}
	if cli.Exists(arg) || !choose.IsCollective(arg) {
		if len(files) > 0 {
			return nil, choosing.FilesBeside("run", arg)
		}
		if f.table != "" {
			return nil, cli.Usagef("--table chooses variants of a collective, not of a file")
		}
		return c, nil
	}
	if err := f.ChosenOnly("--ranks, --root and --inplace", "param", "inplace", "import-path", "limit"); err != nil {
		return nil, err
	}
	c.call.Kind, _ = ir.KindByName(arg)
	c.call.Ranks = defaultRanks()
	given := map[string]bool{}
	for _, p := range f.Settings() {
		var err error
		name, value, _ := strings.Cut(p, "=")
		if given[name] {
			return nil, cli.Usagef("%s is set twice", name)
		}
		given[name] = true
		switch name {
		case "ranks":
			c.call.Ranks, err = strconv.Atoi(value)
		case "root":
			c.call.Root, err = strconv.Atoi(value)
		default:
			return nil, cli.Usagef("a collective has the parameters ranks and root, and not %s", name)
		}
		if err != nil || c.call.Ranks < 1 || c.call.Root < 0 {
			return nil, cli.Usagef("-p %s: ranks is a number of 1 or more, and root of 0 or more", p)
		}
	}
	if err := cli.CheckRoot(c.call.Kind, c.call.Ranks, c.call.Root, given["root"]); err != nil {
		return nil, err
	}
	if c.call.Ranks > choose.MostRanks {
		return nil, cli.Usagef("a collective is chosen for up to %d ranks: name an algorithm (mscclc list), such as allreduce/ring", choose.MostRanks)
	}
	if want := f.Inplace.Value; want != nil {
		c.call.Inplace = *want
	}
	userPrograms, err := choosing.ReadUserPrograms(a, files, &f.Reading)
	if err != nil {
		return nil, err
	}
	if err := choosing.PlaceOf(a, userPrograms, &c.call, f.Inplace.Value != nil); err != nil {
		return nil, err
	}
	table, own, err := choosing.ReadTables(f.table, userPrograms)
	if err != nil {
		return nil, err
	}
	c.chooser = &choose.Chooser{Given: own, Table: table, Device: f.device, Own: userPrograms, Exhaustive: f.exhaustive}
	if open := devices.GPUs[f.device]; open != nil {
		if gpus, err := open().GPUs(); err == nil && len(gpus) > 0 {
			c.chooser.Device = gpus[0].Name()
			c.chooser.Apart = tuned.ApartHere(c.call.Ranks)
		}
	}
	c.own = own
	return c, nil
}

// defaultRanks returns the number of ranks where none is given: one for each process that a launcher has started. Those
// that
// --procs starts may have several.
func defaultRanks() int {
	job, err := processes.Of(os.Getenv)
	switch {
	case err != nil || job == nil:
		return choosing.DefaultRanks
	case processes.Started():
		return max(choosing.DefaultRanks, job.Size)
	}
	return job.Size
}

// place has programs be chosen for the nodes that ranks are on, by what was found on these hosts, and says what --table
// has nothing for.
func (c *chosen) place(ctx context.Context, sizes []int64) error {
	if c.chooser == nil {
		return nil
	}
	c.call.On, c.call.Nodes = choose.OnNodes(c.flags.team.on(c.call.Ranks))
	if len(c.chooser.Own) == 0 { // what was found was found without the user's programs
		x, node := c.flags.team.processes()
		found, err := hostcache.Open(ctx, c.app, x, node, c.chooser.Device)
		if err != nil {
			return devices.Impossible(err)
		}
		c.chooser.Here = found.Here()
		choosing.NoteFound(c.app, c.chooser, c.call, sizes, c.dtype.Size())
	}
	if c.own == nil {
		return nil
	}
	return c.checkTable(c.own, sizes)
}

// checkTable refuses rules of --table that the call cannot follow, and says which sizes the table has nothing for.
func (c *chosen) checkTable(own *selection.Table, sizes []int64) error {
	e := choose.EntryFor(own, c.chooser.Device, c.call, c.dtype.Size())
	if e != nil {
		if found := c.chooser.Unfit(e, c.call, sizes); len(found) > 0 {
			return found.Sort()
		}
	}
	without := slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool {
		if e == nil {
			return false
		}
		_, ok := e.Rule(n)
		return ok
	})
	if len(without) > 0 {
		texts := make([]string, len(without))
		for i, n := range without {
			texts[i] = cli.SizeText(n)
		}
		other := ""
		if e == nil {
			other = choosing.OtherNodes(own, c.chooser.Device, c.call)
		}
		c.app.Note(c.flags.table, "it has nothing for %v of %s %s on %q, %s: the program is chosen without it%s", c.call.Kind,
			diag.Counted(c.call.Ranks, "rank"), choosing.PlaceName(c.call.Inplace), c.chooser.Device, cli.List(texts), other)
	}
	return nil
}

// choose gives the variant for calls of a given number of bytes.
func (c *chosen) choose(ctx context.Context, bytes int64) (selection.Choice, error) {
	if v, known := c.variants[bytes]; known {
		return v, nil
	}
	v, err := choosing.Together(ctx, c.flags.team.exchange(), c.chooser, c.call, bytes, c.dtype.Size())
	if err != nil {
		return v, err
	}
	c.variants[bytes] = v.Plain() // the executor has its own width
	return c.variants[bytes], nil
}

// of gives what runs calls of a given number of bytes.
func (c *chosen) of(ctx context.Context, bytes int64) (*loadedProgram, error) {
	flags, key := *c.flags, c.arg
	flags.Size = bytes
	var variant selection.Choice
	if c.chooser != nil {
		var err error
		if variant, err = c.choose(ctx, bytes); err != nil {
			return nil, err
		}
		key = variant.String()
	}
	sized := fmt.Sprint(key, " ", bytes)
	for _, k := range []string{key, sized} {
		if l := c.loaded[k]; l != nil {
			return l, nil
		}
	}
	l, err := c.load(variant, &flags)
	if err != nil {
		return nil, err
	}
	if o := l.program.OneSided; o != nil && o.OnePass { // which is for one size
		key = sized
	}
	c.loaded[key] = l
	return l, nil
}

// load loads the file, or the variant of the collective.
func (c *chosen) load(v selection.Choice, f *runFlags) (*loadedProgram, error) {
	if c.chooser == nil {
		loaded, p, err := loadFile(c.app, c.arg, f, c.dtype)
		return &loadedProgram{loaded, p, f.Turns, f.Observed}, err
	}
	p, err := c.chooser.Program(v, c.call)
	if err != nil {
		return nil, err
	}
	target, err := f.FindTarget()
	if err == nil {
		err = mscclc.Fits(p, target).Err()
	}
	if err != nil {
		return nil, err
	}
	loaded, err := loadProgram(c.app, v.Program, p, f.Limits.Check, f, c.dtype)
	return &loadedProgram{loaded: loaded, program: p}, err
}

func (c *chosen) close() error {
	var errs []error
	for _, l := range c.loaded {
		errs = append(errs, l.loaded.Close())
	}
	return errors.Join(errs...)
}
