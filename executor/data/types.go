package data

import (
	"maps"
	"slices"
	"strings"
)

// A DType is the type of the elements of a call.
type DType uint8

// The element types, numbered as in kernels/abi/rows.h.
const (
	F16 DType = iota
	BF16
	F32
	F64
	I8
	U8
	I32
	U32
	I64
	U64
	E4M3
	E5M2
	NumDTypes
)

// A DTypeInfo is the row of one element type.
type DTypeInfo struct {
	Name     string
	Size     int  // bytes
	Float    bool // else an integer
	Signed   bool
	Mantissa int // bits of precision of a float, the implicit one included
	MinExp   int // the exponent of the smallest denormal number of a float
	Doc      string
}

// DTypes is the table of element types.
var DTypes = [NumDTypes]DTypeInfo{
	F16:  {"f16", 2, true, true, 11, -24, "IEEE half precision"},
	BF16: {"bf16", 2, true, true, 8, -133, "the upper half of an f32"},
	F32:  {"f32", 4, true, true, 24, -149, "IEEE single precision"},
	F64:  {"f64", 8, true, true, 53, -1074, "IEEE double precision"},
	I8:   {"i8", 1, false, true, 0, 0, "signed, 8 bits"},
	U8:   {"u8", 1, false, false, 0, 0, "unsigned, 8 bits"},
	I32:  {"i32", 4, false, true, 0, 0, "signed, 32 bits"},
	U32:  {"u32", 4, false, false, 0, 0, "unsigned, 32 bits"},
	I64:  {"i64", 8, false, true, 0, 0, "signed, 64 bits"},
	U64:  {"u64", 8, false, false, 0, 0, "unsigned, 64 bits"},
	E4M3: {"e4m3", 1, true, true, 4, -9, "OCP fp8 with 4 exponent bits"},
	E5M2: {"e5m2", 1, true, true, 3, -16, "OCP fp8 with 5 exponent bits"},
}

// Info returns the row of t.
func (t DType) Info() *DTypeInfo { return &DTypes[t] }

// Size returns the bytes of an element.
func (t DType) Size() int { return DTypes[t].Size }

func (t DType) String() string { return DTypes[t].Name }

// otherDTypes are the names that NCCL, nccl-tests and PyTorch have for element types.
var otherDTypes = map[string]DType{
	"half": F16, "float16": F16, "fp16": F16, "bfloat16": BF16, "float": F32, "float32": F32, "fp32": F32,
	"double": F64, "float64": F64, "fp64": F64, "int8": I8, "char": I8, "uint8": U8, "int32": I32, "int": I32,
	"uint32": U32, "int64": I64, "uint64": U64, "fp8_e4m3": E4M3, "f8e4m3": E4M3, "float8e4m3": E4M3,
	"fp8_e5m2": E5M2, "f8e5m2": E5M2, "float8e5m2": E5M2,
}

// OtherDTypes returns the sorted names that NCCL, nccl-tests and PyTorch have for element types.
func OtherDTypes() []string { return slices.Sorted(maps.Keys(otherDTypes)) }

// DTypeByName finds an element type by its name, or by the name that NCCL, nccl-tests or PyTorch has for it, in
// capitals or not.
func DTypeByName(s string) (DType, bool) {
	for t := range DTypes {
		if strings.EqualFold(DTypes[t].Name, s) {
			return DType(t), true
		}
	}
	name := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s), "torch."), "nccl")
	t, ok := otherDTypes[name]
	return t, ok
}

// A Number is a Go type that elements of a call may have. The other element types have no Go type of their own.
type Number interface {
	float32 | float64 | int8 | uint8 | int32 | uint32 | int64 | uint64
}

// DTypeOf returns the element type whose values are Ts.
func DTypeOf[T Number]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int8:
		return I8
	case uint8:
		return U8
	case int32:
		return I32
	case uint32:
		return U32
	case int64:
		return I64
	}
	return U64
}

// A RedOp is the reduction of a call.
type RedOp uint8

// The reductions, numbered as in kernels/abi/rows.h. Avg of floats is the sum of inputs that are each multiplied by
// 1/ranks first. Avg of integers is the sum, which wraps, divided by the number of ranks: the fraction is dropped.
const (
	Sum RedOp = iota
	Prod
	Min
	Max
	Avg
	NumRedOps
)

// RedOps are the names of the reductions.
var RedOps = [NumRedOps]string{"sum", "prod", "min", "max", "avg"}

func (o RedOp) String() string { return RedOps[o] }

// RedOpByName finds a reduction by its name.
func RedOpByName(s string) (RedOp, bool) {
	for o, name := range RedOps {
		if strings.EqualFold(name, s) || strings.EqualFold("nccl"+name, s) {
			return RedOp(o), true
		}
	}
	return 0, false
}
