package codegen

import (
	"io"
	"math"
	"slices"
	"unsafe"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// ReadMSCCLPP reads an execution plan of MSCCL++, checks all of it and says what it means, both as its file has it and as a
// program. It is stricter than MSCCL++'s own reader, which takes unknown keys, ids of nothing and chunks beyond their buffers,
// and overruns its arrays: every key must be known and every id lead somewhere, and the limits of the executor hold. Up to 20
// errors are reported, each with its path and position. opt.MaxCells and MaxMoved bound chunks as in ReadMSCCL.
func ReadMSCCLPP(name string, r io.Reader, opt ReadOptions) (*PlanFile, *ir.ChannelProgram, error) {
	s := newPlanScan(name, r)
	f := &PlanFile{Filename: name}
	s.plan(f)
	if err := s.finish(); err != nil {
		return nil, nil, err
	}
	p, err := f.Channels(opt)
	if err != nil {
		return nil, nil, err
	}
	return f, p, nil
}

// The keys of each object, in the order in which MSCCL++ writes them.
var (
	planKeys = []string{"name", "collective", "protocol", "inplace", "reuse_resources", "gpus", "num_threads_per_block",
		"use_double_scratch_buffer", "buffer_alignment", "min_message_size", "max_message_size"}
	planGPUKeys      = []string{"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels", "remote_buffers", "semaphores"}
	planChannelKeys  = []string{"channel_type", "connected_to", "buffer_type", "rank_groups"}
	planGroupKeys    = []string{"size", "ranks"}
	planRemoteKeys   = []string{"rank", "type", "access_channel_types"}
	planBlockKeys    = []string{"id", "ops", "channels", "remote_buffer_refs"}
	planIDKeys       = []string{"channel_type", "channel_ids"}
	planRemoteIDKeys = []string{"access_channel_type", "remote_buffer_ids"}
	planPartKeys     = []string{"tb_id", "tbg_size"}
	planLoopKeys     = []string{"unit_size", "num_chunks"}
	planBuffKeys     = []string{"type", "buffer_id", "switch_channel_id", "index", "size", "rank"}
	planSemaKeys     = []string{"init_value"}
)

func (s *planScan) plan(f *PlanFile) {
	f.Threads, f.Alignment, f.MaxBytes = PlanMaxThreads, 16, math.MaxUint64
	seen, start := s.object(planKeys, func(key int, at jsonPos) {
		switch planKeys[key] {
		case "name":
			f.Name = s.text(1024)
		case "collective":
			f.Collective = s.oneOf(planCollectives...)
		case "protocol":
			f.Protocol = s.oneOf("Simple", "LL")
		case "inplace":
			f.InPlace = s.bool()
		case "reuse_resources":
			f.Reuse = s.bool()
		case "gpus":
			s.list(func(int) { s.gpu(f) })
		case "num_threads_per_block":
			f.Threads = int32(s.uint(1, PlanMaxThreads))
		case "use_double_scratch_buffer":
			f.Double = s.bool()
		case "buffer_alignment":
			f.Alignment = s.int32()
		case "min_message_size":
			f.MinBytes = s.uint(0, math.MaxInt32) // the executor cuts it to 32 bits with a sign
		case "max_message_size":
			f.MaxBytes = s.uint(0, math.MaxUint64)
		}
	})
	s.missing(planKeys, 0b101111, seen, start)
}

func (s *planScan) gpu(f *PlanFile) {
	g := PlanGPU{}
	s.holds(unsafe.Sizeof(g))
	seen, start := s.object(planGPUKeys, func(key int, at jsonPos) {
		switch planGPUKeys[key] {
		case "id":
			g.ID = s.int32()
			g.At = s.mark(at)
		case "input_chunks":
			g.Input = s.int32()
		case "output_chunks":
			g.Output = s.int32()
		case "scratch_chunks":
			g.Scratch = s.int32()
		case "threadblocks":
			s.list(func(int) { s.block(&g) })
		case "channels":
			s.list(func(int) { s.channels(&g) })
		case "remote_buffers":
			s.list(func(int) { s.remote(&g) })
		case "semaphores":
			s.list(func(int) {
				seen, start := s.object(planSemaKeys, func(int, jsonPos) { g.Semaphores = append(g.Semaphores, s.int32()) })
				s.missing(planSemaKeys, 1, seen, start)
			})
		}
	})
	s.missing(planGPUKeys, 0b1111111, seen, start)
	f.GPUs = append(f.GPUs, g)
}

func (s *planScan) channels(g *PlanGPU) {
	c := PlanChannels{}
	s.holds(unsafe.Sizeof(c))
	seen, start := s.object(planChannelKeys, func(key int, at jsonPos) {
		switch planChannelKeys[key] {
		case "channel_type":
			c.Type = s.oneOf(channelTypeNames[:]...)
			c.At = s.mark(at)
		case "connected_to":
			c.Peers = s.int32s()
		case "buffer_type":
			c.Buffer = s.oneOf("i", "o", "s")
		case "rank_groups":
			s.list(func(int) {
				group := PlanGroup{}
				s.holds(unsafe.Sizeof(group))
				seen, start := s.object(planGroupKeys, func(key int, _ jsonPos) {
					if key == 0 {
						group.Size = s.int32()
					} else {
						group.Ranks = s.int32s()
					}
				})
				s.missing(planGroupKeys, 0b11, seen, start)
				c.Groups = append(c.Groups, group)
			})
		}
	})
	need := uint32(0b0011)
	if c.Type == "switch" {
		need = 0b1101
	}
	s.missing(planChannelKeys, need, seen, start)
	if extra := seen &^ need; extra != 0 && !s.full() {
		s.say(diag.Malformed, start, "channels of type %s have keys of another type", c.Type)
	}
	g.Channels = append(g.Channels, c)
}

func (s *planScan) remote(g *PlanGPU) {
	r := PlanRemote{}
	s.holds(unsafe.Sizeof(r))
	seen, start := s.object(planRemoteKeys, func(key int, at jsonPos) {
		switch planRemoteKeys[key] {
		case "rank":
			r.Rank = s.int32()
			r.At = s.mark(at)
		case "type":
			r.Buffer = s.oneOf("i", "o", "s")
		case "access_channel_types":
			s.list(func(int) {
				at := s.here()
				t := s.oneOf("memory", "port")
				if slices.Contains(r.Access, t) {
					s.say(diag.Malformed, at, "%q stands twice", t)
				}
				r.Access = append(r.Access, t)
			})
		}
	})
	s.missing(planRemoteKeys, 0b111, seen, start)
	g.Remote = append(g.Remote, r)
}

func (s *planScan) block(g *PlanGPU) {
	b := PlanBlock{}
	s.holds(unsafe.Sizeof(b))
	total := 0
	seen, start := s.object(planBlockKeys, func(key int, at jsonPos) {
		switch planBlockKeys[key] {
		case "id":
			b.ID = s.int32()
			b.At = s.mark(at)
		case "ops":
			s.list(func(int) { s.op(&b.Ops, &total, false) })
		case "channels":
			s.list(func(int) { s.ids(&b.Channels, planIDKeys, channelTypeNames[:]) })
		case "remote_buffer_refs":
			s.list(func(int) { s.ids(&b.Remote, planRemoteIDKeys, channelTypeNames[:2]) })
		}
	})
	s.missing(planBlockKeys, 0b111, seen, start)
	g.Blocks = append(g.Blocks, b)
}

// ids reads the channels or remote buffers of one type of a block.
func (s *planScan) ids(list *[]PlanIDs, keys, types []string) {
	x := PlanIDs{}
	s.holds(unsafe.Sizeof(x))
	seen, start := s.object(keys, func(key int, at jsonPos) {
		if key == 0 {
			x.Type = s.oneOf(types...)
			x.At = s.mark(at)
		} else {
			x.IDs = s.int32s()
		}
	})
	s.missing(keys, 0b11, seen, start)
	*list = append(*list, x)
}
