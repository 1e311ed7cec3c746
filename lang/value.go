package lang

import (
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

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
	kChannel
	kSemaphore
	kAny // known only when it runs
	kBad // a value that could not be computed; what uses it is silent
)

var kindNames = [...]string{"nothing", "an integer", "a boolean", "a string", "a list", "a buffer", "a reference",
	"a sum", "a channel", "a semaphore", "a value", "a value"}

func (k kind) String() string { return kindNames[k] }

// numeric reports whether values of kind k are numbers.
func (k kind) numeric() bool {
	return k == kInt || k == kBool || k == kBuffer || k == kChannel || k == kSemaphore
}

// A ref is a reference: count chunks from index of a buffer of a rank, as they
// were when a given number of operations had been done. Count is 0 where the reference
// could not be computed, and of references to no chunks, whose time is emptyTime.
type ref struct { // the compiler keeps structs of up to 4 fields in registers
	spot
	count, time int32
	holds
}

// holds says which buffer of its rank a ref is in, and which call of then returned it: 1 + its number, or 0 for none.
type holds struct {
	buf  ir.Buf
	then int32
}

// emptyTime is the time of references to no chunks.
const emptyTime = -1

// empty reports whether r is a reference to no chunks.
func (r ref) empty() bool { return r.count == 0 && r.time == emptyTime }

// A spot is a chunk of a rank's buffer, and the cell that it lies in.
type spot struct{ cell, rank, index int32 }

// value makes r a value.
func (r ref) value() value {
	if r.count == 0 && !r.empty() {
		return badValue
	}
	return value{kind: kRef, ref: r}
}

// A value is a value of any kind.
type value struct {
	ref  // of kRef
	kind kind
	n    int64    // of kInt; kBool: 0 or 1; kBuffer: an ir.Buf; kString, kChannel, kSemaphore: its number among them
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

// A number is a compiled expression of a numeric kind. Constants and loop
// variables, which most operands are, are read without a call.
type number struct {
	at  *int64 // where it is, or nil
	run func() int64
}

func (x number) get() int64 {
	if x.at != nil {
		return *x.at
	}
	return x.run()
}

// constant returns the number n.
func constant(n int64) number { return number{at: &n} }

// A code is a compiled expression. Exactly one of num, ref and val is set: num
// for the numeric kinds, ref for kRef, val for the rest.
type code struct {
	kind kind
	num  number
	ref  func() ref
	val  func() value
	slot *value // of a variable of kAny
	lit  bool   // always the same, and never fails
	word string // the variable that it is in the source, or ""
}

// value gives the expression as a function of a value of any kind.
func (x code) value() func() value {
	num, ref, k := x.num, x.ref, x.kind
	switch {
	case k.numeric():
		return func() value { return value{kind: k, n: num.get()} }
	case k == kRef:
		return func() value { return ref().value() }
	}
	return x.val
}

// number compiles an expression of the numeric kind k.
func (c *compiler) number(e *syntax.Expr, k kind, what string) number {
	return c.asNumber(c.expr(e), k, what, e.Span())
}

// of compiles an expression of kind k, neither numeric nor kRef.
func (c *compiler) of(e *syntax.Expr, k kind, what string) func() value {
	return c.as(c.expr(e), k, what, e.Span())
}

func (c *compiler) asNumber(x code, k kind, what string, span diag.Span) number {
	if x.kind == k {
		return x.num
	}
	if m, slot := c.m, x.slot; slot != nil && x.kind == kAny {
		return number{run: func() int64 {
			if slot.kind != k {
				m.wrongKind(slot.kind, k, what, span)
				return 0
			}
			return slot.n
		}}
	}
	val := c.as(x, k, what, span)
	return number{run: func() int64 { return val().n }}
}

func (c *compiler) asRef(x code, what string, span diag.Span) func() ref {
	if x.kind == kRef {
		return x.ref
	}
	if m, slot := c.m, x.slot; slot != nil && x.kind == kAny {
		return func() ref {
			if slot.kind != kRef {
				m.wrongKind(slot.kind, kRef, what, span)
				return ref{}
			}
			return slot.ref
		}
	}
	val := c.as(x, kRef, what, span)
	return func() ref { return val().ref }
}

func (c *compiler) as(x code, k kind, what string, span diag.Span) func() value {
	if x.kind == k {
		return x.value()
	}
	if x.kind != kAny {
		return c.mismatch(x.kind, k, what, span)
	}
	m, val := c.m, x.val
	return func() value {
		v := val()
		if v.kind != k {
			m.wrongKind(v.kind, k, what, span)
			return badValue
		}
		return v
	}
}

// mismatch reports a kind that is wrong whenever it runs.
func (c *compiler) mismatch(is, k kind, what string, span diag.Span) func() value {
	if is != kBad {
		c.m.report(diag.Kind, span, "%s must be %s, not %s", what, k, is).Hint = kindHint(is, k, what, c.custom)
	}
	return c.badCode().val
}

// wrongKind reports a kind that turned out wrong.
func (m *machine) wrongKind(is, k kind, what string, span diag.Span) {
	if is == kBad {
		m.bad = true
		return
	}
	m.fault(diag.Kind, span, "%s must be %s, not %s", what, k, is).Hint = kindHint(is, k, what, false)
}

// reductionHint says how require names a reduction.
const reductionHint = "sum([chunk(q, input, 0) for q in 0..ranks]) stands for every reduction: --op says which one a call makes"

// kindHint says what to write instead of a value of kind is where what is one of kind k, or returns "". Required says
// that the value stands in the block of a custom collective.
func kindHint(is, k kind, what string, required bool) string {
	switch {
	case k == kBuffer && is == kString:
		return "a buffer is named without quotes: input, output or the name of a scratch buffer"
	case k == kInt && is == kList && strings.HasSuffix(what, " operand of *"):
		return "[0 for i in 0..4] is a list of 4 elements"
	case k == kBool && is == kInt:
		return "a number is compared: if n != 0 { }"
	case required && (k == kInt && is == kRef || what == whatIsRequired):
		return reductionHint
	}
	return ""
}

// join returns a list of the elements of a and b.
func (m *machine) join(span diag.Span, a, b *value) value {
	n := len(*a.list) + len(*b.list)
	if !m.elements(n, n, span) {
		return badValue
	}
	both := make([]value, 0, n)
	both = append(append(both, *a.list...), *b.list...)
	return value{kind: kList, list: &both}
}

// elements judges the length of a list and pays for its new elements, which
// cost memory too.
func (m *machine) elements(length, more int, span diag.Span) bool {
	if length > m.lim.List {
		m.exhausted("list", int64(m.lim.List), syntax.MoreHint("list", int64(length)), &span,
			"a list has more than %d elements")
		return false
	}
	return m.step(elementCost*int64(more), &span)
}

const elementCost = 8
