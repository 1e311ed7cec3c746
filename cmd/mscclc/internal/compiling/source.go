package compiling

import (
	"fmt"
	"slices"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/text"
)

// compileSource compiles s, whose products d sees; d may be nil.
func compileSource(a *cli.App, s *cli.Source, c *Flags, d *dumper) (*either.Program, error) {
	text, err := s.ReadAlgorithm(&c.Limits)
	if err != nil {
		return nil, err
	}
	opt, err := c.Options(s)
	if err == nil {
		err = ShareRanks(a, s, text, c, &opt)
	}
	if err != nil {
		return nil, err
	}
	if d != nil {
		opt.Passes.Dump, opt.Core.Dump = d.insts, d.moves
	}
	opt.Bytes = c.bytes
	opt.Stage = func(value any) error {
		if p, ok := value.(*ir.ChannelProgram); ok {
			c.Channels = p
			switch flag := c.OneGiven(slices.Concat(PassFlags, LaneFlags)...); {
			case c.instances > 1:
				return cli.Usagef("%s says itself which thread block does what: --instances cannot do it in parts", s.Name)
			case flag != "":
				return cli.Usagef("%s says itself which thread block does what: no passes run, and %s changes nothing", s.Name, flag)
			}
		}
		if d, ok := value.(*ir.ChunkDAG); ok {
			c.declared, c.each = d.Sizes, d.RanksPerNode
			if !s.Catalog { // whose hints the user cannot change
				noteHints(a, d, c)
			}
		}
		if d != nil {
			return d.stage(value)
		}
		return nil
	}
	p, err := mscclc.Compile(s.Name, text, opt)
	if err == nil {
		c.NoteTogether(a, s.Name, p)
	}
	return p, err
}

// NoteTogether says if --together has no effect on p, which is called name.
func (c *Flags) NoteTogether(a *cli.App, name string, p *either.Program) {
	if c.together > 0 && p.Shared() == 1 {
		a.Note(name, "--together has no effect: no lane only copies to other nodes (--nodes, and more --lanes)")
	}
}

// noteHints says where a file hints at the lowering that is not asked for, which is ignored.
func noteHints(a *cli.App, c *ir.ChunkDAG, asked *Flags) {
	what, follows := "via and pull", "--target mscclpp, or --target program,"
	switch {
	case asked.Target == "mscclpp":
		what, follows = "ch, sendtb and recvtb", "another --target"
	case asked.OneSided():
		what, follows = "ch, sendtb and recvtb", "--sided two"
	case asked.Target == "program":
		follows = "--sided one"
	}
	noteIgnored(a, c, what+" are ignored here; "+follows+" follows them", func(h ir.Hint) bool {
		if asked.OneSided() {
			return h.Channel >= 0 || h.SendTB >= 0 || h.RecvTB >= 0
		}
		return h.Via != ir.ViaAny || h.Pull
	})
	if asked.lanes == 1 {
		noteIgnored(a, c, "lane is ignored here; a one-sided program with --lanes follows it", func(h ir.Hint) bool { return h.Lane >= 0 })
	}
}

// noteIgnored says text of the first line whose operations have a hint that is foreign, and how many more there are.
func noteIgnored(a *cli.App, c *ir.ChunkDAG, text string, foreign func(h ir.Hint) bool) {
	var lines []int32 // by their positions
	for i := range c.Ops {
		if op := &c.Ops[i]; foreign(c.Hints[op.Hint]) && !slices.Contains(lines, op.Pos) {
			lines = append(lines, op.Pos)
		}
	}
	if len(lines) == 0 {
		return
	}
	if len(lines) > 1 {
		text += fmt.Sprintf(" (and %d more like it)", len(lines)-1)
	}
	a.Note(c.Span(lines[0]).Pos.String(), "%s", text)
}

// summary says in one line what p is, and for which sizes.
func summary(p *either.Program) string {
	what := text.Title(p) + ", " + text.Extent(p) + ", " + text.Sizes(p.Sizes)
	if len(p.Then) > 0 {
		what += "; rows then " + p.Then.String()
	}
	return what
}
