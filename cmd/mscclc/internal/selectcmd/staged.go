package selectcmd

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// This file chooses among staged programs, and writes rules of candidates, which mscclc bundle takes.

// stagedEnd is the default of -e with --staged: bundle.CandidateBytes.
const stagedEnd = "4M"

// boundStaged has s choose among staged programs, if --staged is given. It fails if no bundle has rules for its calls.
func (f *selectFlags) boundStaged(s *choose.Selector) error {
	if !f.staged {
		return nil
	}
	c := s.Call
	switch {
	case s.Target.Format != codegen.FormatProgram:
		return cli.Usagef("--staged is for programs of bundles: leave out --target %s", s.Target.Name)
	case !slices.Contains(bundle.Kinds, c.Kind):
		return cli.Usagef("--staged is for collectives of bundles: %s", cli.List(bundle.KindNames()))
	case c.Nodes > 1:
		return cli.Usagef("--staged is for ranks of one node, and %s has %d nodes: candidates are for one node",
			s.Topology.Name, c.Nodes)
	case c.Ranks < 2 || c.Ranks > limits.Ranks:
		return cli.Usagef("--staged is for 2 to %d ranks, as bundles are, and %s has %d", limits.Ranks, s.Topology.Name,
			c.Ranks)
	case onCPU(f.device) || onCPU(s.Topology.Device):
		return cli.Usagef("--staged is for GPUs, as bundles are, and the device is a CPU")
	}
	bounds := bundle.CandidateBounds(c.Kind, c.Ranks)
	s.Staged = &bounds
	return nil
}

func onCPU(device string) bool { return device == "cpu" }

// checkOwn returns an error if --staged is given and a file of the user's is compiled already.
func (f *selectFlags) checkOwn(own choose.UserPrograms) error {
	for i := range own {
		if o := &own[i]; f.staged && o.Tree == nil {
			d := diag.New(diag.Unsupported, cli.FileSpan(o.File), "the file is compiled already, and --staged compares "+
				"algorithms, which it compiles as mscclc bundle does")
			return diag.List{d.WithHint("give the algorithm itself, or leave out --staged")}
		}
	}
	return nil
}

// rulesFile returns the file of rules.
func (e *emission) rulesFile() string {
	return filepath.Join(e.flags.emit, e.selector.Call.Kind.String()+".rules")
}

// candidates returns a candidate for each range of sizes up to bundle.CandidateBytes, for one kind of launches.
func (e *emission) candidates(list []choose.Stretch, when string) (rules []bundle.MeasuredRule) {
	for _, r := range list {
		if r.From >= bundle.CandidateBytes {
			break
		}
		upTo := int64(bundle.CandidateBytes)
		if r.To > 0 {
			upTo = min(upTo, r.To-1)
		}
		rule := bundle.MeasuredRule{Calls: bundle.Calls{Collective: e.selector.Call.Kind.String(),
			Ranks: e.selector.Call.Ranks, When: when},
			Rule: selection.Rule{UpTo: upTo, Choice: r.Choice, Candidate: true}}
		rule.Placement = selection.AsCalled // which is staged in rules of bundles
		for _, w := range r.Widths {
			if w.From <= upTo { // the largest calls have the most to gain
				rule.Replicas, rule.Tile = w.Replicas, w.Tile
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// rules writes the ranges as candidates, among what the file has of other calls.
func (e *emission) rules(list []choose.Stretch) error {
	device, file := e.device(), e.rulesFile()
	all := &bundle.Measured{Device: device}
	if old, err := files.Open(file); err == nil {
		all, err = bundle.ReadRules(file, old)
		old.Close()
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if all.Device != device {
		return diag.List{diag.New(diag.Io, cli.FileSpan(file), "the file has rules of %q, and these are for %q", all.Device,
			device).WithHint("move the file away, or emit to another folder")}
	}
	for _, when := range [2]string{bundle.Eager, bundle.Captured} {
		all.PutCandidates(e.candidates(list, when))
	}
	choosing.NoteShort(e.app, device)
	var own []string
	for i := range e.selector.Own {
		o := &e.selector.Own[i]
		if slices.ContainsFunc(all.Rules, func(r bundle.MeasuredRule) bool { return r.Program == o.Name }) {
			own = append(own, " "+o.File)
		}
	}
	e.Note("mscclc bundle takes the rules: mscclc bundle --device %q --ranks %d --rules %s --candidates -o FILE.bundle%s",
		device, e.selector.Call.Ranks, file, strings.Join(own, ""))
	return e.app.WriteTo(file, func(w io.Writer) error { return all.Write(w) })
}

// noteUnstaged notes that a bundle cannot have the programs of a table, if it has rules for such calls.
func (e *emission) noteUnstaged() {
	s := e.selector
	if c := s.Call; slices.Contains(bundle.Kinds, c.Kind) && c.Nodes < 2 && c.Ranks > 1 && c.Ranks <= limits.Ranks &&
		!onCPU(e.device()) && !onCPU(s.Topology.Device) {
		e.Note("the programs of the table are not staged, and bundles take only staged ones: --staged writes rules for " +
			"mscclc bundle")
	}
}
