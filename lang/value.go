package lang

import "mscclc/ir"

// A kind is what a value is. What a name's kind is stays as its first value
// made it.
type kind uint8

const (
	kNone kind = iota // no value: a call of a function that returns none
	kInt
	kBool
	kString
	kList
	kBuffer
	kRef
	kSum // sum(...) of a require
	kAny // known only when it runs
	kBad // a value that could not be computed; what uses it is silent
)

var kindNames = [...]string{"nothing", "an integer", "a boolean", "a string", "a list", "a buffer", "a reference", "a sum", "a value", "a value"}

func (k kind) String() string { return kindNames[k] }

// A ref is a reference: count chunks from index of a buffer of a rank, as they
// were when so many operations had been done.
type ref struct {
	rank, index, count, time int32
	buf                      ir.Buf
}

// A value is a value of any kind.
type value struct {
	ref  // of kRef; buf also of kBuffer
	kind kind
	n    int64    // of kInt; kBool: 0 or 1; kString: its number among strings
	list *[]value // of kList and kSum
}

func intValue(n int64) value { return value{kind: kInt, n: n} }

func boolValue(b bool) value {
	v := value{kind: kBool}
	if b {
		v.n = 1
	}
	return v
}

// badValue is what a failed expression leaves.
var badValue = value{kind: kBad}

// A code is a compiled expression. Exactly one of num and val is set: num for
// kInt and kBool, val for the rest.
type code struct {
	kind kind
	num  func() int64
	val  func() value
	lit  bool // always the same, and never fails
}

// value gives the expression as a function of a value of any kind.
func (x code) value() func() value {
	if x.num == nil {
		return x.val
	}
	num, k := x.num, x.kind
	return func() value { return value{kind: k, n: num()} }
}
