package selection

import (
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
	Calls   int    `json:"calls,omitempty" doc:"calls in groups of at most this many; absent: any"`
	Windows bool   `json:"windows,omitempty" doc:"calls whose buffers all lie in registered windows"`
	Apart   bool   `json:"apart,omitempty" doc:"calls among GPUs that do not reach each other's memory; absent: among those that do"`
	Then    string `json:"then,omitempty" doc:"calls with this epilogue; absent: calls without one"`
	Bits    string `json:"bits,omitempty" doc:"invariant: sums of jobs with MSCCLC_BITS=invariant; absent: those of others"`
	CTAs    int    `json:"ctas,omitempty" doc:"launches of at most this many CTAs; a communicator with fewer takes a later rule"`
}

// maxThen bounds the text of an epilogue.
const maxThen = 1 << 10

// Invariant is what a rule has as "bits" whose program adds in the order of ranks.
const Invariant = "invariant"

// fields reads o.
func (o *Only) fields(t *strictjson.Reader) []strictjson.Field {
	var types []string
	for d := range data.NumDTypes {
		types = append(types, d.String())
	}
	return []strictjson.Field{
		{Key: "dtype", Read: func() { o.DType = t.OneOf(types...) }},
		{Key: "op", Read: func() { o.RedOp = t.OneOf(data.RedOps[:]...) }},
		{Key: "root", Read: func() { o.Root = new(number(t, 0, MostRanks-1)) }},
		{Key: "calls", Read: func() { o.Calls = number(t, 1, 1<<20) }},
		{Key: "windows", Read: func() { o.Windows = t.Bool() }},
		{Key: "apart", Read: func() { o.Apart = t.Bool() }},
		{Key: "then", Read: func() { o.Then = t.Text(maxThen) }},
		{Key: "bits", Read: func() { o.Bits = t.OneOf(Invariant) }},
		{Key: "ctas", Read: func() { o.CTAs = number(t, 1, limits.CTAs) }},
	}
}
