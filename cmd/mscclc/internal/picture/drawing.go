package picture

import (
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/play"
)

// DrawingOfProgram returns the operations of a one-sided program, if it is right.
func DrawingOfProgram(p *either.Program, opt verify.Options) (*play.Algorithm, error) {
	if _, found := verify.Check(p, opt); found.Rejects() {
		return nil, found
	}
	return play.OfProgram(p), nil
}

// mostDrawable bounds the chunks that an algorithm which is drawn has, and those that its operations read and write.
const mostDrawable = 1 << 22

// checkSize fails if x is too large to be drawn. Messages call it name.
func checkSize(x *play.Algorithm, name string) error {
	if x.Accesses(mostDrawable) <= mostDrawable {
		return nil
	}
	return diag.List{diag.New(diag.Unsupported, cli.FileSpan(name), "the algorithm is too large to be drawn: "+
		"its ranks have, or its operations access, more than %d chunks", mostDrawable).
		WithHint("draw it for fewer ranks: -p ranks=4")}
}
