package mscclpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"

	"github.com/google/go-cmp/cmp"
)

// written is f's JSON, and shown p's text.
func written(t *testing.T, f *Plan) []byte {
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func shown(t *testing.T, p *ir.ChannelProgram) string {
	var b bytes.Buffer
	if err := text.WriteChannels(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEveryNumberOfAPlan puts other numbers in the place of each number of every.json: what is read then is of the
// schema, is written and read again as the same, and so is what it means; what is refused is refused with a list.
func TestEveryNumberOfAPlan(t *testing.T) {
	judge := compiledSchema(t)
	src, err := os.ReadFile(filepath.Join("testdata", "every.json"))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, src); err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	second := bytes.Index(text.Bytes(), []byte(`{"id":1,"input_chunks"`)) // the ranks are mirrors
	for _, at := range regexp.MustCompile(`[0-9]+`).FindAllIndex(text.Bytes(), -1) {
		if at[0] < second {
			continue
		}
		for _, value := range []string{"0", "1", "2", "3", "17"} {
			b := append(append(append([]byte(nil), text.Bytes()[:at[0]]...), value...), text.Bytes()[at[1]:]...)
			f, p, err := Read("x.json", bytes.NewReader(b), codegen.ReadOptions{})
			var list diag.List
			if err != nil {
				if refused++; !errors.As(err, &list) || len(list) > diag.Shown {
					t.Fatalf("%s: %v", b[max(0, at[0]-40):at[0]+8], err)
				}
				continue
			}
			if read++; read%16 == 0 { // it takes long
				if err := judge(b); err != nil {
					t.Errorf("%s is read and not of the schema: %v", b[max(0, at[0]-40):at[0]+8], err)
				}
			}
			again, err := PlanOf(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*Plan{f, again} {
				g, q, err := Read("x.json", bytes.NewReader(written(t, f)), codegen.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(written(t, f), written(t, g)) || shown(t, p) != shown(t, q) {
					t.Fatalf("%s: another plan", b[max(0, at[0]-40):at[0]+8])
				}
			}
		}
	}
	t.Logf("%d plans were read and %d refused", read, refused)
	if read < 100 || refused < 100 {
		t.Error("too few of either")
	}
}

// allToAll returns a plan of n ranks of which each puts to each other, a block each.
func allToAll(n int) *ir.ChannelProgram {
	p := &ir.ChannelProgram{Header: ir.Header{Name: "all to all", RanksPerNode: n,
		Coll: &ir.Collective{Kind: ir.AllToAll, Ranks: n, Chunks: 1}}, Ranks: make([]ir.ChannelRank, n), Threads: 1024,
		Align: 16, MaxBytes: 1 << 30}
	p.Sizes.Max = 1<<30 + 1
	for r := range p.Ranks {
		c := &p.Ranks[r]
		c.In, c.Out = int32(n), int32(n)
		for k := 1; k < n; k++ {
			peer := int32((r + k) % n)
			ch := []int32{int32(k - 1)}
			c.Channels[ir.MemoryChannel] = append(c.Channels[ir.MemoryChannel], ir.Channel{Peer: peer})
			c.Blocks = append(c.Blocks, []ir.ChannelOp{
				{Kind: ir.ChRelaxedSignal, Type: ir.MemoryChannel, Channels: ch}, {Kind: ir.ChRelaxedAwait, Type: ir.MemoryChannel, Channels: ch}, {Kind: ir.ChMeet, Type: ir.NoChannel},
				{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{{Rank: int32(r), Buf: ir.Input, Index: peer, Count: 1}},
					Dsts: []ir.ChannelRef{{Rank: peer, Buf: ir.Output, Index: int32(r), Count: 1}}},
				{Kind: ir.ChMeet, Type: ir.NoChannel}, {Kind: ir.ChSignal, Type: ir.MemoryChannel, Channels: ch},
				{Kind: ir.ChAwait, Type: ir.MemoryChannel, Channels: ch}})
		}
	}
	return p
}

// TestLargePlans: plans of 128 ranks are written in far less than the seconds that MSCCL++'s language takes; times are
// logged.
func TestLargePlans(t *testing.T) {
	p := allToAll(128)
	start := time.Now()
	f, err := PlanOf(p)
	if err != nil {
		t.Fatal(err)
	}
	text := written(t, f)
	took := time.Since(start)
	start = time.Now()
	_, q, err := Read("x.json", bytes.NewReader(text), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ranks, %d bytes: written in %v, read in %v", len(p.Ranks), len(text), took, time.Since(start))
	if shown(t, p) != shown(t, q) {
		t.Error("another program is read")
	}
	if found := Faults(q); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if took > 10*time.Second {
		t.Errorf("written in %v", took)
	}
}

// TestChannelsText compares the text form of every.json's meaning with its golden file.
func TestChannelsText(t *testing.T) {
	_, _, p := readPlanFile(t, filepath.Join("testdata", "every.json"))
	text := shown(t, p)
	golden := filepath.Join("testdata", "every.txt")
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Error(diff)
	}
}
