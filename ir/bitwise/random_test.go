package bitwise_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir/bitwise"
	"mscclc/ir/irtest"
)

// An addition is scratch[dst] += scratch[src]; after it, stop ends a chain.
type addition struct {
	dst, src int
	stop     bool
}

// additions sums n chunks into one, in a random tree.
func additions(rnd *rand.Rand, n int) []addition {
	var list []addition
	alive := rnd.Perm(n)
	for len(alive) > 1 {
		if rnd.Intn(3) == 0 {
			rnd.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
		}
		list = append(list, addition{alive[0], alive[1], rnd.Intn(2) == 0})
		alive = slices.Delete(alive, 1, 2)
	}
	return list
}

// vary returns additions that make the same sum: perhaps the same bits too.
func vary(rnd *rand.Rand, list []addition) []addition {
	list = slices.Clone(list)
	switch rnd.Intn(4) {
	case 0: // b + a for a + b
		a, b := list[0].dst, list[0].src
		for i := range list {
			for _, x := range []*int{&list[i].dst, &list[i].src} {
				switch *x {
				case a:
					*x = b
				case b:
					*x = a
				}
			}
		}
	case 1: // another place to round
		i := rnd.Intn(len(list))
		list[i].stop = !list[i].stop
	case 2:
		return additions(rnd, len(list)+1)
	}
	return list
}

// summing returns the text of an allreduce in which every rank gets all inputs and
// adds them up as list says.
func summing(rnd *rand.Rand, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "program sums\ncollective allreduce ranks=%d chunks=1\nscratch %d\n", n, n)
	base := additions(rnd, n)
	for r := range n {
		block := 0
		for q := range n {
			if q != r {
				fmt.Fprintf(&b, "block %d.%d send %d recv %d ch 0\n  0 s input[0]\n  1 r scratch[%d] hasdep\n", r, block, q, q, q)
				block++
			}
		}
		fmt.Fprintf(&b, "block %d.%d ch 0\n", r, block)
		for k := range n - 2 {
			fmt.Fprintf(&b, "  %d nop dep %d.1\n", k, k)
		}
		fmt.Fprintf(&b, "  %d cpy input[0] => scratch[%d] dep %d.1\n", n-2, r, n-2)
		list := vary(rnd, base)
		for k, a := range list {
			fmt.Fprintf(&b, "  %d re scratch[%d] => scratch[%d]%s\n", n-1+k, a.src, a.dst,
				map[bool]string{true: " hasdep"}[a.stop])
		}
		fmt.Fprintf(&b, "  %d cpy scratch[%d] => output[0]\n", 2*n-2, list[len(list)-1].dst)
	}
	return b.String()
}

// TestBitwiseOfRandomSums compares verdicts with what runs of random programs
// give, most of which have chains that only differ in where they end.
func TestBitwiseOfRandomSums(t *testing.T) {
	needDevice(t)
	verdicts := map[[bitwise.NumRoundings]bool]int{}
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		p := irtest.Program(t, summing(rnd, 3+rnd.Intn(3)))
		o := orderOf(t, p)
		l, err := executor.Load(p, executor.Options{Device: cpu.Device()})
		if err != nil {
			t.Fatal(err)
		}
		for by, dt := range [bitwise.NumRoundings]data.DType{data.F64, data.F16} {
			differ := false
			for draw := int64(0); draw < 20 && !differ; draw++ {
				differ = !sameBits(t, l, p, dt, data.Sum, seed*100+draw)
			}
			if differ != (o.Differ[by] > 0) {
				t.Errorf("seed %d: outputs of %v differ: %v; judged: %+v %+v", seed, dt, differ, o, o.Counterexample[by])
			}
		}
		if d := o.Counterexample[bitwise.Chain]; d != nil && d.Expr[0] == d.Expr[1] {
			t.Errorf("seed %d: the expressions look alike: %+v", seed, d)
		}
		l.Close()
		verdicts[[bitwise.NumRoundings]bool{o.Differ[0] > 0, o.Differ[1] > 0}]++
	}
	t.Logf("programs by whether {each, chain} differ: %v", verdicts)
	if verdicts[[2]bool{false, false}] < 20 || verdicts[[2]bool{false, true}] < 20 || verdicts[[2]bool{true, true}] < 20 {
		t.Error("too few of some verdict to say anything")
	}
}
