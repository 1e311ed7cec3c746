package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// A Pass rewrites a State in place. It may assume the properties in Needs
// and all that earlier passes gave; it leaves those true, and Gives as well.
type Pass struct {
	Name     string // also the name of its file
	Doc      string // one line, for the documentation and the command
	Required bool   // runs at -O0 too; it cannot be turned off
	Across   bool   // the same, of ranks on several nodes
	Needs    Property
	Gives    Property
	Run      func(*State) (rewrites int, err error)
}

// Table lists the passes in the order in which they run.
var Table = []Pass{
	{Name: "runs", Required: true, Gives: Meaning | Single, Run: runs,
		Doc: "find what each operation reads and writes, and give each value of scratch its own place"},
	{Name: "merge", Needs: Meaning, Run: merge,
		Doc: "sort by depth, and merge operations on neighbouring chunks"},
	{Name: "moves", Required: true, Needs: Meaning | Single, Gives: Acted, Run: moves,
		Doc: "choose the rank that makes each move, and plain stores or packets"},
	{Name: "drop", Across: true, Needs: Meaning, Run: drop, // no signal would send to another node what nobody reads
		Doc: "remove what nobody reads, and copies of a chunk onto itself (always, of several nodes)"},
	{Name: "fuse", Needs: Meaning | Acted, Run: fuse,
		Doc: "make one move of several that pass on the same data"},
	{Name: "depend", Required: true, Needs: Meaning | Single, Gives: Depends, Run: depend,
		Doc: "find which moves each move must follow, and why"},
	{Name: "assign", Needs: Depends, Run: assign,
		Doc: "give each move a lane of its rank, where ranks have several"},
	{Name: "order", Required: true, Needs: Depends, Gives: Ordered, Run: order,
		Doc: "list the moves of all ranks by critical path"},
	{Name: "group", Needs: Ordered, Run: group,
		Doc: "let the moves of a rank that have one depth run together"},
	{Name: "place", Required: true, Needs: Single, Gives: Placed, Run: place,
		Doc: "number the chunks of scratch and packets that each rank uses"},
	{Name: "join", Needs: Ordered, Run: join,
		Doc: "remove block barriers where packets order the moves"},
	{Name: "sync", Required: true, Needs: Ordered, Gives: Synced, Run: syncGroups,
		Doc: "insert a signal and a wait where nothing else orders two ranks"},
	{Name: "leave", Required: true, Needs: Synced, Gives: Left, Run: leave,
		Doc: "insert signals at the end of a launch, to the ranks whose buffers were used"},
	{Name: "credit", Required: true, Needs: Synced | Left | Placed, Gives: Proven, Run: credit,
		Doc: "insert waits before scratch and packets are written again"},
}

// Options are those of Lower. The zero value runs every pass.
type Options struct {
	Even     bool // sizes always divide evenly, so that all chunks have the same length
	OnePass  bool // a launch has one pass, as execution plans of MSCCL++ have; see onesided.Program
	Staged   bool // a rank accesses only scratch and packets of other ranks, so that calls may use any buffers
	MaxInsts int  // the most Moves; 0 is ir.UsualInsts
	Lanes    int  // the most lanes of a rank, up to MostLanes; 0 is one
	Both     bool // the program is written out of place, and is for calls in place too: it keeps the order of both
	Copies   int  // copies of scratch if ranks have several lanes: 2 to MostCopies, or 0 for UsualCopies
	Together int  // how many replicas of a lane that only copies to other nodes share a CTA: 2 or 4, or 0 for none

	// Nodes is the node of each rank, or nil for one node. Between nodes data goes through scratch, and the reader waits
	// for a signal of the writer itself; see "Several nodes" in package verify. Hints for ports and pulls are followed
	// within nodes only.
	Nodes []int32

	// Ports has data between nodes go through ports, to any buffer and as packets too: in execution plans of MSCCL++,
	// whose ports a proxy serves. The reader waits for a signal of the writer itself all the same.
	Ports bool

	Level0 bool            // run only the required passes (-O0)
	Off    map[string]bool // names of passes that are not to run

	// Dump sees the state after every pass. Where join tries several groups, it sees the passes from there on once more
	// for each, and those that were chosen last.
	Dump  func(pass string, s *State) error
	Trace func(p *Pass, rewrites int, d time.Duration)

	// For tests: before and after see the state before and after each pass, with the properties that it should have.
	before func(p *Pass, s *State, have Property)
	after  func(p *Pass, s *State, have Property) error
}

// Runs reports whether p runs.
func (o *Options) Runs(p *Pass) bool {
	return p.Required || p.Across && o.over() || !o.Level0 && !o.Off[p.Name]
}

// over reports whether there are several nodes.
func (o *Options) over() bool {
	return slices.ContainsFunc(o.Nodes, func(node int32) bool { return node != o.Nodes[0] })
}

// Lower writes the operations of c as a one-sided program: Moves that access memory of any rank, with the
// synchronisation that they need, and without synchronisation that other signals imply. c is not changed. Parallelize
// and Instances have no effect, since a launch may have any number of replicas. An error is a diag.List if the program
// is at fault, and any other error is a fault of mscclc.
//
// If opt.OnePass, no wait is for a signal of another launch. Other ranks may write a rank's scratch as soon as they
// know that its launch has begun, as for input and output. The same holds for packets if two copies of them do not
// ensure that they have been read.
func Lower(c *ir.ChunkDAG, opt Options) (*onesided.Program, error) {
	s, err := run(c, opt, Table)
	if err != nil {
		return nil, err
	}
	return s.emit()
}

// run takes c through the passes of table.
func run(c *ir.ChunkDAG, opt Options, table []Pass) (*State, error) {
	for name := range opt.Off {
		if i := find(table, name); i < 0 || table[i].Required {
			return nil, fmt.Errorf("pass %q cannot be turned off", name)
		}
	}
	if opt.Both && c.Coll.Inplace {
		return nil, errors.New("a program for both placements must be written out of place")
	}
	s, have := newState(c, opt), Property(0)
	for i := 0; i < len(table); i++ {
		p := &table[i]
		if !opt.Runs(p) {
			continue
		}
		if opt.before != nil {
			opt.before(p, s, have)
		}
		start := time.Now()
		rewrites, err := p.Run(s)
		if err != nil {
			return nil, err
		}
		if opt.Trace != nil {
			opt.Trace(p, rewrites, time.Since(start))
		}
		if s.again(p.Gives&Proven != 0) {
			i = find(table, "join") - 1
			have &^= Synced | Left | Proven
			continue
		}
		have |= p.Gives
		if opt.Dump != nil {
			if err := opt.Dump(p.Name, s); err != nil {
				return nil, err
			}
		}
		if opt.after != nil {
			if err := opt.after(p, s, have); err != nil {
				return nil, fmt.Errorf("after pass %s: %w", p.Name, err)
			}
		}
	}
	return s, nil
}

// find returns the index in table of the pass with a name, or -1.
func find(table []Pass, name string) int {
	return slices.IndexFunc(table, func(p Pass) bool { return p.Name == name })
}
