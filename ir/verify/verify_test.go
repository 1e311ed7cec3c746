package verify_test

import (
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/verify"
)

func TestGood(t *testing.T) {
	r, list := verify.Check(irtest.Program(t, irtest.TwoRanksProgram), verify.Options{Slots: 1})
	if len(list) > 0 || !r.Ran || r.String() != "2 ranks, 1 channel, 4 blocks, 7 steps" {
		t.Errorf("%v %v", r, irtest.Text(list))
	}
}

// faults are edits of irtest.TwoRanksProgram, each of which breaks it.
var faults = []struct {
	name string
	edit []string // pairs: old, new
	want string
}{
	{"bounds", []string{"1 r scratch[0] hasdep", "1 r scratch[2] hasdep"}, "out-of-bounds: rank 0 block 0 step 1 (r) has scratch[2]*1 as its destination, and scratch has 2 chunks"},
	{"negative index", []string{"0 s input[0]", "0 s input[-1]"}, "out-of-bounds: rank 0 block 0 step 0 (s) has input[-1]*1 as its source"},
	{"count beyond", []string{"0 s input[0]", "0 s input[0]*2"}, "out-of-bounds"},
	{"no scratch", []string{"scratch 2\n", ""}, "out-of-bounds: rank 0 block 0 step 1 (r) has scratch[0]*1"},
	{"count 0", []string{"0 s input[0]", "0 s input[0]*0"}, "malformed: rank 0 block 0 step 0 (s) moves 0 chunks"},
	{"no buffer", []string{"0 s input[0]", "0 s -[0]"}, "malformed: rank 0 block 0 step 0 (s) has no buffer as its source"},
	{"class", []string{"0 s input[0]", "0 s input[0] class 1"}, "malformed: rank 0 block 0 step 0 (s) begins at class 1 of 1"},
	{"own peer", []string{"block 0.0 send 1", "block 0.0 send 0"}, "malformed: rank 0 block 0 sends to its own rank"},
	{"peer beyond", []string{"block 0.0 send 1 recv 1", "block 0.0 send 1 recv 2"}, "out-of-bounds: rank 0 block 0 receives from rank 2 of 2"},
	{"channel beyond", []string{"block 0.1 ch 0", "block 0.1 ch 1"}, "out-of-bounds: rank 0 block 1 is on channel 1 of 1"},
	{"no send peer", []string{"block 0.0 send 1 recv 1", "block 0.0 recv 1"}, "sends, and its block has no peer to send to"},
	{"no receive peer", []string{"block 0.0 send 1 recv 1", "block 0.0 send 1"}, "receives, and its block has no peer to receive from"},
	{"two blocks at an end", []string{"block 0.1 ch 0", "block 0.1 send 1 ch 0"}, "malformed: rank 0 block 1 sends to rank 1 on channel 0, as block 0 does"},
	{"no such block", []string{"dep 0.1\nblock 1.0", "dep 2.1\nblock 1.0"}, "out-of-bounds: rank 0 block 1 step 0 (re) waits for block 2, and its rank has 2"},
	{"no such step", []string{"dep 0.1\nblock 1.0", "dep 0.2\nblock 1.0"}, "out-of-bounds: rank 0 block 1 step 0 (re) waits for step 2 of block 0, which has 2"},
	{"step of no block", []string{"dep 0.1\nblock 1.0", "dep -1.1\nblock 1.0"}, "malformed: rank 0 block 1 step 0 (re) waits for step 1 of no block"},
	{"nop without a wait", []string{"0 nop dep 0.0", "0 nop"}, "malformed: rank 1 block 1 step 0 (nop) waits for nothing"},
	{"nop chain", []string{"1 re scratch[0] => input[0] dep 0.1", "1 re scratch[0] => input[0]"}, "malformed: rank 1 block 1 step 1 (re) stands after a nop and waits for nothing itself"},
	{"nop at the end", []string{"  1 re scratch[0] => input[0] dep 0.1\n", ""}, "malformed: rank 1 block 1 step 0 (nop) has no step after it"},
	{"overlap", []string{"chunks=1", "chunks=3", "re scratch[0] => input[0] dep 0.1\nblock", "re input[0] => input[1]*2 dep 0.1\nblock"}, "overlap: rank 0 block 1 step 0 (re) has a source and a destination that overlap in part"},
	{"overlap in one memory", []string{"chunks=1", "chunks=3", "re scratch[0] => input[0] dep 0.1\nblock", "re output[0] => input[1]*2 dep 0.1\nblock"}, "overlap: rank 0 block 1 step 0 (re) has a source and a destination that overlap in part"},
	{"chain that reads itself by another name", []string{"re scratch[0] => input[0] dep 0.1\nblock", "re output[0] => input[0] dep 0.1\n  1 re output[0] => input[0]\nblock"}, "overlap: rank 0 block 1 step 1 (re) reads chunks that the reductions before it"},
	{"chain of different counts", []string{"chunks=1", "chunks=2", "input[0] dep 0.1\nblock", "input[0]*2 dep 0.1\n  1 re scratch[0] => input[0]\nblock"}, "malformed: rank 0 block 1 step 1 (re) moves 1 chunks, and the reduction that it is fused with moves 2"},
	{"chain that reads itself", []string{"re scratch[0] => input[0] dep 0.1\nblock", "re input[0] => input[0] dep 0.1\n  1 re input[0] => input[0]\nblock"}, "overlap: rank 0 block 1 step 1 (re) reads chunks that the reductions before it"},

	{"no hasdep", []string{"1 r scratch[0] hasdep\nblock 0.1", "1 r scratch[0]\nblock 0.1"}, "deadlock: rank 0 block 1 step 0 (re) waits for step 1 of block 0, and no step of it from there on says that it ended (hasdep)"},
	{"waits for itself", []string{"0 s input[0]\n", "0 s input[0] dep 1.0\n", "re scratch[0] => input[0] dep 0.1\nblock", "re scratch[0] => input[0] dep 0.1 hasdep\nblock"}, "deadlock: rank 0 block 0 step 0 (s) waits for itself through 2 waits; rank 0 block 0 step 0 (s) waits for a flag, which rank 0 block 1 step 0 (re) would raise"},
	{"receives first", []string{"0 s input[0]\n  1 r scratch[0] hasdep", "0 r scratch[0]\n  1 s input[0] hasdep", "0 s input[0] hasdep\n  1 r scratch[0] hasdep", "0 r scratch[0] hasdep\n  1 s input[0] hasdep"}, "rank 0 block 0 step 0 (r) waits for a message, which rank 1 block 0 step 1 (s) would send; that block is still at step 0 (r)"},

	{"send without receive", []string{"1 r scratch[0] hasdep\nblock 1.1", "1 cpy input[0] => scratch[0] hasdep\nblock 1.1"}, "unmatched: rank 0 block 0 step 0 (s) sends to rank 1 on channel 0, which receives no such message"},
	{"receive without send", []string{"0 s input[0]\n", "0 cpy input[0] => scratch[1]\n"}, "unmatched: rank 1 block 0 step 1 (r) receives from rank 0 on channel 0, which sends no such message"},
	{"counts differ", []string{"1 r scratch[0] hasdep\nblock 1.1", "1 r scratch[0]*2 hasdep\nblock 1.1"}, "unmatched: rank 0 block 0 step 0 (s) sends 1 chunks, and rank 1 block 0 step 1 (r), which receives them, expects 2; they are received here"},
	{"channels differ", []string{"block 0.1", "channels 2\nblock 0.1", "block 1.0 send 0 recv 0 ch 0", "block 1.0 send 0 recv 0 ch 1"}, "unmatched: rank 0 block 0 step 0 (s) sends to rank 1 on channel 0"},

	{"race with a read", []string{"0 nop dep 0.0", "0 nop dep 0.1", "1 re scratch[0] => input[0] dep 0.1", "1 re scratch[0] => input[0] dep 0.1", "0 s input[0] hasdep\n  1 r scratch[0] hasdep", "0 r scratch[0] hasdep\n  1 s input[0] hasdep"}, ""},
	{"race", []string{"  0 re scratch[0] => input[0] dep 0.1\nblock 1.0", "  0 re scratch[0] => input[0]\nblock 1.0"}, "race: rank 0 block 1 step 0 (re) "},
	{"race of writes", []string{"block 1.0", "  1 cpy scratch[0] => scratch[1]\nblock 0.2 ch 0\n  0 cpy input[0] => scratch[1] dep 0.1\nblock 1.0"}, "and nothing orders it after"},

	{"twice", []string{"input[0] dep 0.1\nblock 1.0", "input[0] dep 0.1\n  1 re scratch[0] => input[0]\nblock 1.0"}, "wrong-result: output[0] of rank 0 must hold the sum of in[r][0] of ranks 0-1, but holds in[1][0] twice; rank 0 block 1 step 1 (re) wrote it last"},
	{"not at all", []string{"re scratch[0] => input[0] dep 0.1\nblock", "cpy input[0] => scratch[1] dep 0.1\nblock"}, "wrong-result: output[0] of rank 0 must hold the sum of in[r][0] of ranks 0-1, but holds in[0][0], lacks in[1][0]; nothing writes it"},
	{"uneven", []string{"chunks=1", "chunks=2", "1 r scratch[0] hasdep\nblock 0.1", "1 r scratch[0] hasdep class 1\nblock 0.1"}, "uneven: rank 0 block 0 step 1 (r) receives chunks of classes from 1 on, and rank 1 block 0 step 0 (s) sends them as classes from 0 on"},
	{"uneven scratch", []string{"chunks=1", "chunks=2", "re scratch[0] => input[0] dep 0.1\nblock", "re scratch[0] => input[1] dep 0.1\nblock"}, "uneven: rank 0 block 1 step 0 (re) moves chunks of classes from 1 on, and scratch[0] is of another"},
	{"uninitialized", []string{"re scratch[0] => input[0] dep 0.1\nblock", "re scratch[1] => input[0] dep 0.1\nblock"}, "uninitialized: rank 0 block 1 step 0 (re) reads scratch[1] before anything writes it\nwrong-result: output[0] of rank 0 must hold the sum of in[r][0] of ranks 0-1, but holds what was made of chunks that nothing has written"},
}

// withFault is irtest.TwoRanksProgram with a fault.
func withFault(t *testing.T, name string, edit []string) *either.Program {
	t.Helper()
	text := irtest.TwoRanksProgram
	for i := 0; i < len(edit); i += 2 {
		if !strings.Contains(text, edit[i]) {
			t.Fatalf("%s: no %q to edit", name, edit[i])
		}
		text = strings.Replace(text, edit[i], edit[i+1], 1)
	}
	return irtest.Program(t, moveHeader(text))
}

// Each fault that the verifier knows is found, and named.
func TestFaults(t *testing.T) {
	for _, x := range faults {
		_, list := verify.Check(withFault(t, x.name, x.edit), verify.Options{})
		if got := irtest.Text(list); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%s: %s\nwant %s", x.name, got, x.want)
		}
	}
}

// moveHeader puts a line about channels, which an edit has put among the
// blocks, where it may stand.
func moveHeader(text string) string {
	if !strings.Contains(text, "channels 2\n") {
		return text
	}
	return strings.Replace(strings.Replace(text, "channels 2\n", "", 1), "scratch 2\n", "scratch 2\nchannels 2\n", 1)
}

// A program that ends only as long as counts do not split says up to which
// size; one that never ends says so, too.
func TestDeadlockNamesItsThreshold(t *testing.T) {
	const exchange = `program exchange
collective sendrecv ranks=2 chunks=6 peer=1,0
%s
block 0.0 send 1 recv 1 ch 0
  0 s input[0]*6
  1 r output[0]*6
block 1.0 send 0 recv 0 ch 0
  0 s input[0]*6
  1 r output[0]*6
`
	for _, x := range []struct {
		header string
		opt    verify.Options
		want   string
	}{
		{"sizes 0..1048576", verify.Options{}, ""}, // 12 MiB at 2 slots of 2 MiB, 3 chunks in each
		{"sizes 0..0", verify.Options{}, "with 2 slots a connection, above 4 MiB"},
		{"sizes 0..0", verify.Options{SlotBytes: 3 << 20}, "waits for itself through 2 waits, with 2 slots a connection, above 6 MiB, where counts split into more messages"},
		{"sizes 0..6291457", verify.Options{SlotBytes: 3 << 20}, ""},
		{"sizes 0..6300000", verify.Options{SlotBytes: 3 << 20}, "above 6 MiB"},
		{"sizes 0..0", verify.Options{MessageChunks: 2}, "with 2 slots a connection and 2 chunks a message"},
		{"sizes 0..0", verify.Options{MessageChunks: 3}, ""},
		{"sizes 0..0", verify.Options{Slots: 6}, ""},
		{"protocol LL", verify.Options{}, ""},
	} {
		_, list := verify.Check(irtest.Program(t, strings.Replace(exchange, "%s", x.header, 1)), x.opt)
		if got := irtest.Text(list); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%s: %s, want %s", x.header, got, x.want)
		}
	}
	many := "program many\ncollective sendrecv ranks=2 chunks=3 peer=1,0\n"
	for r, peer := range []string{"1", "0"} {
		many += "block " + string(rune('0'+r)) + ".0 send " + peer + " recv " + peer + " ch 0\n" +
			"  0 s input[0]\n  1 s input[1]\n  2 s input[2]\n  3 r output[0]\n  4 r output[1]\n  5 r output[2]\n"
	}
	_, list := verify.Check(irtest.Program(t, many), verify.Options{})
	if got := irtest.Text(list); !strings.Contains(got, "2 slots a connection, at every size") ||
		!strings.Contains(got, "waits for a free slot, which") {
		t.Error(got)
	}
}

// No number in a program is trusted.
func TestTablesAreNotTrusted(t *testing.T) {
	for name, edit := range map[string]func(p *either.Program){
		"no collective":     func(p *either.Program) { p.Coll = nil },
		"no ranks":          func(p *either.Program) { p.Coll.Ranks = 0 },
		"ranks":             func(p *either.Program) { p.Coll.Ranks = 3 },
		"many ranks":        func(p *either.Program) { p.Coll.Ranks = 1 << 40 },
		"many chunks":       func(p *either.Program) { p.Coll.Chunks = 1 << 40 },
		"root":              func(p *either.Program) { p.Coll.Kind, p.Coll.Root = ir.Broadcast, -1 },
		"kind":              func(p *either.Program) { p.Coll.Kind = 77 },
		"peers":             func(p *either.Program) { p.Coll.Kind, p.Coll.Peer = ir.SendRecv, []int32{0, 5} },
		"per rank":          func(p *either.Program) { p.Coll.Kind, p.Coll.PerRank = ir.Opaque, [][2]int32{{1, -1}, {1, 1}} },
		"requirement":       func(p *either.Program) { p.Coll.Require = map[ir.Part][]ir.Part{{Rank: 9}: {{}}} },
		"protocol":          func(p *either.Program) { p.Protocol = 9 },
		"rank range":        func(p *either.Program) { p.Rank[1].First = 1 },
		"rank range end":    func(p *either.Program) { p.Rank[1].End = 99 },
		"rank lacks blocks": func(p *either.Program) { p.Rank[1].End-- },
		"block's rank":      func(p *either.Program) { p.Blocks[0].Rank = 1 },
		"steps":             func(p *either.Program) { p.Blocks[2].Steps.End = 99 },
		"steps lost":        func(p *either.Program) { p.Steps = append(p.Steps, ir.Step{}) },
		"scratch":           func(p *either.Program) { p.Scratch = p.Scratch[:1] },
		"negative scratch":  func(p *either.Program) { p.Scratch[1] = -5 },
		"huge scratch":      func(p *either.Program) { p.Scratch[0], p.Scratch[1] = 1<<30, 1<<30 },
		"operation":         func(p *either.Program) { p.Steps[0].Op = 99 },
		"flags":             func(p *either.Program) { p.Steps[0].Flags = 99 },
		"count":             func(p *either.Program) { p.Steps[0].Count = 1<<31 - 1 },
		"all counts":        func(p *either.Program) { p.Steps[0].Count = 1 << 28 },
		"source":            func(p *either.Program) { p.Steps[0].Src = 1<<31 - 1 },
		"channel":           func(p *either.Program) { p.Blocks[0].Channel = -1 },
		"dep":               func(p *either.Program) { p.Steps[0].DepBlock = -2 },
		"dep step":          func(p *either.Program) { p.Steps[2].DepStep = -1 },
		"buffer":            func(p *either.Program) { p.Steps[0].SrcBuf = 7 },
	} {
		p := irtest.Program(t, irtest.TwoRanksProgram)
		edit(p)
		r, list := verify.Check(p, verify.Options{})
		if len(list) == 0 || r.Ran {
			t.Errorf("%s: found nothing", name)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(irtest.TwoRanksProgram))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := parse.Program("f", src)
		if err != nil || p.Coll.Ranks > 1000 {
			return
		}
		_, list := verify.Check(p, verify.Options{Cells: 1 << 16, Moves: 1 << 16})
		if len(list) == 0 { // what is good can be classified, and stays good
			if err := eval.Classify(p.Fifo); err != nil {
				t.Fatal(err)
			}
			_ = eval.MarkFinal(p)
			if _, list := verify.Check(p, verify.Options{Cells: 1 << 16, Moves: 1 << 16}); len(list) > 0 {
				t.Fatal(list)
			}
		}
	})
}

// Flags that say where avg divides are judged, too, where there are any.
func TestFinal(t *testing.T) {
	p := irtest.Program(t, irtest.TwoRanksProgram)
	if err := eval.MarkFinal(p); err != nil {
		t.Fatal(err)
	}
	if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
		t.Fatal(irtest.Text(list))
	}
	for i, want := range []string{
		"final: rank 0 block 0 step 0 (s) is marked final, and makes no sum that is complete",
		"final: rank 0 block 0 step 1 (r) is marked final, and makes no sum that is complete",
		"final: rank 0 block 1 step 0 (re) makes a complete sum, and is not marked final as others are",
	} {
		p.Steps[i].Flags ^= ir.Final
		if _, list := verify.Check(p, verify.Options{}); irtest.Text(list) != want {
			t.Errorf("%s\nwant %s", irtest.Text(list), want)
		}
		p.Steps[i].Flags ^= ir.Final
	}
}
