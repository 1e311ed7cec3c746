package bundle

import (
	"cmp"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/internal/strictjson"
)

// An Only restricts a rule to some calls. bench measures rules for windows; those with other restrictions are written
// by hand. The zero value restricts nothing.
type Only struct {
	DType   string `json:"dtype,omitempty" doc:"calls of elements of one type; absent: any"`
	RedOp   string `json:"op,omitempty" doc:"calls of one reduction; absent: any"`
	Root    *int   `json:"root,omitempty" doc:"calls of one root; absent: any"`
	Calls   int    `json:"calls,omitempty" doc:"calls in groups of at most so many; absent: any"`
	Windows bool   `json:"windows,omitempty" doc:"calls whose buffers all lie in registered windows"`
	CTAs    int    `json:"ctas,omitempty" doc:"launches of at most so many CTAs; a communicator with fewer takes a later rule"`
}

// some reports whether o restricts a rule.
func (o *Only) some() bool { return *o != Only{} }

// same reports whether o restricts a rule as p does.
func (o Only) same(p Only) bool {
	a, b := -1, -1
	if o.Root != nil {
		a = *o.Root
	}
	if p.Root != nil {
		b = *p.Root
	}
	o.Root, p.Root = nil, nil
	return a == b && o == p
}

// fields reads o.
func (o *Only) fields(t *rulesReader) []strictjson.Field {
	return []strictjson.Field{
		{Key: "dtype", Read: func() { o.DType = t.OneOf(dtypeNames()...) }},
		{Key: "op", Read: func() { o.RedOp = t.OneOf(data.RedOps[:]...) }},
		{Key: "root", Read: func() { o.Root = new(int(t.Uint(0, maxRanks-1))) }},
		{Key: "calls", Read: func() { o.Calls = int(t.Uint(1, 1<<20)) }},
		{Key: "windows", Read: func() { o.Windows = t.Bool() }},
		{Key: "ctas", Read: func() { o.CTAs = int(t.Uint(1, limits.CTAs)) }},
	}
}

// restrict makes a rule one for calls that o names.
func (o *Only) restrict(r *Rule) {
	if t, ok := data.DTypeByName(o.DType); ok {
		r.DType = uint8(t)
	}
	if op, ok := data.RedOpByName(o.RedOp); ok {
		r.RedOp = uint8(op)
	}
	if o.Root != nil {
		r.Root = uint8(min(*o.Root, Any-1)) // Build refuses those that are no ranks
	}
	r.Calls, r.CTAs = o.Calls, o.CTAs
	if o.Windows {
		r.When |= WhenWindows
	}
}

// restricted reports whether a rule is for some calls of its collective only.
func (r *Rule) restricted() bool {
	return r.DType != Any || r.RedOp != Any || r.Root != Any || cmp.Or(r.Calls, r.CTAs, int(r.When&WhenWindows)) != 0
}

func dtypeNames() (names []string) {
	for t := range data.NumDTypes {
		names = append(names, t.String())
	}
	return names
}
