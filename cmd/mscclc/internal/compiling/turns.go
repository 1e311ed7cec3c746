package compiling

import (
	"fmt"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// runChannels reads a plan of MSCCL++, and proves it as calls of a given number of bytes run it; 0 is any.
func runChannels(s *cli.Source, read codegen.ReadOptions, check verify.Options, r *Request) (*either.Program, error) {
	plan, p, err := mscclpp.Read(s.Name, s, read)
	if err != nil {
		return nil, err
	}
	if r.On == nil && r.Nodes.Several() { // else the caller knows better which ranks share memory
		nodes, err := r.Nodes.Of(p.Coll.Ranks)
		if err == nil {
			err = mscclpp.CheckNodes(p, plan, nodes).Err()
		}
		if err != nil {
			return nil, err
		}
	}
	r.Turns.of(p, r.Size)
	if r.Unproven {
		g, err := channels.Unroll(p, r.Turns.Did)
		return either.OfOneSided(g), err
	}
	g, _, found := channels.CheckTurns(p, r.Turns.Did, check)
	return either.OfOneSided(g), found.Err()
}

// A Turned is how many turns loops do in a run, and how many they ask for.
type Turned struct{ Did, Asked int }

func (t *Turned) of(p *ir.ChannelProgram, bytes int64) { t.Did, t.Asked = mscclc.Turns(p, bytes) }

// Text says so for the line of a run, where there are loops.
func (t Turned) Text() string {
	switch {
	case t.Asked <= 1:
		return ""
	case t.Did < t.Asked:
		return fmt.Sprintf("   %d loop iterations, of %d", t.Did, t.Asked)
	}
	return fmt.Sprintf("   %d loop iterations", t.Did)
}
