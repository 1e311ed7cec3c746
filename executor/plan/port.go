package plan

import (
	"errors"

	"mscclc/executor/abi"
)

// This file is the ports of a plan: a GPU has one where steps of its ranks ask for
// it (via = port). They run from Prepare to a failure or the end, and anew from a reset.

// startPorts makes ports, where there are none yet, and starts them.
func (p *Plan) startPorts() error {
	for _, s := range p.seats {
		if s.lanes == 0 {
			continue
		}
		if s.port == nil {
			var err error
			if s.port, err = s.gpu.NewPort(s.lanes, p.program().Coll.Ranks, s.at.ends); err != nil {
				return err
			}
		}
		if err := s.port.Start(); err != nil {
			return err
		}
	}
	return nil
}

// stopPorts ends all copying.
func (p *Plan) stopPorts() error {
	var errs []error
	for _, s := range p.seats {
		if s.port != nil {
			errs = append(errs, s.port.Stop())
		}
	}
	return errors.Join(errs...)
}

func (p *Plan) closePorts() error {
	var errs []error
	for _, s := range p.seats {
		if s.port != nil {
			errs = append(errs, s.port.Close())
		}
	}
	return errors.Join(errs...)
}

// offer gives the port to a launch.
func (s *seat) offer(params *abi.OneParams) {
	if s.port != nil {
		params.Port, params.PortEnds = s.port.Lanes(), s.at.ends
	}
}
