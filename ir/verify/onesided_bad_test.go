package verify_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/ir/verify/onesided"
)

func textOf(t testing.TB, p *either.Program) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.WriteProgram(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// edited is p with the first of each pair of texts replaced by the second.
func edited(t testing.TB, p *either.Program, pairs []string) *either.Program {
	t.Helper()
	text := textOf(t, p)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return irtest.Program(t, text)
}

// oneSidedFaults are edits of good programs that break them.
var oneSidedFaults = []struct {
	name string
	of   *either.Program
	edit []string // pairs: old, new
	want string   // begins a problem, with its notes
}{
	// Form.
	{"rank beyond", irtest.AllPairsPlain(2, 2), []string{"-> 1:scratch[0]", "-> 2:scratch[0]"}, "out-of-bounds: rank 0 block 0 step 0 (mv) has a destination on rank 2 of 2"},
	{"chunk beyond", irtest.AllPairsPlain(2, 2), []string{"-> 1:scratch[0]", "-> 1:scratch[2]"}, "out-of-bounds: rank 0 block 0 step 0 (mv) has scratch[2]*1 of rank 1 as its destination, and that has 2"},
	{"flag beyond", irtest.AllPairsPlain(2, 2), []string{"signal 1:flags[4]", "signal 1:flags[8]"}, "out-of-bounds: rank 0 block 0 step 1 (signal) has flags[8]"},
	{"packets beyond", irtest.AllPairsPackets(2, 2), []string{"1:packets[2]", "1:packets[4]"}, "out-of-bounds"},
	{"too many copies", irtest.Chain(3, 2), []string{"depth 2", "depth 100000"}, "limit: there are 100000 copies"},
	{"packets of no protocol", irtest.Chain(3, 2), []string{"protocol LL128\n", ""}, "malformed: rank 0 has 1 chunks of packets, and Simple has no packets"},
	{"joint first", irtest.AllPairsPackets(2, 2), []string{"-> 1:packets[0]", "-> 1:packets[0] joint"}, "malformed: rank 0 block 0 step 0 (mv) is joint, and no step stands before it"},
	{"joint with what runs in other passes", irtest.GatherPush(2), []string{"1:output[0]\n", "1:output[0] joint\n"}, "malformed: rank 0 block 0 step 2 (mv) is joint with a step that runs in other passes"},
	{"a move that is joint with an await", irtest.AllPairsPlain(2, 2), []string{"output[0] 1:output[0]", "output[0] 1:output[0] joint"}, "race: rank 0 block 0 step 5 (mv) reads scratch[1] of rank 0, and nothing orders it after rank 1 block 0 step 0 (mv), which writes it"},
	{"a signal that is joint with a move", irtest.AllPairsPlain(2, 2), []string{"1:flags[4] enter\n  2 signal 1:flags[0]\n", "1:flags[0] joint\n  2 signal 1:flags[4] enter\n"}, "race: rank 1 block 0 step 5 (mv) reads scratch[0] of rank 1, and nothing orders it after rank 0 block 0 step 0 (mv), which writes it"},
	{"relaxed move", irtest.GatherPush(2), []string{"1:output[0]\n", "1:output[0] relaxed\n"}, "malformed: rank 0 block 0 step 2 (mv) moves data, and is marked relaxed"},
	{"final signal", irtest.GatherPush(2), []string{"1:flags[0] enter", "1:flags[0] enter final"}, "malformed: rank 0 block 0 step 0 (signal) moves nothing, and is marked final"},
	{"relaxed end", irtest.GatherPush(2), []string{"1:flags[2] leave", "1:flags[2] leave relaxed"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may have ended; rank 1 knows by relaxed signals that this is written"},
	{"relaxed await of an end", irtest.GatherPush(2), []string{"flags[2] x1 leave", "flags[2] x1 leave relaxed"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may have ended; rank 1 knows by relaxed signals"},
	{"enter move", irtest.GatherPush(2), []string{"1:output[0]", "1:output[0] enter"}, "malformed: rank 0 block 0 step 2 (mv) moves data, which is part of every pass"},
	{"enter and leave", irtest.GatherPush(2), []string{"1:flags[0] enter", "1:flags[0] enter leave"}, "malformed: rank 0 block 0 step 0 (signal) is marked enter and leave"},
	{"await of another's flag", irtest.GatherPush(2), []string{"wait flags[1] x1 enter", "wait 1:flags[1] x1 enter"}, "malformed: rank 0 block 0 step 1 (wait) has flags of rank 1 as its source"},
	{"packets of another", irtest.Chain(3, 2), []string{"mv packets[0] -> output[0]\n", "mv 1:packets[0] -> output[0]\n"}, "malformed: rank 2 block 0 step 0 (mv) has packets of rank 1 as its source"},
	{"data in flags", irtest.GatherPush(2), []string{"1:output[0]", "1:flags[0]"}, "malformed: rank 0 block 0 step 2 (mv) has flags as its destination"},
	{"flags in data", irtest.GatherPush(2), []string{"signal 1:flags[0]", "signal 1:output[0]"}, "malformed: rank 0 block 0 step 0 (signal) has output as its destination"},
	{"packets of all", irtest.Chain(3, 2), []string{"1:packets[0]", "all:packets[0]"}, "malformed: rank 0 block 0 step 1 (mv) has packets of all ranks as its destination"},
	{"switch for one", irtest.GatherPush(2), []string{"1:output[0]", "1:output[0]@switch"}, "malformed: rank 0 block 0 step 2 (mv) has a destination by way of switch"},
	{"count 0", irtest.GatherPush(2), []string{"mv input[0] -> output[0] 1:output[0]", "mv input[0] -> output[0]*0 1:output[0]*0"}, "malformed: rank 0 block 0 step 2 (mv) moves 0 chunks"},
	{"dependence", irtest.GatherPush(2), []string{"1:output[0]", "1:output[0] dep 0.0"}, "malformed: rank 0 block 0 step 2 (mv) has the operands or the wait of a two-sided step"},
	{"class", irtest.GatherPush(2), []string{"1:output[0]", "1:output[0] class 1"}, "malformed: rank 0 block 0 step 2 (mv) begins at class 1 of 1"},
	{"a flag twice", irtest.GatherPush(2), []string{"signal 1:flags[0]", "signal 1:flags[0] 1:flags[0]"}, "overlap: rank 0 block 0 step 0 (signal) has two destinations, or flags, that overlap"},
	{"one destination twice", irtest.GatherPush(2), []string{"1:output[0]", "1:output[0] 1:output[0]"}, "overlap: rank 0 block 0 step 2 (mv) has two destinations"},
	{"overlap in part", irtest.RingPlain(3, 2), []string{"mv input[0] -> 1:scratch[0]", "mv scratch[4] -> scratch[5]*2"}, "out-of-bounds"},
	{"overlap with a source in part", irtest.RingPlain(4, 2), []string{"mv input[0] -> 1:scratch[0]", "mv scratch[1] -> scratch[2]*2"}, "overlap: rank 0 block 0 step 0 (mv) has a source and a destination that overlap in part"},

	// Matching.
	{"packets from two", irtest.AllPairsPackets(2, 2), []string{"1:packets[2]", "1:packets[0]"}, "malformed: rank 0 block 0 step 1 (mv) writes a chunk of packets that rank 0 block 0 step 0 (mv) writes; it is written here"},
	{"packets that nothing sends", irtest.AllPairsPackets(2, 2), []string{"input[0] + packets[1] -> output[0] 1:packets[2]", "input[0] + packets[1] -> output[0]"}, "unmatched: rank 1 block 0 step 2 (mv) waits for packets[2], which nothing sends"},
	{"packets that nothing reads", irtest.AllPairsPackets(2, 2), []string{"mv packets[3] -> output[1]", "mv input[1] -> output[1]"}, "unmatched: rank 1 block 0 step 1 (mv) sends packets that their rank does not read in the pass"},
	{"packets read by two blocks", irtest.Chain(2, 2), []string{"block 1.0\n  0 mv packets[0] -> output[0]\n", "block 1.0\n  0 mv packets[0] -> output[0]\nblock 1.1\n  0 mv packets[0] -> output[0]\n", "\n  1 signal 0:flags[0]", "\n  1 signal 0:flags[0]"}, "malformed: rank 1 block 1 step 0 (mv) reads a chunk of packets that another block reads"},
	{"flag of two blocks", irtest.GatherPush(3), []string{"block 0.0\n  0 signal 1:flags[0] 2:flags[0] enter", "block 0.0\n  0 signal 1:flags[0] 2:flags[1] enter"}, "malformed: rank 1 block 0 step 0 (signal) signals flags[1] of rank 2, as another block does; rank 0 block 0 step 0"},
	{"flag that nothing signals", irtest.GatherPush(2), []string{"signal 1:flags[0] enter", "signal 1:flags[1] enter"}, "unmatched: rank 1 block 0 step 1 (wait) awaits flags[0] of rank 1, which nothing signals"},
	{"signal in each pass, await in each launch", irtest.GatherPush(2), []string{"signal 1:flags[0] enter", "signal 1:flags[0]"}, "malformed: rank 1 block 0 step 1 (wait) awaits flags[0] of rank 1 in each pass or in each launch, and other steps do not"},
	{"enter after leave", irtest.GatherPush(2), []string{"signal 1:flags[2] leave", "signal 1:flags[0] leave", "0 signal 1:flags[0] enter\n", "0 signal 1:flags[0] leave\n"}, "unmatched: rank 1 block 0 step 4 (wait) awaits flags[2]"},
	{"enter signal after leave", irtest.GatherPush(2), []string{"0 signal 1:flags[0] enter\n", "0 signal 1:flags[0] leave\n", "signal 1:flags[2] leave", "signal 1:flags[0] enter"}, "malformed: rank 0 block 0 step 3 (signal) signals flags[0] of rank 1 when a launch begins, and a step before it does when one ends"},
	{"enter awaits leave", irtest.GatherPush(2), []string{"signal 1:flags[0] enter", "signal 1:flags[0] leave"}, "malformed: rank 1 block 0 step 1 (wait) waits when a launch begins for signal 1 of flags[0], which comes when it ends"},

	// Liveness.
	{"signal that never comes", irtest.GatherPush(2), []string{"wait flags[1] x1 enter", "wait flags[1] x2 enter"}, "deadlock: rank 0 block 0 step 1 (wait) waits for signal 2 of flags[1] in each launch, which has 1"},
	{"everybody waits first", irtest.GatherPush(2), []string{
		"0 signal 1:flags[0] enter\n  1 wait flags[1] x1 enter", "0 wait flags[1] x1 enter\n  1 signal 1:flags[0] enter",
		"0 signal 0:flags[1] enter\n  1 wait flags[0] x1 enter", "0 wait flags[0] x1 enter\n  1 signal 0:flags[1] enter"},
		"deadlock: rank 0 block 0 step 0 (wait) waits for itself through 2 waits; rank 0 block 0 step 0 (wait) waits for a flag, which rank 1 block 0 step 1 (signal) would raise; that block is still at step 0 (wait); rank 1 block 0 step 0 (wait) waits for a flag, which rank 0 block 0 step 1 (signal) would raise; that block is still at step 0 (wait)"},
	{"packets in a circle", irtest.AllPairsPackets(2, 2), []string{
		"0 mv input[1] -> 1:packets[0]\n  1 mv input[0] + packets[1] -> output[0] 1:packets[2] joint",
		"0 mv input[0] + packets[1] -> output[0] 1:packets[2]\n  1 mv input[1] -> 1:packets[0]",
		"0 mv input[0] -> 0:packets[1]\n  1 mv input[1] + packets[0] -> output[1] 0:packets[3] joint", "0 mv input[1] + packets[0] -> output[1] 0:packets[3]\n  1 mv input[0] -> 0:packets[1]"},
		"deadlock: rank 0 block 0 step 0 (mv) waits for itself through 2 waits; rank 0 block 0 step 0 (mv) waits for packets, which rank 1 block 0 step 1 (mv) would send"},
	{"credit before it can come", irtest.Chain(3, 1), []string{"wait flags[0] x0", "wait flags[0] x1"}, "deadlock: rank 0 block 0 step 0 (wait) waits for itself through 2 waits"},

	// Races.
	{"no await", irtest.RingPlain(3, 2), []string{"block 0.0\n  0 mv input[0] -> 1:scratch[0]\n  1 signal 1:flags[0]\n  2 wait flags[0] x1\n  3 ", "block 0.0\n  0 mv input[0] -> 1:scratch[0]\n  1 signal 1:flags[0]\n  2 wait flags[0] x0\n  3 "}, "race: rank 2 block 0 step 0 (mv) writes scratch[0] of rank 0, and nothing orders it after rank 0 block 0 step 3 (mv), which reads it"},
	{"signal before the data", irtest.AllPairsPlain(2, 2), []string{"0 mv input[1] -> 1:scratch[0]\n  1 signal 1:flags[4] enter\n  2 signal 1:flags[0]", "0 signal 1:flags[4] enter\n  1 signal 1:flags[0]\n  2 mv input[1] -> 1:scratch[0]"},
		"race: rank 1 block 0 step 5 (mv) reads scratch[0] of rank 1, and nothing orders it after rank 0 block 0 step 2 (mv), which writes it"},
	{"no enter", irtest.GatherPush(2), []string{"wait flags[1] x1 enter", "wait flags[1] x0 enter"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may not have begun; no flag tells its block that the launch of rank 1 has begun"},
	{"no leave", irtest.GatherPush(2), []string{"wait flags[2] x1 leave", "wait flags[2] x0 leave"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may have ended; no flag tells rank 1, before its launch ends, that this is written"},
	{"leave before the data", irtest.GatherPush(2), []string{"2 mv input[0] -> output[0] 1:output[0]\n  3 signal 1:flags[2] leave", "2 signal 1:flags[2] leave\n  3 mv input[0] -> output[0] 1:output[0]"}, "race: rank 0 block 0 step 3 (mv) writes output[0] of rank 1 when that rank's launch may have ended"},
	{"begins known at the end only", irtest.GatherPush(2), []string{"1:flags[0] enter", "1:flags[0] leave", "x1 enter", "x1 leave", "0:flags[1] enter", "0:flags[1] leave", "x1 enter", "x1 leave"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may not have begun"},
	{"ends signalled at the beginning", irtest.GatherPush(2), []string{"1:flags[2] leave", "1:flags[2] enter", "x1 leave", "x1 enter", "0:flags[3] leave", "0:flags[3] enter", "x1 leave", "x1 enter"}, "race: rank 0 block 0 step 2 (mv) writes output[0] of rank 1 when that rank's launch may have ended"},
	{"one copy", irtest.OnePhase(3, 2), []string{"depth 2", "depth 1"}, "race: rank 0 block 0 step 0 (mv) writes packets[0] of rank 1, and nothing orders it after rank 1 block 0 step 1 (mv), which reads it 1 tile iteration before, in the same copy"},
	{"one copy of scratch", irtest.AllPairsPlain(3, 2), []string{"depth 2", "depth 1", "wait flags[4] x1 flags[5] x1\n", "wait flags[4] x0 flags[5] x0\n"}, "race: rank 0 block 0 step 0 (mv) writes scratch[0] of rank 1, and nothing orders it after rank 1 block 0 step 6 (mv), which reads it 1 tile iteration before, in the same copy"},
	{"no credit", irtest.Chain(3, 2), []string{"0 wait flags[0] x-1\n  1 mv input[0]", "0 mv input[0]"}, "race: rank 0 block 0 step 0 (mv) writes packets[0] of rank 1, and nothing orders it after rank 1 block 0 step 1 (mv), which reads it 2 tile iterations before, in the same copy"},
	{"credit of too long ago", irtest.Chain(3, 2), []string{"wait flags[0] x-1", "wait flags[0] x-2"}, "race: rank 0 block 0 step 1 (mv) writes packets[0] of rank 1, and nothing orders it after rank 1 block 0 step 1 (mv), which reads it 2 tile iterations before, in the same copy"},
	{"data announced by a packet", irtest.AllPairsPackets(2, 2),
		[]string{"scratch 0", "scratch 1", "0 mv input[1] -> 1:packets[0]\n  1 mv input[0]", "0 mv input[1] -> 1:scratch[0]\n  1 mv input[1] -> 1:packets[0]\n  2 mv input[0]", "2 mv packets[3]", "3 mv packets[3]", "2 mv packets[2] -> output[0]", "2 mv packets[2] + scratch[0] -> output[0]"}, "race: rank 1 block 0 step 2 (mv) reads scratch[0] of rank 1, and nothing orders it after rank 0 block 0 step 0 (mv), which writes it; rank 0 block 0 step 0 (mv) writes it; rank 1 block 0 knows by packets that it has ended, and packets make nothing visible but what they carry"},
	{"joint moves that conflict", irtest.OnePhase(2, 2), []string{"chunks=1\n", "chunks=1 inplace\n"}, "race: rank 0 block 0 step 1 (mv) writes output[0] of rank 0, and nothing orders it after rank 0 block 0 step 0 (mv), which reads it; rank 0 block 0 step 0 (mv) reads it, as input[0]; rank 0 block 0 has no block barrier between step 0 (mv) and step 1 (mv)"},
	{"joint moves that conflict in the input", irtest.OnePhase(2, 2), []string{"chunks=1\n", "chunks=1 inplace\n", "-> output[0]", "-> input[0]"}, "race: rank 0 block 0 step 1 (mv) writes input[0] of rank 0, and nothing orders it after rank 0 block 0 step 0 (mv), which reads it; rank 0 block 0 step 0 (mv) reads it; rank 0 block 0 has no block barrier between step 0 (mv) and step 1 (mv)"},

	// Results.
	{"a source twice", irtest.AllPairsPackets(2, 2), []string{"mv input[0] + packets[1] -> output[0]", "mv input[0] + input[0] + packets[1] -> output[0]"}, "wrong-result: output[0] of rank 0 must hold the sum of in[r][0] of ranks 0-1, but holds in[0][0] twice"},
	{"a source that lacks", irtest.RingPackets(3, 2), []string{"mv input[2] + packets[0] -> ", "mv packets[0] -> "}, "wrong-result: output[2] of rank 0 must hold the sum of in[r][2] of ranks 0-2, but holds the sum of in[r][2] of ranks 1-2, lacks in[0][2]"},
	{"scratch of passes before", irtest.RingPlain(3, 2), []string{"mv input[0] -> 1:scratch[0]", "mv input[0] -> 1:scratch[5]"}, "uninitialized: rank 1 block 0 step 3 (mv) reads scratch[0] of rank 1 before anything writes it"},
}

// What is judged beside the passes is found as if it were judged after them.
func TestOneSidedBeside(t *testing.T) {
	both := 0
	for _, f := range oneSidedFaults {
		p := edited(t, f.of, f.edit)
		report, list := verify.Check(p, verify.Options{})
		onesided.OneAfterTheOther(func() {
			wantReport, want := verify.Check(p, verify.Options{})
			if !reflect.DeepEqual(list, want) || !reflect.DeepEqual(report, wantReport) {
				t.Errorf("%s: beside each other\n%s\nand one after the other\n%s", f.name, irtest.Text(list), irtest.Text(want))
			}
		})
		if len(list) > 1 && list[0].Code == diag.Race && list[len(list)-1].Code != diag.Race {
			both++
		}
	}
	if both == 0 {
		t.Error("no fault is a race and a wrong result")
	}
}

func TestOneSidedBad(t *testing.T) {
	for _, f := range oneSidedFaults {
		_, list := verify.Check(edited(t, f.of, f.edit), verify.Options{})
		found := false
		for _, line := range strings.Split(irtest.Text(list), "\n") {
			found = found || strings.HasPrefix(line, f.want)
		}
		if !found {
			t.Errorf("%s: not\n  %s\nbut\n  %s", f.name, f.want, strings.ReplaceAll(irtest.Text(list), "\n", "\n  "))
		}
	}
}
