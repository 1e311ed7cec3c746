package mscclpp

import (
	"hash/crc64"
	"io"
	"mscclc/codegen"
)

// Write writes f as MSCCL++'s own language does: every key, in its order, indented by two, and ends the line. What
// Read read is then read as an equal plan.
func Write(w io.Writer, f *Plan) error {
	return (&jsonOut{w: w, first: true}).plan(f)
}

// Hash returns a hash of all that f holds: equal for equal plans, in any run.
func Hash(f *Plan) (uint64, error) {
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	err := (&jsonOut{w: h, first: true, dense: true}).plan(f)
	return h.Sum64(), err
}

func (o *jsonOut) plan(f *Plan) error {
	o.open('{')
	o.key("name").text(f.Name)
	o.key("collective").word(f.Collective)
	o.key("protocol").word(f.Protocol)
	o.key("inplace").bool(f.InPlace)
	o.key("reuse_resources").bool(f.Reuse)
	o.list("gpus", len(f.GPUs), func(i int) { o.gpu(&f.GPUs[i]) })
	o.key("num_threads_per_block").int(int64(f.Threads))
	o.key("use_double_scratch_buffer").bool(f.Double)
	o.key("buffer_alignment").int(int64(f.Alignment))
	o.key("min_message_size").uint(f.MinBytes)
	o.key("max_message_size").uint(f.MaxBytes)
	o.close('}')
	o.b = append(o.b, '\n')
	o.flush(0)
	return codegen.WriteError(o.err)
}

func (o *jsonOut) gpu(g *GPU) {
	o.open('{')
	o.key("id").int(int64(g.ID))
	o.key("input_chunks").int(int64(g.Input))
	o.key("output_chunks").int(int64(g.Output))
	o.key("scratch_chunks").int(int64(g.Scratch))
	o.list("threadblocks", len(g.Blocks), func(i int) { o.block(&g.Blocks[i]) })
	o.list("channels", len(g.Channels), func(i int) { o.channels(&g.Channels[i]) })
	o.list("remote_buffers", len(g.Remote), func(i int) {
		r := &g.Remote[i]
		o.open('{')
		o.key("rank").int(int64(r.Rank))
		o.key("type").word(r.Buffer)
		o.list("access_channel_types", len(r.Access), func(k int) { o.word(r.Access[k]) })
		o.close('}')
	})
	o.list("semaphores", len(g.Semaphores), func(i int) {
		o.open('{')
		o.key("init_value").int(int64(g.Semaphores[i]))
		o.close('}')
	})
	o.close('}')
}

func (o *jsonOut) channels(c *Channels) {
	o.open('{')
	o.key("channel_type").word(c.Type)
	if c.Type != "switch" {
		o.key("connected_to").ints(c.Peers)
	} else {
		o.key("buffer_type").word(c.Buffer)
		o.list("rank_groups", len(c.Groups), func(i int) {
			o.open('{')
			o.key("size").int(int64(c.Groups[i].Size))
			o.key("ranks").ints(c.Groups[i].Ranks)
			o.close('}')
		})
	}
	o.close('}')
}

func (o *jsonOut) block(b *Block) {
	o.open('{')
	o.key("id").int(int64(b.ID))
	o.list("ops", len(b.Ops), func(i int) { o.op(&b.Ops[i]) })
	o.list("channels", len(b.Channels), func(i int) { o.ids(planIDKeys, &b.Channels[i]) })
	o.list("remote_buffer_refs", len(b.Remote), func(i int) { o.ids(planRemoteIDKeys, &b.Remote[i]) })
	o.close('}')
}

func (o *jsonOut) ids(keys []string, x *IDs) {
	o.open('{')
	o.key(keys[0]).word(x.Type)
	o.key(keys[1]).ints(x.IDs)
	o.close('}')
}

func (o *jsonOut) op(op *Op) {
	o.open('{')
	o.key("name").word(op.Name)
	if op.Name == "barrier" {
		o.key("barrier_id").int(int64(op.Barrier))
		o.key("num_threadblocks").int(int64(op.Blocks))
	}
	o.buffs("src_buff", op.Src)
	o.buffs("dst_buff", op.Dst)
	if op.ChannelIDs != nil {
		o.key("channel_ids").ints(op.ChannelIDs)
	}
	if op.Type != "" {
		o.key("channel_type").word(op.Type)
	}
	if op.Semaphores != nil {
		o.key("semaphore_ids").ints(op.Semaphores)
	}
	if p := op.Part; p != nil {
		o.key("tbg_info").open('{')
		o.key("tb_id").int(int64(p.ID))
		o.key("tbg_size").int(int64(p.Size))
		o.close('}')
	}
	if op.Reduce != "" {
		o.key("reduce_op").word(op.Reduce)
	}
	if l := op.Loop; l != nil {
		o.key("iter_context").open('{')
		o.key("unit_size").int(l.Unit)
		o.key("num_chunks").int(int64(l.Chunks))
		o.close('}')
		o.list("ops", len(l.Ops), func(i int) { o.op(&l.Ops[i]) })
	}
	o.close('}')
}

func (o *jsonOut) buffs(key string, list []Operand) {
	if list == nil {
		return
	}
	o.list(key, len(list), func(i int) {
		b := &list[i]
		o.open('{')
		switch b.Kind {
		case Local:
			o.key("type").word(string(rune(b.Buffer)))
		case Remote:
			o.key("buffer_id").int(int64(b.ID))
		case Switch:
			o.key("switch_channel_id").int(int64(b.ID))
		}
		o.key("index").int(int64(b.Index))
		o.key("size").int(int64(b.Size))
		if b.Rank >= 0 {
			o.key("rank").int(int64(b.Rank))
		}
		o.close('}')
	})
}
