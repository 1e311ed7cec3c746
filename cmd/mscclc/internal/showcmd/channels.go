package showcmd

import (
	"io"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/picture"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/passes/channels"
	"mscclc/play"
)

// showChannels writes a plan of MSCCL++ at a stage.
func (c *showFlags) showChannels(w io.Writer, s *cli.Source, stage string) error {
	switch {
	case stage != "channels" && stage != "json" && stage != "svg":
		return cli.Usagef("%s is an execution plan of MSCCL++: it has no %s; show channels, json or svg", s.Name, stage)
	case c.Unfit(compiledShow...) != "":
		return compiling.CompiledAlready(s.Name, c.Unfit(compiledShow...))
	}
	f, p, err := mscclpp.Read(s.Name, s, c.Limits.Read)
	if err != nil {
		return err
	}
	switch stage {
	case "json":
		return mscclpp.Write(w, f)
	case "svg":
		if _, _, found := channels.Check(p, c.Limits.Check); found.Rejects() {
			return found
		}
		return c.drawChannels(w, s.Name, p)
	}
	return text.WriteChannels(w, p)
}

// drawChannels draws a program of channels, which is right.
func (c *showFlags) drawChannels(w io.Writer, name string, p *ir.ChannelProgram) error {
	d, err := play.OfChannels(p)
	if err == nil {
		c.drawn, err = picture.DrawTable(w, name, d)
	}
	return err
}

// drawProgram draws a one-sided program that was read from a file.
func (c *showFlags) drawProgram(w io.Writer, name string, p *either.Program) error {
	if p.OneSided == nil {
		return cli.Usagef("%s is a two-sided program, and svg draws algorithms: give the .mscl file; mscclc show %s dot writes this program "+
			"for Graphviz", name, name)
	}
	d, err := picture.DrawingOfProgram(p, c.Limits.Check)
	if err == nil {
		c.drawn, err = picture.DrawTable(w, name, d)
	}
	return err
}

// writePlanChannels writes the channels of the plan of MSCCL++ that compile would write of p.
func (c *showFlags) writePlanChannels(w io.Writer, p *either.Program) error {
	plan, _, err := c.ExecutionPlan(p, 0)
	if err != nil {
		return err
	}
	channels, err := plan.Channels(codegen.ReadOptions{})
	if err != nil {
		return err
	}
	return text.WriteChannels(w, channels)
}
