package channels

import (
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// oddNumbers are those that a program should not have.
var oddNumbers = []int32{0, 1, 2, 3, -1, -2, 7, 1 << 10, 1 << 20, math.MaxInt32, math.MinInt32}

// A spoiler changes numbers of a program at random.
type spoiler struct{ *rand.Rand }

func (s spoiler) number(n *int32) {
	if s.Intn(12) == 0 {
		*n = oddNumbers[s.Intn(len(oddNumbers))]
	}
}

func (s spoiler) refs(list []ir.ChannelRef) []ir.ChannelRef {
	list = slices.Clone(list)
	for i := range list {
		x := &list[i]
		s.number(&x.Rank)
		s.number(&x.Index)
		s.number(&x.Count)
		s.number(&x.Switch)
		if s.Intn(12) == 0 {
			x.Buf, x.Packets = ir.Buf(s.Intn(7)), s.Intn(2) == 0
		}
	}
	return list
}

func (s spoiler) ops(list []ir.ChannelOp) []ir.ChannelOp {
	list = slices.Clone(list)
	for i := range list {
		o := &list[i]
		o.Srcs, o.Dsts, o.Channels, o.Semaphores, o.Body = s.refs(o.Srcs), s.refs(o.Dsts), slices.Clone(o.Channels),
			slices.Clone(o.Semaphores), s.ops(o.Body)
		for _, l := range [][]int32{o.Channels, o.Semaphores} {
			for k := range l {
				s.number(&l[k])
			}
		}
		for _, n := range []*int32{&o.ID, &o.Blocks, &o.Part, &o.Parts, &o.Chunks, &o.Pos} {
			s.number(n)
		}
		if s.Intn(12) == 0 {
			o.Unit = int64(oddNumbers[s.Intn(len(oddNumbers))]) << (s.Intn(2) * 31)
		}
		if s.Intn(20) == 0 {
			o.Kind, o.Type = ir.ChannelOpKind(s.Intn(int(ir.NumChannelOps)+1)), ir.ChannelType(s.Intn(5))
		}
		if s.Intn(20) == 0 && len(o.Srcs) > 0 {
			o.Srcs = o.Srcs[:len(o.Srcs)-1]
		}
	}
	return list
}

// program spoils some of what a program says.
func (s spoiler) program(p *ir.ChannelProgram) *ir.ChannelProgram {
	q := *p
	q.Ranks = slices.Clone(p.Ranks)
	for r := range q.Ranks {
		x := &q.Ranks[r]
		x.Semaphores = slices.Clone(x.Semaphores)
		for k := range x.Semaphores {
			s.number(&x.Semaphores[k])
		}
		for t := range x.Channels {
			x.Channels[t] = slices.Clone(x.Channels[t])
			for k := range x.Channels[t] {
				s.number(&x.Channels[t][k].Peer)
			}
		}
		if s.Intn(12) == 0 {
			x.Scratch = oddNumbers[s.Intn(len(oddNumbers))]
		}
		x.Blocks = slices.Clone(x.Blocks)
		for b := range x.Blocks {
			if s.Intn(3) == 0 {
				x.Blocks[b] = s.ops(x.Blocks[b])
			}
		}
	}
	q.DoubleScratch = s.Intn(2) == 0
	if s.Intn(8) == 0 {
		q.Protocol = ir.Protocol(s.Intn(int(ir.NumProtocols)))
	}
	return &q
}

// Whatever a program says, it is judged, in little time and memory. MSCCLC_RANDOM=N asks for N of each.
func TestHostileChannels(t *testing.T) {
	n := irtest.Count(t, 30)
	codes := map[diag.Code]int{}
	for name, b := range rightChannels() {
		for seed := range n {
			p := spoiler{rand.New(rand.NewSource(int64(seed)))}.program(b.ChannelProgram)
			at := time.Now()
			_, _, list := Check(p, verify.Options{})
			if d := time.Since(at); d > covering.Patience(5*time.Second) {
				t.Errorf("%s, seed %d: judged in %v", name, seed, d)
			}
			for _, d := range list {
				codes[d.Code]++
			}
		}
	}
	t.Log(codes)
}
