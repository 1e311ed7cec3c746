package mscclpp

import (
	"math"
	"strings"
	"unsafe"

	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// planOpKeys are the keys of all operations; the constants are their bits.
var planOpKeys = []string{"name", "src_buff", "dst_buff", "channel_ids", "channel_type", "tbg_info", "reduce_op",
	"semaphore_ids", "barrier_id", "num_threadblocks", "iter_context", "ops"}

const (
	opName uint32 = 1 << iota
	opSrc
	opDst
	opChannelIDs
	opType
	opPart
	opReduce
	opSemaphores
	opBarrier
	opBlocks
	opIter
	opBody
)

// keys returns the keys that the operation must have, and those that it may.
func (r *opRow) keys() (need, may uint32) {
	switch info := r.kind.Info(); {
	case r.kind == ir.ChMeet:
		return opName, opName
	case r.kind == ir.ChBarrier:
		need = opName | opBarrier | opBlocks
	case info.OnChannels():
		need = opName | opChannelIDs | opType
	case info.Semaphores:
		need = opName | opSemaphores
	case r.kind == ir.ChLoop:
		need = opName | opIter | opBody
	default:
		need, may = opName|opSrc|opDst, opType|opPart
		if r.types != 0 {
			need, may = need|opType, may|opChannelIDs
		}
		if r.reduces() {
			may |= opReduce
		}
	}
	return need, need | may
}

// op reads an operation of a block, which has total so far, or of a loop's body. Those beyond the limit are reported
// once and not kept.
func (s *scanner) op(list *[]Op, total *int, inner bool) {
	op := Op{}
	if *total++; *total == MaxOps+1 {
		s.Say(diag.Limit, s.Here(), "is operation %d of its block, where %d are the most, with the bodies of loops",
			*total, MaxOps)
	}
	if *total > MaxOps {
		s.Skip()
		return
	}
	s.Holds(unsafe.Sizeof(op))
	var where [12]strictjson.Pos
	seen, start := s.Object(planOpKeys, func(key int, at strictjson.Pos) {
		where[key] = at
		s.opKey(&op, 1<<key, at, total, inner)
	})
	if s.Full() {
		return
	}
	row := opRowByName(op.Name)
	if row == nil {
		s.Missing(planOpKeys, opName, seen, start)
		return
	}
	need, may := row.keys()
	s.Missing(planOpKeys, need, seen, start)
	for i, at := range where {
		if seen&^may&(1<<i) != 0 && !s.Full() {
			s.Say(diag.Malformed, at, "%s has no key %q", op.Name, planOpKeys[i])
		}
	}
	*list = append(*list, op)
}

func (s *scanner) opKey(op *Op, key uint32, at strictjson.Pos, total *int, inner bool) {
	switch key {
	case opName:
		op.Name = s.opName(inner)
		op.At = s.mark(at)
	case opSrc:
		op.Src = s.buffs()
	case opDst:
		op.Dst = s.buffs()
	case opChannelIDs:
		op.ChannelIDs = s.Int32s()
	case opType:
		op.Type = s.OneOf(channelTypeNames[:]...)
	case opPart:
		op.Part = &Part{}
		seen, start := s.Object(planPartKeys, func(key int, _ strictjson.Pos) {
			if key == 0 {
				op.Part.ID = s.Int32()
			} else {
				op.Part.Size = int32(s.Uint(1, math.MaxInt32))
			}
		})
		s.Missing(planPartKeys, 0b11, seen, start)
	case opReduce:
		op.Reduce = s.OneOf(reduceNames[:]...)
	case opSemaphores:
		op.Semaphores = s.Int32s()
	case opBarrier:
		op.Barrier = int32(s.Uint(0, MaxBarriers-1))
	case opBlocks:
		op.Blocks = int32(s.Uint(1, math.MaxInt32))
	default:
		s.loop(op, key, at, total, inner)
	}
}

// loop reads the keys that only a loop has.
func (s *scanner) loop(op *Op, key uint32, at strictjson.Pos, total *int, inner bool) {
	if inner {
		s.Skip()
		s.Say(diag.Malformed, at, "a loop stands in a loop, of which the executor knows none")
		return
	}
	if op.Loop == nil {
		op.Loop = &Loop{}
	}
	if key == opBody {
		s.List(func(int) { s.op(&op.Loop.Ops, total, true) })
		return
	}
	seen, start := s.Object(planLoopKeys, func(key int, _ strictjson.Pos) {
		if key == 0 {
			op.Loop.Unit = int64(s.Uint(1, math.MaxUint32))
		} else {
			op.Loop.Chunks = int32(s.Uint(1, math.MaxInt32))
		}
	})
	s.Missing(planLoopKeys, 0b11, seen, start)
}

// reduceNames are the reductions by ir.ChannelReduce.
var reduceNames = [...]string{ir.ReduceSum: "sum", ir.ReduceMin: "min", ir.ReduceMax: "max"}

// foreignOps say which operations do what other formats' operations do.
var foreignOps = map[string]string{
	"send":    putAndSignal,
	"s":       putAndSignal,
	"recv":    waitOrGet,
	"receive": waitOrGet,
	"r":       waitOrGet,
	"cpy":     "copy copies within the rank",
	"reduce":  "re reduces within the rank, and rre reduces what a peer has",
	"rrc":     "rre reduces what a peer has",
	"sync":    "nop is a block barrier, and barrier synchronises blocks of a rank",
}

const (
	putAndSignal = `"put" writes to a peer's buffer, "signal" tells the peer, and the peer has a "wait"` + seeExample
	waitOrGet    = `"wait" waits for the peer's signal after its put, and "get" reads a peer's buffer` + seeExample
	seeExample   = "; mscclc compile allgather/allpairs -p ranks=2 -o example.json writes an example"
)

// opName reads the name of an operation. Two are of MSCCL++'s language and refused by its own reader.
func (s *scanner) opName(inner bool) string {
	if s.Peek() != '"' {
		s.Wrong("the name of an operation")
		return ""
	}
	at := s.Here()
	name := s.Take()
	row := opRowByName(string(name))
	switch {
	case row != nil && !(inner && row.kind == ir.ChLoop):
		return row.name
	case row != nil:
		s.Say(diag.Malformed, at, "a loop stands in a loop, of which the executor knows none")
	case string(name) == "glre":
		s.Say(diag.Unsupported, at, `operation "glre" is one that MSCCL++'s language writes and its executor refuses`).Hint =
			"a sum through the switch must be stored through the switch at once, as glres"
	case string(name) == "start":
		s.Say(diag.Unsupported, at, `operation "start" is of MSCCL++'s language alone: its executor refuses it`)
	default:
		names := make([]string, len(opRows))
		for i := range opRows {
			names[i] = opRows[i].name
		}
		hint := "the operations are " + strings.Join(names, ", ")
		if meant := foreignOps[string(name)]; meant != "" {
			hint = meant
		} else if near := diag.Nearest(string(name), names); near != "" {
			hint = "did you mean " + near + "?"
		}
		s.Say(diag.Unsupported, at, "unknown operation %q", diag.Clip(name)).Hint = hint
	}
	return ""
}

func (s *scanner) buffs() []Operand {
	list := []Operand{}
	s.List(func(int) { list = append(list, s.buff()) })
	return list
}

// buff reads an operand: of the rank itself, of a remote buffer or of a switch channel.
func (s *scanner) buff() Operand {
	x := Operand{Rank: -1}
	s.Holds(unsafe.Sizeof(x))
	seen, start := s.Object(planBuffKeys, func(key int, _ strictjson.Pos) {
		switch planBuffKeys[key] {
		case "type":
			if name := s.OneOf("i", "o", "s"); name != "" {
				x.Buffer = name[0]
			}
		case "buffer_id":
			x.Kind, x.ID = Remote, s.Int32()
		case "switch_channel_id":
			x.Kind, x.ID = Switch, s.Int32()
		case "index":
			x.Index = s.Int32()
		case "size":
			x.Size = s.Int32()
		case "rank":
			x.Rank = s.Int32()
		}
	})
	s.Missing(planBuffKeys, 0b011000, seen, start)
	if whose := seen & 0b111; (whose == 0 || whose&(whose-1) != 0) && !s.Full() {
		s.Say(diag.Malformed, start, "an operand has one of type, buffer_id and switch_channel_id")
	}
	return x
}
