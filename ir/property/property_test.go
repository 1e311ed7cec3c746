package property

import (
	"math/rand"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
)

const allProperties = Property(1<<NumProperties - 1)

func TestRingHasAllProperties(t *testing.T) {
	for n := 2; n < 9; n++ {
		d := irtest.RingInsts(n)
		d.Shuffle(rand.New(rand.NewSource(1)))
		if err := Check(d, allProperties, Options{}); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

func TestTwoRanksHasAllProperties(t *testing.T) {
	d := irtest.Insts(t, irtest.TwoRanks)
	for seed := range int64(5) {
		if err := Check(d, allProperties, Options{Slots: 1}); err != nil {
			t.Fatal(err)
		}
		d.Shuffle(rand.New(rand.NewSource(seed)))
	}
}

// Each checker finds what breaks its property, and says so.
func TestCheckersFindFaults(t *testing.T) {
	for _, x := range []struct {
		name     string
		property Property
		edit     []string // pairs: old, new
		want     string
	}{
		{"form: rank", Matched, []string{"i4 rank 0", "i4 rank 7"}, "out-of-bounds: i4 is of rank 7 of 2"},
		{"form: bounds", Matched, []string{"i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[1]"}, "scratch[1]*1 as its destination, and scratch has 1"},
		{"form: negative", Matched, []string{"i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[-1]"}, "out-of-bounds"},
		{"form: count", Matched, []string{"re scratch[0] => input[0] ch 0 block 1", "re scratch[0] => input[0]*0 ch 0 block 1"}, "moves 0 chunks"},
		{"form: buffer", Matched, []string{"i2 rank 1 s input[0]", "i2 rank 1 s -[0]"}, "has no buffer as its source"},
		{"form: class", Matched, []string{"i0 rank 0 s input[0]", "i0 rank 0 s input[0] class 3"}, "begins at class 3 of 1"},
		{"form: seq", Matched, []string{"step 1\ni2", "step 1 seq 0\ni2"}, "1 instructions share their places"},
		{"form: sparse seq", Matched, []string{"step 1\ni2", "step 1 seq 90000\ni2", "step 0\ni3", "step 0 seq 90000\ni3"}, "have the same place 90000"},
		{"form: nop", Matched, []string{"re scratch[0] => input[0] ch 0 block 1", "nop ch 0 block 1"}, "operation 0, which no instruction has"},
		{"form: no mate", Matched, []string{"input[0] -> i1", "input[0] -> 1"}, "i0 (rank 0 s) has no mate"},
		{"form: foreign mate", Matched, []string{"i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[0] <- i2"}, "whose own is another"},
		{"form: mate's count", Matched, []string{"i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[0]*2", "scratch 1", "scratch 2"}, "moves 1 chunks, and its mate i1 (rank 1 r) moves 2"},
		{"form: mate of a copy", Matched, []string{"re scratch[0] => input[0] ch 0 block 1", "re scratch[0] => input[0] -> 1 (i0) ch 0 block 1"}, "for a transfer that it does not make"},

		{"matched: peer", Matched, []string{"i0 rank 0 s input[0] -> i1", "i0 rank 0 s input[0] -> 0 (i1)"}, "sends to rank 0, and its mate is i1"},
		{"matched: receiver's peer", Matched, []string{"i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[0] <- 1 (i0)"}, "receives from rank 1, and its mate is i0"},
		{"matched: idle peer", Matched, []string{"re scratch[0] => input[0] ch 0 block 1", "re scratch[0] => input[0] -> 1 ch 0 block 1"}, "sends nothing, and has a peer"},
		{"matched: idle receive peer", Matched, []string{"re scratch[0] => input[0] ch 0 block 1", "re scratch[0] => input[0] <- 1 ch 0 block 1"}, "receives nothing, and has a peer"},
		{"matched: channel", Matched, []string{"r scratch[0] ch 0 block 2 step 1", "r scratch[0] ch 3 block 2 step 1"}, "sends on channel 0, and i1 (rank 1 r) receives on channel 3"},
		{"matched: class", Matched, []string{"chunks=1", "chunks=2", "i1 rank 1 r scratch[0]", "i1 rank 1 r scratch[0] class 1"}, "uneven: not matched: i0 (rank 0 s) sends chunks of classes from 0 on"},

		{"acyclic: cycle", Acyclic, []string{"step 0\ni1", "step 0 deps i1\ni1"}, "waits for itself"},
		{"acyclic: read after write", Acyclic, []string{"deps i0,i3", "deps i0"}, "race: not acyclic: i4 (rank 0 re) reads what i3 (rank 0 r) wrote"},
		{"acyclic: write after read", Acyclic, []string{"deps i0,i3", "deps i3"}, "i4 (rank 0 re) overwrites what i0 (rank 0 s) reads"},
		{"acyclic: write after write", Acyclic, []string{"i4 rank 0 re scratch[0] => input[0]", "i4 rank 0 cpy input[0] => scratch[0]", "deps i0,i3", "deps i0"}, "i4 (rank 0 cpy) overwrites what i3 (rank 0 r) wrote"},
		{"acyclic: another rank", Acyclic, []string{"deps i1,i2", "deps i0,i1,i2"}, "depends on i0 (rank 0 s), of another rank"},

		{"placed: none", Placed, []string{"block 1 step 0 deps", "deps"}, "is in block -1 of 4"},
		{"placed: beyond", Placed, []string{"block 1 step 0 deps", "block 4 step 0 deps"}, "is in block 4 of 4"},
		{"placed: rank", Placed, []string{"ch 0 block 1 step 0", "ch 0 block 3 step 1"}, "is in block 3, of rank 1"},
		{"placed: send peer", Placed, []string{"block 0 rank 0 send 1", "block 0 rank 0"}, "sends to rank 1, and its block 0 to rank -1"},
		{"placed: receive peer", Placed, []string{"send 1 recv 1", "send 1"}, "receives from rank 1, and its block 0 from rank -1"},
		{"placed: channel", Placed, []string{"block 1 rank 0 ch 0", "block 1 rank 0 ch 2"}, "is on channel 0, and its block 1 on channel 2"},
		{"placed: no channel", Placed, []string{"i4 rank 0 re scratch[0] => input[0] ch 0", "i4 rank 0 re scratch[0] => input[0]"}, "is on channel -1"},
		{"placed: two at one end", Placed, []string{"block 1 rank 0 ch 0", "block 1 rank 0 send 1 ch 0"}, "blocks 0 and 1 of rank 0 both send to rank 1 on channel 0"},
		{"placed: two at the other end", Placed, []string{"block 3 rank 1 ch 0", "block 3 rank 1 recv 0 ch 0"}, "both receive from rank 0 on channel 0"},
		{"placed: own rank", Placed, []string{"block 1 rank 0 ch 0", "block 1 rank 0 send 0 ch 0"}, "has the peer 0"},
		{"placed: unsorted", Placed, []string{"block 1 rank 0 ch 0", "block 1 rank 1 ch 0", "block 2 rank 1", "block 2 rank 0"}, "not among the blocks of 2 ranks in their order"},

		{"ordered: none", Ordered, []string{"block 1 step 0", "block 1"}, "has step -1 of block 1, where step 0 should be"},
		{"ordered: gap", Ordered, []string{"block 1 step 0", "block 1 step 1"}, "has step 1 of block 1, where step 0 should be"},
		{"ordered: twice", Ordered, []string{"block 0 step 1", "block 0 step 0"}, "has step 0 of block 0, where step 1 should be"},
		{"ordered: against a dependence", Ordered, []string{"i3 rank 0 r scratch[0] ch 0 block 0 step 1", "i3 rank 0 r scratch[0] ch 0 block 0 step 1 deps i6", "waits i1\n", "waits i1\ni6 rank 0 re input[0] => input[0] ch 0 block 0 step 2\n"}, "is step 1, and depends on i6 (rank 0 re) of the same block, step 2"},
		{"ordered: receives first", Ordered, []string{"-> i1 ch 0 block 0 step 0", "-> i1 ch 0 block 0 step 1", "block 0 step 1\ni4", "block 0 step 0\ni4", "block 2 step 1", "block 2 step 9", "block 2 step 0", "block 2 step 1", "block 2 step 9", "block 2 step 0"}, "i1 (rank 1 r) waits for the message of i0 (rank 0 s), whose block stands at i3 (rank 0 r)"},

		{"synced: no flag", Synced, []string{" waits i3", ""}, "i4 (rank 0 re) depends on i0 (rank 0 s), and no flag makes it wait"},
		{"synced: too early a flag", Synced, []string{" waits i3", " waits i0"}, "i4 (rank 0 re) depends on i3 (rank 0 r), and no flag"},
		{"synced: another rank's flag", Synced, []string{" waits i3", " waits i3,i1"}, "which is not in another block of its rank"},
		{"synced: flags in a cycle", Synced, []string{"ch 0 block 0 step 0", "ch 0 block 0 step 0 waits i4"}, "waits for itself, by way of 2 waits"},

		{"meaning: result", Meaning, []string{"re scratch[0] => input[0] ch 0 block 3", "cpy scratch[0] => input[0] ch 0 block 3"}, "wrong-result: not meaning: output[0] of rank 1 must hold the sum of in[r][0] of ranks 0-1, but holds in[0][0], lacks in[1][0]"},
		{"meaning: nothing there", Meaning, []string{"i0 rank 0 s input[0]", "i0 rank 0 s scratch[0]"}, "uninitialized: not meaning: i0 (rank 0 s) reads rank 0 scratch[0] before anything writes it"},
		{"meaning: received before it is sent", Meaning, []string{"-> i1 ch 0", "-> i1 seq 20 ch 0"}, "i1 (rank 1 r) receives from i0 (rank 0 s), which comes after it"},
		{"meaning: class", Meaning, []string{"chunks=1", "chunks=2", "scratch 1", "scratch 2", "i5 rank 1 re scratch[0]", "i5 rank 1 re scratch[0] => input[1] class 1"}, "uneven: not meaning: i5"},
	} {
		text := irtest.TwoRanks
		for i := 0; i < len(x.edit); i += 2 {
			if !strings.Contains(text, x.edit[i]) {
				t.Fatalf("%s: no %q to edit", x.name, x.edit[i])
			}
			text = strings.Replace(text, x.edit[i], x.edit[i+1], 1)
		}
		text = strings.Replace(text, "class 1 => input[0]", "class 1", 1)
		err := Check(irtest.Insts(t, text), x.property, Options{Slots: 1})
		list, _ := err.(diag.List)
		if !strings.Contains(irtest.Text(list), x.want) {
			t.Errorf("%s: %s\nwant %s", x.name, irtest.Text(list), x.want)
		}
	}
}

func TestCheckFIFO(t *testing.T) {
	text := `insts order
collective sendrecv ranks=2 chunks=2 peer=1,0
block 0 rank 0 send 1 ch 0
block 1 rank 0 recv 1 ch 0
block 2 rank 1 recv 0 ch 0
block 3 rank 1 send 0 ch 0
i0 rank 0 s input[0] -> i1 ch 0 block 0 step 0
i1 rank 1 r output[0] ch 0 block 2 step 1
i2 rank 0 s input[1] -> i3 ch 0 block 0 step 1
i3 rank 1 r output[1] ch 0 block 2 step 0
i4 rank 1 s input[0]*2 -> i5 ch 0 block 3 step 0
i5 rank 0 r output[0]*2 ch 0 block 1 step 0
`
	err := Check(irtest.Insts(t, text), Matched, Options{})
	if err == nil || !strings.Contains(err.Error(), "i2 (rank 0 s) is sent before") &&
		!strings.Contains(err.Error(), "i0 (rank 0 s) is sent before i2 (rank 0 s) and received after it") {
		t.Error(err)
	}
}

// Three messages before the first is received need three slots, and a count of
// three is three messages, unless a message holds more.
func TestLiveCountsSlotsAndMessages(t *testing.T) {
	const text = `insts slots
collective sendrecv ranks=2 chunks=3 peer=1,0
block 0 rank 0 send 1 recv 1 ch 0
block 1 rank 1 send 0 recv 0 ch 0
i0 rank 0 s input[0]*3 -> i1 ch 0 block 0 step 0
i1 rank 1 r output[0]*3 ch 0 block 1 step 1
i2 rank 1 s input[0]*3 -> i3 ch 0 block 1 step 0
i3 rank 0 r output[0]*3 ch 0 block 0 step 1
`
	d := irtest.Insts(t, text)
	for _, x := range []struct {
		slots, chunks int
		live          bool
	}{{1, 1, false}, {2, 1, false}, {3, 1, true}, {2, 2, true}, {1, 2, false}, {1, 3, true}, {0, 1, false}, {0, 2, true}} {
		err := Check(d, Live, Options{Slots: x.slots, MessageCount: x.chunks})
		if (err == nil) != x.live {
			t.Errorf("%d slots, %d chunks a message: %v", x.slots, x.chunks, err)
		}
		if err != nil && !strings.Contains(irtest.Text(err.(diag.List)), "waits for a free slot, from") {
			t.Error(irtest.Text(err.(diag.List)))
		}
	}
}

func TestBounded(t *testing.T) {
	d := irtest.Insts(t, irtest.TwoRanks)
	one := ir.Limits{Target: "tiny", ReceiveFused: true}
	for _, x := range []struct {
		limit func(*ir.Limits)
		want  string
	}{
		{func(l *ir.Limits) { l.Steps = 1 }, "steps of a block, with nops: 2, and tiny allows 1"},
		{func(l *ir.Limits) { l.Blocks = 1 }, "thread blocks of a rank: 2, and tiny allows 1"},
		{func(l *ir.Limits) { l.DepBlock = 0 }, ""},
	} {
		l := one
		x.limit(&l)
		err := Check(d, Bounded, Options{Limits: l})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
	d = irtest.Insts(t, strings.ReplaceAll(strings.ReplaceAll(irtest.TwoRanks, "ch 0", "ch 1"), "waits i3", "waits i3,i0"))
	d.Blocks[1].SendPeer, d.Blocks[1].Channel = 1, 1
	for i := range d.Insts {
		d.Insts[i].Count = 2
		d.Insts[i].Src = 5
	}
	wants := []string{"channels: 2", "peers of a rank on a channel, one way: 2", "chunks that a step moves: 2",
		"index of a chunk: 5", "rrc) is a fused receive"}
	d.Insts[1].Op = ir.RecvReduceCopy
	got := irtest.Text(checkBounded(d,
		&Options{Limits: ir.Limits{Target: "tiny", Channels: 1, Peers: 1, Count: 1, Index: 4}}))
	for _, w := range wants {
		if !strings.Contains(got, w) {
			t.Errorf("%s\nlacks %s", got, w)
		}
	}
	if !strings.Contains(irtest.Text(checkBounded(d, &Options{Limits: ir.Limits{Target: "tiny", Steps: 1}})),
		"steps of a block, with nops: 2") {
		t.Error("a nop is no step")
	}
	d.Insts[0].Block = 0
	d.Waits = ir.Edges{Start: []int32{0, 1, 1, 1, 1, 1, 1}, To: []int32{4}}
	if got := irtest.Text(checkBounded(d,
		&Options{Limits: ir.Limits{Target: "tiny", DepBlock: 1, ReceiveFused: true}})); got != "" {
		t.Errorf("block 1 is not beyond 1: %s", got)
	}
}

func BenchmarkCheck(b *testing.B) {
	d := irtest.RingInsts(256)
	d.Deps = ir.Edges{Start: make([]int32, len(d.Insts)+1)}
	rows, _ := blockRows(d)
	for i := range d.Insts {
		if in := &d.Insts[i]; in.Step > 0 {
			d.Deps.To = append(d.Deps.To, rows.Of(int(in.Block))[in.Step-1])
		}
		d.Deps.Start[i+1] = int32(len(d.Deps.To))
	}
	for p := range NumProperties {
		b.Run(Property(1<<p).String(), func(b *testing.B) {
			for range b.N {
				if err := Check(d, 1<<p, Options{}); err != nil && Property(1<<p) != Acyclic {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.Insts)), "ns/inst")
		})
	}
}
