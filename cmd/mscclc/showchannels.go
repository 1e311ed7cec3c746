package main

import (
	"io"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/text"
)

// showChannels writes a plan of MSCCL++ at a stage.
func (c *compiling) showChannels(w io.Writer, s *source, stage string) error {
	switch {
	case stage == "svg":
		return usagef("%s is a plan of MSCCL++, and svg draws algorithms: give the .mscl file; mscclc show %s channels shows this plan as text", s.name, s.name)
	case stage != "channels" && stage != "json":
		return usagef("%s is a plan of MSCCL++: it has no %s; show channels or json", s.name, stage)
	case c.unfit(compiledShow...) != "":
		return compiledAlready(s.name, c.unfit(compiledShow...))
	}
	f, p, err := mscclpp.Read(s.name, s, c.limits.read)
	if err != nil {
		return err
	}
	if stage == "json" {
		return mscclpp.Write(w, f)
	}
	return text.WriteChannels(w, p)
}

// writePlanChannels writes the channels of the plan of MSCCL++ that compile would write of p.
func (c *compiling) writePlanChannels(w io.Writer, p *ir.Program) error {
	plan, _, err := c.executionPlan(p, 0)
	if err != nil {
		return err
	}
	channels, err := plan.Channels(codegen.ReadOptions{})
	if err != nil {
		return err
	}
	return text.WriteChannels(w, channels)
}
