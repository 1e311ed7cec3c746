package executor

import (
	"fmt"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/proof"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// Checked is a program that may run: its tables, and its proof, which covers what calls ask for later.
type Checked struct {
	Image *abi.Image
	Proof *proof.Prover
}

// NewChecked proves p, unless it is to stay unproven, lowers it where lower is not nil, and makes its tables. The
// arguments are as in Options.
func NewChecked(p *either.Program, check verify.Options, unproven bool,
	lower func(*either.Program) (*either.Program, error)) (Checked, error) {
	if lower != nil && check.MessageChunks == 0 {
		check.MessageChunks = ir.WholeSteps
	}
	prover := proverOf(p, check, unproven)
	err := prover.Prove()
	if err == nil && lower != nil {
		p, err = lower(p)
	}
	if err != nil {
		return Checked{}, err
	}
	img, err := abi.NewImage(p)
	return Checked{img, prover}, err
}

func proverOf(p *either.Program, check verify.Options, unproven bool) *proof.Prover {
	if unproven {
		return proof.None(p)
	}
	return proof.New(p, check)
}

// Geometry checks the type, the reduction and the size of a call. Without an epilogue, rows are nil.
func (c *Checked) Geometry(args *Args) (geo data.Geometry, rows *abi.Rows, err error) {
	coll := c.Image.Program.Coll
	if args.DType >= data.NumDTypes || args.RedOp >= data.NumRedOps {
		return geo, nil, fmt.Errorf("no element type %d or reduction %d", args.DType, args.RedOp)
	}
	if rows, err = c.rows(args); err != nil {
		return geo, nil, err
	}
	size := unit(args)
	if args.Elems < 0 || args.Elems > 1<<56/int64(coll.Ranks)/size {
		return geo, nil, fmt.Errorf("%d elements of a piece are out of range", args.Elems)
	}
	if c.Image.Even && args.Elems%int64(coll.Chunks) != 0 {
		return geo, nil, diag.List{diag.New(diag.Uneven, diag.Span{},
			"a piece of length %d does not divide into %d chunks, which this program needs", args.Elems, coll.Chunks).
			WithHint("give a multiple of %d elements", coll.Chunks)}
	}
	return data.NewGeometry(coll, args.Elems, int(size)), rows, c.checkAvg(args.DType, args.RedOp)
}

// checkAvg reports whether averages of t can be computed, where op is one. Their sums must be over all ranks. Of floats
// it must be known which operands are to be scaled, and of integers which steps make complete sums.
func (c *Checked) checkAvg(t data.DType, op data.RedOp) error {
	coll := c.Image.Program.Coll
	if op != data.Avg || !coll.Reduces() || coll.Ranks == 1 && coll.Kind != ir.Custom && coll.Kind != ir.Opaque {
		return nil
	}
	if coll.Kind == ir.Custom || coll.Kind == ir.Opaque {
		return fmt.Errorf("avg of a custom collective: %w", ErrNotSupported)
	}
	if t.Info().Float && !c.Image.Scales {
		return fmt.Errorf("avg of floats: %w (%w)", c.Image.Mixed, ErrNotSupported)
	}
	if !t.Info().Float && !c.Image.Final {
		return fmt.Errorf("avg of integers by a program in which no step is marked final: %w", ErrNotSupported)
	}
	return nil
}
