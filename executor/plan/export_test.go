package plan

import (
	"errors"

	"mscclc/executor/abi"
	"mscclc/ir"
	"mscclc/transport"
)

// Age makes a plan of a one-sided program without signals as if every replica had done a number of passes.
func (p *Plan) Age(passes uint64) error {
	for _, s := range p.seats {
		for _, step := range s.one.Steps {
			if ir.Op(step.Op) != ir.Move {
				return errors.New("flags would have to age too")
			}
		}
		states := make([]abi.OneState, len(s.one.Blocks)*p.replicas)
		for i := range states {
			states[i].Passes = passes
		}
		if err := s.gpu.Poke(s.at.states, raw(states)); err != nil {
			return err
		}
	}
	return nil
}

// Peers returns the processes of other nodes that a plan is connected with.
func (p *Plan) Peers() []int { return p.net.job.Peers() }

// CountsOf returns what a plan of several nodes has sent and received.
func CountsOf(p *Plan) transport.Counts { return p.net.job.Counts() }
