package fifo

import (
	"mscclc/ir/property"
)

// fit refuses a program that is larger than its target allows. It changes
// nothing; what is too large is the author's or the command line's to change,
// and the message says how.
func fit(s *state) (int, error) { return 0, property.Excess(s.InstDAG, &s.opt.Limits).Err() }
