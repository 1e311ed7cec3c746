package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// TestSoak has five communicators run random calls on four streams, and end by an abort, by calls that do not match, or
// by a killed rank: nothing hangs, and a message names the rank. MSCCLC_LIBRARY_SOAK says for how long, such as 5m;
// without it each end comes once.
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("MSCCLC_LIBRARY_SOAK"))
	if text := os.Getenv("MSCCLC_LIBRARY_SOAK"); text != "" && err != nil {
		t.Fatalf("MSCCLC_LIBRARY_SOAK=%s: %v", text, err)
	}
	file := wholeBundle(t, 3)
	random := rand.New(rand.NewPCG(7, uint64(long)))
	begin, rounds := time.Now(), 0
	for ; rounds < len(ends) || time.Since(begin) < long; rounds++ {
		end := ends[rounds%len(ends)]
		s := site{how: []string{"alone", "preload"}[rounds%2], ranks: 3, late: true, bundle: file,
			threads: end.name != "kill" && random.IntN(2) == 0}
		commands := soakCalls(random, s.how == "preload")
		for i := range soakComms {
			commands = append(commands, end.before(i)...)
		}
		commands = append(commands, "meet soak", "sleep 50", "@1 "+end.at)
		for i := range soakComms {
			commands = append(commands, end.after(i)...)
		}
		r := s.do(t, commands...)
		for rank, err := range r.failed {
			if dies := end.name == "kill" && rank == 1; (err != nil) != dies {
				t.Fatalf("round %d, %s: process %d ends with %v\n%s\n%q",
					rounds, end.name, rank, err, r.output, commands)
			}
		}
		if !strings.Contains(r.output, end.says) {
			t.Fatalf("round %d, %s: %q is not in the output\n%s\n%q",
				rounds, end.name, end.says, r.output, commands)
		}
		r.within(t, "abort", 1000)
	}
	t.Logf("%d rounds in %v", rounds, time.Since(begin))
}

const soakComms = 5

// ends are how the rounds of TestSoak end: what ranks call before on communicator i, what rank 1 does, and what
// follows.
var ends = []struct {
	name, at, says string
	before, after  func(i int) []string
}{
	{"abort", "sleep 1", "rank 1 has made", unmet, aborted},
	{"mismatch", "sleep 1", "and rank 1 called ncclAllGather of 50 bf16", func(i int) []string {
		return append(unmet(i), fmt.Sprintf("@1 allgather %d 50 9 0 0 %d", i, i%4))
	}, aborted},
	{"kill", "kill 1", "the process of rank 1 ", unmet, func(i int) []string {
		return append([]string{fmt.Sprint("untilerror ", i)}, aborted(i)...)
	}},
}

// unmet has ranks 0 and 2 make a call that rank 1 does not make.
func unmet(i int) (commands []string) {
	for _, rank := range []int{0, 2} {
		commands = append(commands, fmt.Sprintf("@%d allreduce %d 3000 7 0 0 %d", rank, i, i%4))
	}
	return commands
}

func aborted(i int) []string { return []string{fmt.Sprint("timed abort ", i)} }

// soakCalls are random calls of all communicators, which are verified. With warm, the ranks first go over from NCCL to
// programs, in another order than the communicators were made.
func soakCalls(random *rand.Rand, warm bool) (commands []string) {
	functions := strings.Fields("allreduce allgather reducescatter broadcast reduce gather scatter alltoall")
	for i := range soakComms {
		commands = append(commands, fmt.Sprint("init ", i))
	}
	for _, i := range random.Perm(soakComms) {
		if warm {
			commands = append(commands, fmt.Sprint("warm ", i, []string{"", " group"}[i%2]))
		}
	}
	for range 60 {
		fn := functions[random.IntN(len(functions))]
		flags := []string{"v", "vi", "vu", "vm"}[random.IntN(4)]
		if fn == "alltoall" {
			flags = "v"
		}
		i := random.IntN(soakComms)
		commands = append(commands,
			fmt.Sprintf("%s %d %d 7 0 %d %d %s", fn, i, 1+random.IntN(5000), random.IntN(3), i%4, flags))
	}
	return append(commands, "sync")
}
