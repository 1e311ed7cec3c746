package lang

import (
	"errors"
	"math"
	"testing"
	"time"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

type narrow uint16 // a caller's own type

// A parameter takes Go integers of every size, bools, and text.
func TestParamsTakeGoTypes(t *testing.T) {
	const text = `algorithm typed(ranks = 2, parts = 1, twice = false, name = "a")
collective allreduce(ranks, inplace = true)
assert(ranks == 3 && parts == 65536 && twice && name == "ring", "the values that were given")
for r in 0..ranks { for s in 0..ranks { if r != s { chunk(r, input, r).reduce(chunk(s, input, r)) } } }
for r in 0..ranks { for s in 0..ranks { if r != s { chunk(r, input, r).copy(s, input, r) } } }
`
	f, err := syntax.Parse("typed.mscl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []any{3, int8(3), int16(3), int32(3), int64(3), uint(3), uint8(3), uint16(3), uint32(3),
		uint64(3), uintptr(3), narrow(3), time.Duration(3), "3"} {
		for _, twice := range []any{true, "true"} {
			for _, parts := range []any{65536, "64K", "65_536"} {
				_, err := Expand(f, Options{Params: Params{"ranks": ranks, "parts": parts, "twice": twice, "name": "ring"}})
				if err != nil {
					t.Errorf("ranks %T %[1]v, parts %T %[2]v, twice %T: %v", ranks, parts, twice, err)
				}
			}
		}
	}
	for _, c := range []struct {
		params    Params
		want, tip string
	}{
		{Params{"ranks": 3.0}, "parameter ranks is given as the Go type float64", "the Go type must be an integer type, bool or string"},
		{Params{"ranks": nil}, "parameter ranks is given as the Go type <nil>", "the Go type must be an integer type, bool or string"},
		{Params{"name": []byte("ring")}, "parameter name is given as the Go type []uint8", "the Go type must be an integer type, bool or string"},
		{Params{"ranks": uint64(math.MaxUint64)}, "parameter ranks is given as 18446744073709551615: it must be an integer", "the largest integer is 9223372036854775807"},
		{Params{"ranks": true}, "parameter ranks is given as true: it must be an integer", ""},
		{Params{"twice": 1}, "parameter twice is given as 1: it must be a boolean", ""},
		{Params{"name": 1}, "parameter name is given as 1: it must be a string", ""},
		{Params{"ranks": "three"}, "-p ranks=three: ranks must be an integer", ""},
		{Params{"rank": 3}, "typed has no parameter rank", "did you mean ranks?"},
	} {
		_, err := Expand(f, Options{Params: c.params})
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != diag.Parameter || list[0].Text != c.want || list[0].Hint != c.tip {
			t.Errorf("%v: %+v", c.params, err)
		}
	}
}
