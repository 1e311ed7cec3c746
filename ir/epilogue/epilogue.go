// Package epilogue has the table of the stages of epilogues. In a program with an epilogue, the output is a matrix.
// When a row is completely summed, the program runs the stages on it, and writes the result, a finished row, to the
// output. For example, one stage adds a residual, and the next does an RMSNorm.
//
// A list of stages is part of a program. The length of a row, eps, factors and the memory that stages read and write
// are parameters of a call. Apply computes the meaning of stages directly, in f64, and tests compare every kernel with
// it.
//
// In a program with an epilogue, only finished rows are in the output. Scratch and packets hold sums on which no stage
// has run. So a step that writes to the output from other memory must have the complete sum. It runs the stages on each
// row of the sum, and writes the finished row. A copy from output to output copies a finished row, and all else that
// the stages wrote for this row. Of this module, the package imports only ir/diag.
package epilogue

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is the kind of a stage: a row of Stages.
type Kind uint8

// The kinds, numbered as in kernels/rows/abi.h.
const (
	Scale Kind = iota
	Bias
	Residual
	RMSNorm
	LayerNorm
	Activation
	Quantise
	Cast
	NumKinds
)

// An Operand is the memory that a stage reads or writes for each rank, beside the row.
type Operand uint8

// The operands: none, a vector of one element for each element of a row, rows as the output has them, or the scales of
// each row in f32. Vectors and rows have the element type of the sum.
const (
	Nothing Operand = iota
	Vector
	Rows
	Scales
)

// A Row is what the table knows of a kind.
type Row struct {
	Name          string
	Doc           string
	Argument      string  // what its parentheses hold: "", "eps" (the word), "function" or "type"
	Block         bool    // quantise(type, block = N) is allowed
	Reads, Wants  Operand // what it reads: two operands at most
	Writes        Operand // what it writes beside the row
	Value         string  // a number that each call gives: "eps", "factor", or "" for none
	Whole         bool    // needs the whole row before it changes any element
	Last          bool    // ends the list, since it gives the output a type of its own
	RowBytes      float64 // cost: bytes read and written for each byte of the row
	VectorBytes   float64 // cost: bytes read once for each byte of a row, from a cache
	BlockBarriers int     // cost: reductions of a block for each row
}

// Stages is the table.
var Stages = [NumKinds]Row{
	Scale: {Name: "scale", Value: "factor", Doc: "multiplies each element by the call's factor"},
	Bias:  {Name: "bias", Reads: Vector, VectorBytes: 1, Doc: "adds a vector to each row"},
	Residual: {Name: "residual", Reads: Rows, Writes: Rows, RowBytes: 2,
		Doc: "adds a row of the residual, and writes the result as the updated residual too"},
	RMSNorm: {Name: "rms_norm", Argument: "eps", Reads: Vector, Value: "eps", Whole: true, VectorBytes: 1,
		BlockBarriers: 1, Doc: "divides by the root of the mean square plus eps, and multiplies by a vector of weights"},
	LayerNorm: {Name: "layer_norm", Argument: "eps", Reads: Vector, Wants: Vector, Value: "eps", Whole: true,
		VectorBytes: 2, BlockBarriers: 2,
		Doc: "subtracts the mean, divides by the root of the variance plus eps, multiplies by weights and adds a bias"},
	Activation: {Name: "activation", Argument: "function", Doc: "applies a function to each element"},
	Quantise: {Name: "quantise", Argument: "type", Block: true, Writes: Scales, Whole: true, Last: true, BlockBarriers: 1,
		Doc: "divides each row, or each block of it, by a scale that makes its largest element the type's largest number, " +
			"and writes the scales"},
	Cast: {Name: "cast", Argument: "type", Last: true, Doc: "converts the elements to another type"},
}

// Second returns the operand that a stage of the kind has beside the one that it reads first: what it writes, or what
// it reads too. No kind has both.
func (r *Row) Second() Operand { return max(r.Writes, r.Wants) }

// A Function is what Activation applies.
type Function uint8

// The functions, numbered as in kernels/rows/abi.h.
const (
	Relu Function = iota
	Gelu          // with the error function, as PyTorch's default
	Silu
	NumFunctions
)

// Functions names the functions.
var Functions = [NumFunctions]string{"relu", "gelu", "silu"}

// A Type is an element type that a list may end with.
type Type struct {
	Name    string
	Bytes   int
	Largest float64 // of Quantise: what a row's largest element becomes
	For     Kind    // Quantise or Cast
}

// Types is the table of types. Names are those of executor/data.
var Types = []Type{
	{"e4m3", 1, 448, Quantise}, {"e5m2", 1, 57344, Quantise}, {"i8", 1, 127, Quantise},
	{"f16", 2, 0, Cast}, {"bf16", 2, 0, Cast}, {"f32", 4, 0, Cast},
}

// A Stage is one stage of a list.
type Stage struct {
	Kind  Kind
	Fn    Function // of Activation
	Type  string   // of Quantise and Cast: a name of Types
	Block int      // of Quantise: elements that share a scale; 0 for all of a row
}

// A List is the stages of a program's epilogue, in their order; empty where it has none.
type List []Stage

// MostStages bounds a list.
const MostStages = 8

// Row returns the row of s in the table.
func (s Stage) Row() *Row { return &Stages[s.Kind] }

// TypeOf returns the type that s ends with, nil where it leaves the type alone.
func (s Stage) TypeOf() *Type {
	i := slices.IndexFunc(Types, func(t Type) bool { return s.Row().Last && t.For == s.Kind && t.Name == s.Type })
	if i < 0 {
		return nil
	}
	return &Types[i]
}

// OutType returns the type of the output, nil where it is that of the sum.
func (l List) OutType() *Type {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1].TypeOf()
}

// Scales returns how many scales a row of `length` elements has: 0 without Quantise.
func (l List) Scales(length int) int {
	if len(l) == 0 || l[len(l)-1].Kind != Quantise {
		return 0
	}
	if b := l[len(l)-1].Block; b > 0 {
		return (length + b - 1) / b
	}
	return 1
}

// String writes l as a program has it: residual, rms_norm(eps), quantise(e4m3, block = 128).
func (l List) String() string {
	var texts []string
	for _, s := range l {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, ", ")
}

func (s Stage) String() string {
	if s.Kind >= NumKinds {
		return fmt.Sprint("stage ", int(s.Kind))
	}
	r := s.Row()
	switch {
	case r.Argument == "":
		return r.Name
	case r.Argument == "function":
		return fmt.Sprintf("%s(%s)", r.Name, Functions[s.Fn])
	case r.Argument == "type" && s.Block > 0:
		return fmt.Sprintf("%s(%s, block = %d)", r.Name, s.Type, s.Block)
	case r.Argument == "type":
		return fmt.Sprintf("%s(%s)", r.Name, s.Type)
	}
	return fmt.Sprintf("%s(%s)", r.Name, r.Argument)
}

// Names lists the names of all kinds.
func Names() (names []string) {
	for i := range Stages {
		names = append(names, Stages[i].Name)
	}
	return names
}

// ByName finds a kind by its name.
func ByName(name string) (Kind, bool) {
	i := slices.Index(Names(), name)
	return Kind(max(i, 0)), i >= 0
}

// Arguments lists what may stand in the parentheses of kind k: its functions, its types, or the word eps.
func Arguments(k Kind) (list []string) {
	switch Stages[k].Argument {
	case "function":
		return Functions[:]
	case "type":
		for _, t := range Types {
			if t.For == k {
				list = append(list, t.Name)
			}
		}
		return list
	case "":
		return nil
	}
	return []string{Stages[k].Argument}
}
