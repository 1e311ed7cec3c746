package mscclc_test

import (
	"bytes"
	"strings"
	"testing"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
	"mscclc/lang"
)

// inPlace are programs of channels for input and output in one memory.
var inPlace = map[string]string{
	"a ring's AllGather": `
algorithm ring(ranks = 3)
collective allgather(ranks, inplace = true)
for r in 0..ranks {
    let to = channel(r, (r + 1) % ranks)
    let from = channel(r, (r + ranks - 1) % ranks)
    from.signal(tb = 0, relaxed = true)
    to.wait(tb = 0, relaxed = true)
    for s in 0..ranks - 1 {
        to.put(chunk(r, output, (r + ranks - s) % ranks), tb = 0)
        to.signal(tb = 0)
        from.wait(tb = 0)
    }
}
`,
	"a ring's ReduceScatter": `
algorithm ring(ranks = 3)
collective reducescatter(ranks, inplace = true)
for r in 0..ranks {
    let prev = (r + 2) % ranks
    let to = channel(r, (r + 1) % ranks)
    let from = channel(r, prev)
    to.signal(tb = 0, relaxed = true)
    from.wait(tb = 0, relaxed = true)
    chunk(r, input, (r + 1) % ranks).reduce(chunk(prev, input, (r + 1) % ranks), tb = 0)
    to.signal(tb = 0)
    from.wait(tb = 0)
    chunk(r, input, r).reduce(chunk(prev, input, r), tb = 0)
    from.signal(tb = 0)
    to.wait(tb = 0)
}
`,
	"packets and a sum in input": `
algorithm sum(ranks = 2)
collective reducescatter(ranks, inplace = true)
protocol LL
scratch s[1]
launch(double_scratch = true)
for r in 0..ranks {
    channel(r, 1 - r).put(chunk(r, input, 1 - r), s, 0, tb = 0)
    chunk(r, input, r).reduce(chunk(r, s, 0), tb = 0)
}
`,
	"a switch": `
algorithm all(ranks = 3)
collective allreduce(ranks, inplace = true)
for r in 0..ranks {
    let all = channel(r, [q for q in 0..ranks], via = switch)
    let peers = [channel(r, q) for q in 0..ranks if q != r]
    peers.signal(tb = 0, relaxed = true)
    peers.wait(tb = 0, relaxed = true)
    all.allreduce(chunk(r, input, r), tb = 0)
    peers.signal(tb = 0)
    peers.wait(tb = 0)
}
`,
}

func compileApart(name, text string) (*ir.ChannelProgram, error) {
	var channels *ir.ChannelProgram
	place := false
	_, err := mscclc.Compile(name, []byte(text),
		mscclc.Options{Lang: lang.Options{Inplace: &place}, Stage: func(v any) error {
			if c, ok := v.(*ir.ChannelProgram); ok {
				channels = c
			}
			return nil
		}})
	return channels, err
}

// TestOutOfPlace: programs of channels written in place are proven out of place, input being never written, and so are
// their plans.
func TestOutOfPlace(t *testing.T) {
	for name, source := range inPlace {
		c, err := compileApart("place.mscl", source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.Coll.Inplace {
			t.Errorf("%s: in place", name)
		}
		if _, _, err := mscclc.PlanOfChannels(c, mscclc.PlanOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if err := text.WriteChannels(&b, c); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if _, to, ok := strings.Cut(line, " -> "); ok && strings.Contains(to, "input") {
				t.Errorf("%s: input is written: %s", name, line)
			}
		}
	}
	mixed := strings.Replace(inPlace["a ring's AllGather"], "    from.signal(tb = 0, relaxed = true)\n",
		"    from.signal(tb = 0, relaxed = true)\n    chunk(r, output, (r + 1) % ranks).copy(r, output, (r + 1) % ranks, tb = 0)\n", 1)
	mixed = strings.Replace(mixed, "        from.wait(tb = 0)\n    }\n",
		"        from.wait(tb = 0)\n    }\n    chunk(r, output, 0, 3).copy(r, s, 0, tb = 0)\n", 1)
	mixed = strings.Replace(mixed, "for r in", "scratch s[3]\nfor r in", 1)
	if _, err := compileApart("mixed.mscl", mixed); err == nil ||
		!strings.Contains(err.Error(), string(diag.NotInPlace)) || !strings.Contains(err.Error(), "two buffers") {
		t.Errorf("what is read in two buffers: %v", err)
	}
}
