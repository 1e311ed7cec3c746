package showcmd

import (
	"errors"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// showRejected makes the stage of an algorithm that is rejected, as far as it comes: without a proof, with wrong
// results, and of chunks with errors. It reports whether there is something to show.
func (f *showFlags) showRejected(a *cli.App, s *cli.Source, arg, stage string, failure error, b *[]byte,
	p **either.Program) bool {
	var list diag.List
	if s.Kind != codegen.KindSource || stage == afterPass || !errors.As(failure, &list) {
		return false
	}
	again := *f
	again.rejected, again.Unjudged = true, true
	text, program, err := stageText(a, s, arg, stage, &again)
	if err != nil || len(text) == 0 {
		return false
	}
	*b, *p, f.drawn = text, program, again.drawn
	a.Note(arg, "the algorithm is rejected; this is what it does as far as it comes")
	return true
}

// found returns what failure says of a file.
func found(arg string, failure error) diag.List {
	if failure == nil {
		return nil
	}
	return cli.Placed(cli.Problems(failure), arg).Sort()
}

// reported returns an error with failure's exit code, whose text a document has.
func reported(failure error) error {
	if failure == nil {
		return nil
	}
	return cli.ReportedError{Code: cli.ExitCode(cli.Problems(failure))}
}

// madeBy returns the operations that a run made before its errors, or nil where it made none.
func madeBy(opt *mscclc.Options) *ir.ChunkDAG {
	facts := opt.Lang.Facts
	if facts == nil || facts.Made == nil || len(facts.Made.Ops) == 0 {
		return nil
	}
	return facts.Made
}
