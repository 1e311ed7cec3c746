package main

import (
	"io"

	"mscclc/codegen"
	"mscclc/ir"
)

// showChannels writes a plan of MSCCL++ at a stage.
func (c *compiling) showChannels(w io.Writer, s *source, stage string) error {
	switch {
	case stage != "channels" && stage != "json":
		return usagef("%s is a plan of MSCCL++: it has no %s; show channels or json", s.name, stage)
	case c.unfit(compiledShow...) != "":
		return usagef("%s is compiled already: %s cannot change it", s.name, c.unfit(compiledShow...))
	}
	opt, _, err := c.limits.reading()
	if err != nil {
		return err
	}
	f, p, err := codegen.ReadMSCCLPP(s.name, s, opt)
	if err != nil {
		return err
	}
	if stage == "json" {
		return codegen.WriteMSCCLPP(w, f)
	}
	return ir.WriteChannels(w, p)
}
