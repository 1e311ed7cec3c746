package explore

import "mscclc/ir"

// op adds a local step, or a transfer, or receives one that is late.
func (g *generator) op() {
	for range 8 {
		switch k := g.rnd.Intn(10); {
		case k < 4:
			if g.local() {
				return
			}
		case k < 5 && len(g.late) > 0:
			g.receive(g.rnd.Intn(len(g.late)))
			return
		case g.send():
			for g.rnd.Intn(g.delay) > 0 && len(g.late) > 0 {
				g.receive(len(g.late) - 1)
			}
			return
		}
	}
}

func (g *generator) emit(b *draftBlock, s ir.Step) *draftStep {
	g.serial++
	s.DepBlock, s.DepStep, s.Pos = -1, -1, -1
	step := &draftStep{Step: s, serial: g.serial}
	b.steps = append(b.steps, step)
	return step
}

// operand chooses a place of a rank for count chunks, which all hold
// something where it is to be read. Writes to input that is not output are
// rare.
func (g *generator) operand(rank, count int32, read bool) (buf ir.Buf, index int32, ok bool) {
	for range 6 {
		buf, index = ir.Buf(g.rnd.Intn(3)), -1
		if g.rnd.Intn(3) == 0 { // where the rank was before: there it may race
			buf, index = g.hot[rank].buf, g.hot[rank].index
			if g.rnd.Intn(3) == 0 { // or beside it, where messages of one step differ
				index += int32(g.rnd.Intn(3)) - 1
			}
		}
		if !read && buf == ir.Input && !g.Coll.Inplace && g.rnd.Intn(8) > 0 {
			continue
		}
		n := []int32{int32(g.Coll.In), int32(g.Coll.Out), g.Scratch[rank]}[buf] - count
		if n < 0 {
			continue
		}
		if index < 0 || index > n {
			index = g.rnd.Int31n(n + 1)
		}
		ok = true
		for i := range int(count) {
			size := g.size[g.mem.Cell(int(rank), buf, int(index)+i)]
			ok = ok && (!read || size > 0 && size < 32)
		}
		if ok {
			g.hot[rank] = operand{buf, index}
			return buf, index, true
		}
	}
	return ir.NoBuf, 0, false
}

// count is at most the chunks of input, so that every rank has room.
func (g *generator) count() int32 {
	return min(1+int32(g.rnd.Intn(4)*g.rnd.Intn(2)), int32(g.Coll.In))
}

// aliases says that two places of a rank overlap in part.
func (g *generator) aliases(rank int32, s *ir.Step) bool {
	d := int32(g.mem.Cell(int(rank), s.SrcBuf, int(s.Src)) - g.mem.Cell(int(rank), s.DstBuf, int(s.Dst)))
	return d != 0 && d < s.Count && -d < s.Count
}

// local adds a copy or a reduction to some block, or one more reduction to a
// chain.
func (g *generator) local() bool {
	b := g.blocks[g.rnd.Intn(len(g.blocks))]
	s := ir.Step{Op: ir.Copy, Count: g.count()}
	var ok, ok2 bool
	s.SrcBuf, s.Src, ok = g.operand(b.Rank, s.Count, true)
	reduces := g.rnd.Intn(2) == 0
	s.DstBuf, s.Dst, ok2 = g.operand(b.Rank, s.Count, reduces)
	if reduces {
		s.Op = ir.Reduce
	}
	if !ok || !ok2 || g.aliases(b.Rank, &s) || s.Op == ir.Copy && s.Src == s.Dst && s.SrcBuf == s.DstBuf {
		return false
	}
	if n := len(b.steps); n > 0 && b.steps[n-1].Op == ir.Reduce && reduces {
		if last := &b.steps[n-1].Step; g.rnd.Intn(2) == 0 { // chain them
			s.DstBuf, s.Dst, s.Count, s.SrcBuf = last.DstBuf, last.Dst, last.Count, last.SrcBuf
			s.Src, ok = g.like(b.Rank, &s)
			if !ok {
				return false
			}
		}
	}
	g.emit(b, s)
	for i := range int(s.Count) {
		src, dst := g.mem.Cell(int(b.Rank), s.SrcBuf, int(s.Src)+i), g.mem.Cell(int(b.Rank), s.DstBuf, int(s.Dst)+i)
		if size := g.size[src]; s.Op == ir.Reduce {
			g.size[dst] += size
		} else {
			g.size[dst] = size
		}
	}
	return true
}

// like finds another source in the buffer of s that does not touch its
// destination.
func (g *generator) like(rank int32, s *ir.Step) (int32, bool) {
	for range 6 {
		buf, index, ok := g.operand(rank, s.Count, true)
		if !ok || buf != s.SrcBuf {
			continue
		}
		src, dst := g.mem.Cell(int(rank), buf, int(index)), g.mem.Cell(int(rank), s.DstBuf, int(s.Dst))
		if src-dst >= int(s.Count) || dst-src >= int(s.Count) {
			return index, true
		}
	}
	return 0, false
}

// send begins a transfer.
func (g *generator) send() bool {
	b := g.blocks[g.rnd.Intn(len(g.blocks))]
	if b.SendPeer < 0 {
		return false
	}
	s := ir.Step{Op: ir.Send, Count: g.count(), DstBuf: ir.NoBuf}
	var ok bool
	if s.SrcBuf, s.Src, ok = g.operand(b.Rank, s.Count, true); !ok {
		return false
	}
	g.emit(b, s)
	size := make([]int, s.Count)
	for i := range size {
		size[i] = g.size[g.mem.Cell(int(b.Rank), s.SrcBuf, int(s.Src)+i)]
	}
	g.on(b, size)
	return true
}

// on puts a message of b on its way.
func (g *generator) on(b *draftBlock, size []int) {
	for _, to := range g.blocks {
		if to.Rank == b.SendPeer && to.RecvPeer == b.Rank && to.Channel == b.Channel {
			g.late = append(g.late, late{to: to, from: b, count: int32(len(size)), size: size})
		}
	}
}

// receive makes the receive of the first late transfer of the connection of
// late transfer i; the receive may send on.
func (g *generator) receive(i int) {
	for k := range g.late {
		if g.late[k].from == g.late[i].from {
			i = k
			break
		}
	}
	l := g.late[i]
	g.late = append(g.late[:i:i], g.late[i+1:]...)
	b := l.to
	s := ir.Step{Count: l.count, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf}
	reduces := g.rnd.Intn(2) == 0
	if reduces {
		s.SrcBuf, s.Src, reduces = g.operand(b.Rank, l.count, true)
	}
	sends := b.SendPeer >= 0 && g.rnd.Intn(2) == 0 && g.serial < 40
	keeps := !sends || !reduces || g.rnd.Intn(3) > 0
	if keeps {
		g.keep(b.Rank, &s, reduces)
	}
	s.Op = receiveOp(reduces, sends, keeps)
	g.emit(b, s)
	g.received(b, &s, l.size, reduces, sends)
}

// keep chooses where s puts what it receives: often where it reads, where it
// reduces, and the first chunks of input where nothing else is found.
func (g *generator) keep(rank int32, s *ir.Step, reduces bool) {
	ok := false
	if !reduces || g.rnd.Intn(3) > 0 {
		s.DstBuf, s.Dst, ok = g.operand(rank, s.Count, false)
	}
	switch {
	case reduces && (!ok || g.aliases(rank, s)):
		s.DstBuf, s.Dst = s.SrcBuf, s.Src
	case !ok:
		s.DstBuf, s.Dst = ir.Input, 0
	}
}

func receiveOp(reduces, sends, keeps bool) ir.Op {
	switch {
	case reduces && sends && keeps:
		return ir.RecvReduceCopySend
	case reduces && sends:
		return ir.RecvReduceSend
	case reduces:
		return ir.RecvReduceCopy
	case sends:
		return ir.RecvCopySend
	}
	return ir.Recv
}

// received notes what step s of b has made of a message.
func (g *generator) received(b *draftBlock, s *ir.Step, message []int, reduces, sends bool) {
	size := make([]int, len(message))
	for i := range size {
		size[i] = message[i]
		if reduces {
			size[i] += g.size[g.mem.Cell(int(b.Rank), s.SrcBuf, int(s.Src)+i)]
		}
	}
	if s.DstBuf != ir.NoBuf {
		for i := range size {
			g.size[g.mem.Cell(int(b.Rank), s.DstBuf, int(s.Dst)+i)] = size[i]
		}
	}
	if sends {
		g.on(b, size)
	}
}
