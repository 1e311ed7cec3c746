package verify_test

import (
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// A runner runs a program with numbers instead of symbols, taking a step of a
// block that can go on, at random. It knows nothing of how verify works.
type runner struct {
	p    *ir.Program
	rnd  *rand.Rand
	mem  *ir.Memory
	cell []uint64 // 0 is nothing
	pos  []int32
	flag [][]bool // of a block: its steps whose flag is up
	fifo map[[3]int32][]uint64
}

// leaf is the number that stands for a chunk of input: sums of few of them are
// equal only where they have the same parts.
func leaf(rank, index int) uint64 {
	x := uint64(rank)*1_000_003 + uint64(index) + 1
	x *= 0x9E3779B97F4A7C15
	return (x ^ x>>31) * 0xBF58476D1CE4E5B9
}

func newRunner(p *ir.Program, rnd *rand.Rand) *runner {
	r := &runner{p: p, rnd: rnd, mem: p.Memory(), fifo: map[[3]int32][]uint64{}}
	r.cell = make([]uint64, r.mem.Len())
	for rank := range p.Coll.Ranks {
		for i := range p.Coll.InChunks(rank) {
			r.cell[r.mem.Cell(rank, ir.Input, i)] = leaf(rank, i)
		}
	}
	for _, b := range p.Blocks {
		r.pos = append(r.pos, b.Steps.First)
		r.flag = append(r.flag, make([]bool, b.Steps.End-b.Steps.First))
	}
	return r
}

// step runs the next step of block b, if it can.
func (r *runner) step(b int) bool {
	t := &r.p.Blocks[b]
	if r.pos[b] == t.Steps.End {
		return false
	}
	s := &r.p.Steps[r.pos[b]]
	if s.DepBlock >= 0 && !slices.Contains(r.flag[r.p.Rank[t.Rank].First+s.DepBlock][s.DepStep:], true) {
		return false
	}
	info := s.Op.Info()
	from, to := [3]int32{t.Channel, t.RecvPeer, t.Rank}, [3]int32{t.Channel, t.Rank, t.SendPeer}
	if info.Receives && len(r.fifo[from]) == 0 || info.Sends && len(r.fifo[to]) >= r.p.Protocol.Slots()*int(s.Count) {
		return false
	}
	result := make([]uint64, s.Count)
	if info.Receives {
		for i := range result {
			if len(r.fifo[from]) == 0 {
				return false
			}
			result[i] = r.fifo[from][0]
			r.fifo[from] = r.fifo[from][1:]
		}
	}
	add := func(buf ir.Buf, index int32) {
		for i := range result {
			x := r.cell[r.mem.Cell(int(t.Rank), buf, int(index)+i)]
			if info.Reduces && (x == 0 || result[i] == 0 && info.Receives) {
				x, result[i] = 0, 0
			}
			result[i] += x
		}
	}
	if info.ReadsSrc {
		add(s.SrcBuf, s.Src)
	}
	if info.ReadsDst {
		add(s.DstBuf, s.Dst)
	}
	if info.Writes {
		copy(r.cell[r.mem.Cell(int(t.Rank), s.DstBuf, int(s.Dst)):], result)
	}
	if info.Sends {
		r.fifo[to] = append(r.fifo[to], result...)
	}
	if s.Flags&ir.HasDep != 0 && s.Op != ir.Nop {
		r.flag[b][r.pos[b]-t.Steps.First] = true
	}
	r.pos[b]++
	return true
}

// run runs all and says whether it ended with the right result.
func (r *runner) run() bool {
	for moved := true; moved; {
		moved = false
		for _, b := range r.rnd.Perm(len(r.pos)) {
			for r.rnd.Intn(3) > 0 && r.step(b) {
				moved = true
			}
		}
		for b := 0; b < len(r.pos) && !moved; b++ { // chance may have passed all by
			moved = r.step(b)
		}
	}
	for b, t := range r.p.Blocks {
		if r.pos[b] != t.Steps.End {
			return false
		}
	}
	for rank := range r.p.Coll.Ranks {
		for i := range r.p.Coll.OutChunks(rank) {
			want, sum := r.p.Coll.Want(rank, i), uint64(0)
			switch {
			case want.Any:
				continue
			case want.Sum:
				for q := range r.p.Coll.Ranks {
					sum += leaf(q, int(want.Part.Index))
				}
			case want.List == nil:
				sum = leaf(int(want.Part.Rank), int(want.Part.Index))
			}
			if r.cell[r.mem.Cell(rank, ir.Output, i)] != sum {
				return false
			}
		}
	}
	return true
}

// mutate makes one small change to a copy of p.
func mutate(p *ir.Program, rnd *rand.Rand) *ir.Program {
	m := *p
	m.Steps, m.Blocks = slices.Clone(p.Steps), slices.Clone(p.Blocks)
	s := &m.Steps[rnd.Intn(len(m.Steps))]
	delta := int32(rnd.Intn(3) - 1)
	switch rnd.Intn(10) {
	case 0:
		s.Src += delta
	case 1:
		s.Dst += delta
	case 2:
		s.Count += delta
	case 3:
		s.DepBlock, s.DepStep = -1, -1
	case 4:
		s.DepStep += delta
	case 5:
		s.Flags ^= ir.HasDep
	case 6:
		s.Op = ir.Op(rnd.Intn(int(ir.NumOps)))
	case 7:
		b := &m.Blocks[rnd.Intn(len(m.Blocks))]
		b.Channel += delta
	case 8:
		if b := &m.Blocks[rnd.Intn(len(m.Blocks))]; b.Steps.End-b.Steps.First > 1 {
			i := b.Steps.First + rnd.Int31n(b.Steps.End-b.Steps.First-1)
			m.Steps[i], m.Steps[i+1] = m.Steps[i+1], m.Steps[i]
		}
	case 9:
		s.DstBuf = ir.Buf(rnd.Intn(3))
	}
	return &m
}

// What verify accepts, of good programs with one change each, ends with the
// right result however it is timed. (Steps are taken as a whole here.)
func TestMutantsThatPassAreGood(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	accepted, rejected := 0, 0
	for _, name := range []string{"allreduce/ring", "allreduce/allpairs", "alltoall/two_step"} {
		src, err := os.ReadFile(filepath.Join("..", "..", "algorithms", name+".mscl"))
		if err != nil {
			t.Fatal(err)
		}
		params := map[string]string{"ranks": "3"}
		if name == "alltoall/two_step" {
			params = map[string]string{"nodes": "2", "gpus": "2"}
		}
		p, err := mscclc.Compile(name, src, mscclc.Options{Lang: lang.Options{Params: params}})
		if err != nil {
			t.Fatal(err)
		}
		p.Even = true
		for range 10 {
			if !newRunner(p, rnd).run() {
				t.Fatalf("%s: a good program is wrong", name)
			}
		}
		for range 1500 {
			m := mutate(p, rnd)
			if _, list := verify.Check(m, verify.Options{}); len(list) > 0 {
				rejected++
				if len(list) == 1 && list[0].Code == diag.WrongResult && newRunner(m, rnd).run() {
					t.Fatalf("%s: a mutant is rejected and right: %v", name, list)
				}
				continue
			}
			accepted++
			for range 5 {
				if !newRunner(m, rnd).run() {
					t.Fatalf("%s: a mutant passes and is wrong: %+v", name, m.Steps)
				}
			}
		}
	}
	t.Logf("%d mutants are rejected, %d pass and are good", rejected, accepted)
	if rejected < 1000 || accepted < 100 {
		t.Errorf("only %d are rejected, and %d pass", rejected, accepted)
	}
}
