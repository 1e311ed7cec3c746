package eval

// A Total adds up operands, from left to right. It keeps its memory from one sum to the next; its zero value is empty.
type Total struct{ sum, next []Run }

// Reset empties t.
func (t *Total) Reset() { t.sum = t.sum[:0] }

// Add adds an operand, which is as long as those before it and has at least one run.
func (t *Total) Add(v *Values, operand []Run) {
	if len(t.sum) == 0 {
		t.sum = append(t.sum, operand...)
		return
	}
	t.next = v.SumRuns(t.next[:0], t.sum, operand)
	t.sum, t.next = t.next, t.sum
}

// Runs returns the sum, until the next Reset or Add.
func (t *Total) Runs() []Run { return t.sum }
