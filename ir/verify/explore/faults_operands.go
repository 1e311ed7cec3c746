package explore

import "mscclc/ir"

// delta is -1 or 1, seldom more.
func (m *mutant) delta() int32 {
	d := int32(1 + m.rnd.Intn(2)*m.rnd.Intn(2))
	if m.rnd.Intn(2) == 0 {
		return -d
	}
	return d
}

func (m *mutant) offset() bool {
	s := m.step()
	switch {
	case s == nil || s.Op == ir.Nop:
		return false
	case s.SrcBuf != ir.NoBuf && (s.DstBuf == ir.NoBuf || m.rnd.Intn(2) == 0):
		s.Src += m.delta()
		return s.Src >= 0
	}
	s.Dst += m.delta()
	return s.Dst >= 0
}

func (m *mutant) count() bool {
	s := m.step()
	if s == nil || s.Op == ir.Nop {
		return false
	}
	d := m.delta()
	if s.Count+d < 1 {
		return false
	}
	s.Count += d
	return true
}

// counts changes the count of the n-th send and the n-th receive of a
// connection alike. A message that is sent on keeps its count.
func (m *mutant) counts() bool {
	b, i := m.pick()
	if i < 0 || !b.steps[i].Op.Info().Sends || b.steps[i].Op.Info().Receives {
		return false
	}
	nth := 0
	for _, s := range b.steps[:i] {
		if s.Op.Info().Sends {
			nth++
		}
	}
	for _, to := range m.blocks {
		if to.Rank != b.SendPeer || to.RecvPeer != b.Rank || to.Channel != b.Channel {
			continue
		}
		for _, s := range to.steps {
			if !s.Op.Info().Receives {
				continue
			}
			if nth--; nth < 0 {
				d := m.delta()
				if s.Op.Info().Sends || s.Count+d < 1 || s.Count != b.steps[i].Count {
					return false
				}
				s.Count += d
				b.steps[i].Count += d
				return true
			}
		}
	}
	return false
}

func (m *mutant) buffer() bool {
	s := m.step()
	to := ir.Buf(m.rnd.Intn(3))
	switch {
	case s == nil || s.Op == ir.Nop:
		return false
	case s.SrcBuf != ir.NoBuf && (s.DstBuf == ir.NoBuf || m.rnd.Intn(2) == 0):
		same := s.SrcBuf == to
		s.SrcBuf = to
		return !same
	}
	same := s.DstBuf == to
	s.DstBuf = to
	return !same
}

// operation makes the step another that has the operands it needs, where one
// serves as both.
func (m *mutant) operation() bool {
	s := m.step()
	op := ir.Op(1 + m.rnd.Intn(int(ir.Move)-1))
	if s == nil || s.Op == ir.Nop || op == s.Op {
		return false
	}
	s.Op = op
	info := op.Info()
	switch {
	case info.ReadsSrc && s.SrcBuf == ir.NoBuf:
		s.SrcBuf, s.Src = s.DstBuf, s.Dst
	case (info.Writes || info.ReadsDst) && s.DstBuf == ir.NoBuf:
		s.DstBuf, s.Dst = s.SrcBuf, s.Src
	}
	if !info.ReadsSrc {
		s.SrcBuf, s.Src = ir.NoBuf, 0
	}
	if !info.Writes {
		s.DstBuf, s.Dst = ir.NoBuf, 0
	}
	return true
}
