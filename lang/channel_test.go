package lang

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"mscclc/ir"
	"mscclc/ir/text"
	"mscclc/lang/langtest"
	"mscclc/lang/syntax"
)

// checkChannels sees that operands exist, and that channels, semaphores and
// barriers do.
func checkChannels(t *testing.T, p *ir.ChannelProgram) {
	t.Helper()
	for r := range p.Ranks {
		for _, ops := range p.Ranks[r].Blocks {
			for i := range ops {
				checkChannelOp(t, p, r, &ops[i])
				for k := range ops[i].Body {
					checkChannelOp(t, p, r, &ops[i].Body[k])
				}
			}
		}
	}
}

func checkChannelOp(t *testing.T, p *ir.ChannelProgram, rank int, o *ir.ChannelOp) {
	t.Helper()
	own := &p.Ranks[rank]
	ok := p.Span(o.Pos).Line > 0 && o.Part >= 0 && (o.Part < o.Parts || o.Parts == 0) &&
		(o.ID == 0 || o.Kind == ir.ChBarrier)
	for _, c := range o.Channels {
		ok = ok && int(c) < len(own.Channels[o.Type])
	}
	for _, s := range o.Semaphores {
		ok = ok && int(s) < len(own.Semaphores)
	}
	for _, x := range append(o.Srcs[:len(o.Srcs):len(o.Srcs)], o.Dsts...) {
		ranks := []int32{x.Rank}
		if x.Rank == ir.AllRanks {
			c := own.Channels[ir.SwitchChannel][x.Switch]
			ranks, ok = c.Group, ok && c.Buf == x.Buf
		}
		for _, r := range ranks {
			have := [...]int32{p.Ranks[r].In, p.Ranks[r].Out, p.Ranks[r].Scratch}[x.Buf]
			ok = ok && x.Index >= 0 && x.Count > 0 && x.Index+x.Count <= have && x.Count == o.Dsts[0].Count
		}
	}
	if !ok {
		t.Fatalf("rank %d: %s", rank, text.OpText(p, rank, o))
	}
}

// TestChannels expands the programs of channels of the repository, and one that
// has everything, for few ranks; testdata/channels has what comes out.
func TestChannels(t *testing.T) {
	for _, name := range langtest.ChannelFiles(t, "..") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		langtest.CheckFormat(t, name, src)
		params := Params(langtest.FewRanks(string(src)))
		p := mustExpandChannels(t, name, string(src), params)
		if q := mustExpandChannels(t, name, string(src), params); !reflect.DeepEqual(p, q) {
			t.Errorf("%s: two expansions differ", name)
		}
		var got bytes.Buffer
		if err := text.WriteChannels(&got, p); err != nil {
			t.Fatal(err)
		}
		langtest.Golden(t, "testdata/channels", name, got.Bytes())
	}
}

func mustExpandChannels(t *testing.T, name, src string, params Params) *ir.ChannelProgram {
	t.Helper()
	f, err := syntax.Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	x, err := ExpandLevel(f, Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if x.Channels == nil || x.Chunks != nil {
		t.Fatalf("%s is no program of channels", name)
	}
	return x.Channels
}
