package sizing

import (
	"cmp"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/abi"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
)

// CheckRow refuses a --row out of range; 0 is no row.
func CheckRow(row int) error {
	return cmp.Or(cli.From("row", row, 0), cli.UpTo("row", row, abi.MostRow))
}

// RowFits checks that --row is given for a program with an epilogue, and for no other. row is 0 where it is not given.
func RowFits(p *either.Program, row int) error {
	switch {
	case len(p.Then) > 0 && row == 0:
		return cli.Usagef("the program finishes rows (%v), and --row does not say how long they are", p.Then).Hint(
			"--row 4096 is for rows of 4096 elements")
	case len(p.Then) == 0 && row > 0:
		return cli.Usagef("--row is for programs with an epilogue, and the program has none").Hint(
			"leave --row out, or see mscclc list rows")
	}
	return nil
}

// Outputs is how many times a call holds as many elements as a rank's output: the output, and with an epilogue also
// residuals, which are kept, and scales.
func Outputs(l epilogue.List) float64 {
	n := 1.0
	for _, s := range l {
		n += s.Row().RowBytes
		if s.Row().Writes != epilogue.Nothing {
			n++
		}
	}
	return n
}
