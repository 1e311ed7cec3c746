package mscclpp

import (
	"io"
	"math"
	"slices"
	"unsafe"

	"mscclc/codegen"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// Read reads an execution plan of MSCCL++, checks all of it and says what it means, both as its file has it and as a
// program. Keys that MSCCL++ ignores are warnings in the plan's Ignored, or errors with opt.Strict. In all else it is
// stricter than MSCCL++'s own reader, which takes ids of nothing and chunks beyond their buffers, and overruns its
// arrays: every id must lead somewhere, and the limits of the executor hold. Up to 20 errors are reported,
// each with its path and position. opt.MaxCells and MaxMoved bound chunks as in msccl.Read.
func Read(name string, r io.Reader, opt codegen.ReadOptions) (*Plan, *ir.ChannelProgram, error) {
	json := opt.JSON()
	json.Forms, json.Lists = planForms, [3]string{"gpus", "threadblocks", "ops"}
	if !opt.Strict {
		json.Ignore, json.IgnoredBy = diag.MSCCLPPKey, "MSCCL++"
	}
	s := &scanner{strictjson.NewReader(name, r, json)}
	f := &Plan{Filename: name}
	s.plan(f)
	if err := s.Finish(); err != nil {
		return nil, nil, err
	}
	f.Ignored = s.Ignored()
	p, err := f.Channels(opt)
	if err != nil {
		return nil, nil, err
	}
	return f, p, nil
}

// A scanner reads the JSON of a plan.
type scanner struct{ *strictjson.Reader }

// mark returns the position from at to the end of the value that was read last, or of the line.
func (s *scanner) mark(at strictjson.Pos) Pos {
	return Pos{Offset: int32(at.Offset), Line: int32(at.Line), Column: int32(at.Column), Len: int32(s.Len(at))}
}

// The keys of each object, in the order in which MSCCL++ writes them.
var (
	planKeys = []string{"name", "collective", "protocol", "inplace", "reuse_resources", "gpus", "num_threads_per_block",
		"use_double_scratch_buffer", "buffer_alignment", "min_message_size", "max_message_size"}
	planGPUKeys = []string{"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels",
		"remote_buffers", "semaphores"}
	planChannelKeys  = []string{"channel_type", "connected_to", "buffer_type", "rank_groups"}
	planGroupKeys    = []string{"size", "ranks"}
	planRemoteKeys   = []string{"rank", "type", "access_channel_types"}
	planBlockKeys    = []string{"id", "ops", "channels", "remote_buffer_refs"}
	planIDKeys       = []string{"channel_type", "channel_ids", "buff"}
	planRemoteIDKeys = []string{"access_channel_type", "remote_buffer_ids"}
	planPartKeys     = []string{"tb_id", "tbg_size"}
	planLoopKeys     = []string{"unit_size", "num_chunks"}
	planBuffKeys     = []string{"type", "buffer_id", "switch_channel_id", "index", "size", "rank"}
	planSemaKeys     = []string{"init_value"}
)

// planForms say of keys what their values are.
var planForms = map[string]string{
	"name": "a text", "collective": "the name of a collective", "protocol": "a text: Simple or LL",
	"inplace": "true or false",
	"gpus":    "the list of ranks", "threadblocks": anyList, "channels": anyList, "remote_buffers": anyList,
	"semaphores": anyList, "ops": anyList, "remote_buffer_refs": anyList,
	"id": aNumber, "input_chunks": aNumber, "output_chunks": aNumber, "scratch_chunks": aNumber, "index": aNumber,
	"size": aNumber, "init_value": aNumber, "rank": aNumber, "unit_size": aNumber, "num_chunks": aNumber,
	"channel_type": aChannelType, "access_channel_type": aChannelType,
	"access_channel_types": "a list of memory, port and switch", "connected_to": "a list of ranks",
	"ranks": "a list of ranks", "channel_ids": "a list of numbers", "remote_buffer_ids": "a list of numbers",
	"src_buff": anyOperands, "dst_buff": anyOperands,
}

const (
	anyList      = "a list, [] if there are none"
	aNumber      = "a number"
	aChannelType = "a text: memory, port or switch"
	anyOperands  = "a list of operands"
)

func (s *scanner) plan(f *Plan) {
	f.Threads, f.Alignment, f.MaxBytes = MaxThreads, 16, math.MaxUint64
	seen, start := s.Object(planKeys, func(key int, at strictjson.Pos) {
		switch planKeys[key] {
		case "name":
			f.Name = s.Text(1024)
		case "collective":
			f.Collective, f.At = s.OneOf(collectives...), s.mark(at)
		case "protocol":
			f.Protocol = s.OneOf("Simple", "LL")
		case "inplace":
			f.InPlace = s.Bool()
		case "reuse_resources":
			f.Reuse = s.Bool()
		case "gpus":
			s.List(func(int) { s.gpu(f) })
		case "num_threads_per_block":
			f.Threads = int32(s.Uint(1, MaxThreads))
		case "use_double_scratch_buffer":
			f.Double = s.Bool()
		case "buffer_alignment":
			f.Alignment = s.Int32()
		case "min_message_size":
			f.MinBytes = s.Uint(0, math.MaxInt32) // the executor cuts it to 32 bits with a sign
		case "max_message_size":
			f.MaxBytes = s.Uint(0, math.MaxUint64)
		}
	})
	s.Missing(planKeys, 0b101111, seen, start)
}

func (s *scanner) gpu(f *Plan) {
	g := GPU{}
	s.Holds(unsafe.Sizeof(g))
	seen, start := s.Object(planGPUKeys, func(key int, at strictjson.Pos) {
		switch planGPUKeys[key] {
		case "id":
			g.ID = s.Int32()
			g.At = s.mark(at)
		case "input_chunks":
			g.Input = s.Int32()
		case "output_chunks":
			g.Output = s.Int32()
		case "scratch_chunks":
			g.Scratch = s.Int32()
		case "threadblocks":
			s.List(func(int) { s.block(&g) })
		case "channels":
			s.List(func(int) { s.channels(&g) })
		case "remote_buffers":
			s.List(func(int) { s.remote(&g) })
		case "semaphores":
			s.List(func(int) {
				seen, start := s.Object(planSemaKeys, func(int, strictjson.Pos) { g.Semaphores = append(g.Semaphores, s.Int32()) })
				s.Missing(planSemaKeys, 1, seen, start)
			})
		}
	})
	s.Missing(planGPUKeys, 0b1111111, seen, start)
	f.GPUs = append(f.GPUs, g)
}

func (s *scanner) channels(g *GPU) {
	c := Channels{}
	s.Holds(unsafe.Sizeof(c))
	seen, start := s.Object(planChannelKeys, func(key int, at strictjson.Pos) {
		switch planChannelKeys[key] {
		case "channel_type":
			c.Type = s.OneOf(channelTypeNames[:]...)
			c.At = s.mark(at)
		case "connected_to":
			c.Peers = s.Int32s()
		case "buffer_type":
			c.Buffer = s.OneOf("i", "o", "s")
		case "rank_groups":
			s.List(func(int) {
				group := Group{}
				s.Holds(unsafe.Sizeof(group))
				seen, start := s.Object(planGroupKeys, func(key int, _ strictjson.Pos) {
					if key == 0 {
						group.Size = s.Int32()
					} else {
						group.Ranks = s.Int32s()
					}
				})
				s.Missing(planGroupKeys, 0b11, seen, start)
				c.Groups = append(c.Groups, group)
			})
		}
	})
	need := uint32(0b0011)
	if c.Type == "switch" {
		need = 0b1101
	}
	s.Missing(planChannelKeys, need, seen, start)
	if extra := seen &^ need; extra != 0 && !s.Full() {
		s.Say(diag.Malformed, start, "channels of type %s have keys of another type", c.Type)
	}
	g.Channels = append(g.Channels, c)
}

func (s *scanner) remote(g *GPU) {
	r := RemoteBuffer{}
	s.Holds(unsafe.Sizeof(r))
	seen, start := s.Object(planRemoteKeys, func(key int, at strictjson.Pos) {
		switch planRemoteKeys[key] {
		case "rank":
			r.Rank = s.Int32()
			r.At = s.mark(at)
		case "type":
			r.Buffer = s.OneOf("i", "o", "s")
		case "access_channel_types":
			s.List(func(int) {
				at := s.Here()
				t := s.OneOf("memory", "port")
				if slices.Contains(r.Access, t) {
					s.Say(diag.Malformed, at, "%q stands twice", t)
				}
				r.Access = append(r.Access, t)
			})
		}
	})
	s.Missing(planRemoteKeys, 0b111, seen, start)
	g.Remote = append(g.Remote, r)
}

func (s *scanner) block(g *GPU) {
	b := Block{}
	s.Holds(unsafe.Sizeof(b))
	total := 0
	seen, start := s.Object(planBlockKeys, func(key int, at strictjson.Pos) {
		switch planBlockKeys[key] {
		case "id":
			b.ID = s.Int32()
			b.At = s.mark(at)
		case "ops":
			s.List(func(int) { s.op(&b.Ops, &total, false) })
		case "channels":
			s.List(func(int) { s.ids(&b.Channels, planIDKeys, channelTypeNames[:]) })
		case "remote_buffer_refs":
			s.List(func(int) { s.ids(&b.Remote, planRemoteIDKeys, channelTypeNames[:2]) })
		}
	})
	s.Missing(planBlockKeys, 0b111, seen, start)
	g.Blocks = append(g.Blocks, b)
}

// ids reads the channels or remote buffers of one type of a block.
func (s *scanner) ids(list *[]IDs, keys, types []string) {
	x := IDs{}
	s.Holds(unsafe.Sizeof(x))
	seen, start := s.Object(keys, func(key int, at strictjson.Pos) {
		switch key {
		case 0:
			x.Type = s.OneOf(types...)
			x.At = s.mark(at)
		case 1:
			x.IDs = s.Int32s()
		default:
			s.OneOf("i", "o", "s") // MSCCL++ reads it, and uses it for nothing
		}
	})
	s.Missing(keys, 0b11, seen, start)
	*list = append(*list, x)
}
