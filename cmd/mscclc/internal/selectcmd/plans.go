package selectcmd

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
)

// This file writes execution plans of MSCCL++: one a range, for the range's sizes. Of the plans that are registered,
// MSCCL++'s library of NCCL's functions takes one whose sizes a call has.

// plans reports whether programs are execution plans of MSCCL++.
func (e *emission) plans() bool { return e.selector.Target.Format == codegen.FormatMSCCLPP }

// planWord is a word of the names of plans that select writes.
const planWord = "select"

// writePlans writes the ranges' plans, which are proven for their sizes, and removes those of an earlier select.
func (e *emission) writePlans(list []choose.Stretch) error {
	for i, r := range list {
		plan, err := e.selector.Plan(r.Form, ir.SizeRange{Min: r.From, Max: r.To}, planWord,
			fmt.Sprintf("instances=%d", max(r.Instances, 1)))
		if err != nil {
			return err
		}
		path := e.path(i, r)
		e.written = append(e.written, filepath.Base(path))
		if err := e.app.WriteTo(path, func(w io.Writer) error { return mscclpp.Write(w, plan) }); err != nil {
			return err
		}
	}
	e.Note("MSCCL++ takes the plan whose sizes a call has: register all of them before the communicator is made " +
		"(docs/mscclpp.md, 2b)")
	return e.tidy()
}

// ownPlan reports whether text is a plan that select wrote, and still as it was: its name ends with the hash of all
// else.
func ownPlan(name string, text []byte) bool {
	plan, _, err := mscclpp.Read(name, bytes.NewReader(text), codegen.ReadOptions{})
	if err != nil || !strings.Contains(plan.Name, " "+planWord+" ") {
		return false
	}
	end := plan.Name[strings.LastIndexByte(plan.Name, ' ')+1:]
	plan.Name = ""
	hash, err := mscclpp.Hash(plan)
	return err == nil && end == fmt.Sprintf("%016x", hash)
}
