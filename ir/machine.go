package ir

// A Machine is the memory of all ranks in a symbolic run, and runs one action
// after the other on it.
type Machine struct {
	Values *Values
	Coll   *Collective
	Mem    *Memory

	// Read is called at the first chunk of an action's operands that nothing has
	// written, Class at the first whose class is not the action's. Where Class is
	// nil, classes are not looked at. Both get the action's id.
	Read  func(id int32, rank int, b Buf, index int)
	Class func(id int32, rank int, b Buf, index int)

	// Made, where not nil, is called with what an action that reduces has made.
	Made func(id int32, results []Value)

	cell   []Value
	writer []int32 // the action that wrote a cell last, or -1
	class  []int32 // of what a scratch cell holds
	pool   messagePool
}

// An Action is what one instruction or step does to its rank's memory.
type Action struct {
	Op             Op
	SrcBuf, DstBuf Buf
	Rank           int32
	Src, Dst       int32
	Count, Class   int32
}

// NewMachine returns the memory of c before anything has run: every rank's
// input holds its leaves, and all else nothing.
func NewMachine(c *Collective, mem *Memory) *Machine {
	m := &Machine{Values: NewValues(c), Coll: c, Mem: mem, cell: make([]Value, mem.Len()), writer: make([]int32, mem.Len())}
	for i := range m.cell {
		m.cell[i], m.writer[i] = None, -1
	}
	for r := range c.Ranks {
		at := mem.Cell(r, Input, 0)
		for i := range c.InChunks(r) {
			m.cell[at+i] = m.Values.Leaf(r, i)
		}
	}
	return m
}

// Exec runs a. It takes the message in where a receives, and fills the
// message out where a sends; both are Count long. Buffers and indices must be
// in range.
func (m *Machine) Exec(id int32, a *Action, in, out []Value) {
	info := a.Op.Info()
	src, dst := 0, 0
	if info.ReadsSrc {
		src = m.Mem.Cell(int(a.Rank), a.SrcBuf, int(a.Src))
		m.check(id, a, a.SrcBuf, a.Src, src)
	}
	if info.Writes || info.ReadsDst {
		dst = m.Mem.Cell(int(a.Rank), a.DstBuf, int(a.Dst))
	}
	if info.ReadsDst {
		m.check(id, a, a.DstBuf, a.Dst, dst)
	}
	for i := range int(a.Count) {
		var x Value
		switch {
		case info.Receives && info.ReadsSrc:
			x = m.Values.Sum(m.cell[src+i], in[i])
		case info.Receives:
			x = in[i]
		case info.ReadsDst:
			x = m.Values.Sum(m.cell[dst+i], m.cell[src+i])
		case info.ReadsSrc:
			x = m.cell[src+i]
		}
		if info.Writes {
			m.cell[dst+i], m.writer[dst+i] = x, id
		}
		if info.Sends {
			out[i] = x
		}
	}
	if info.Writes && m.Class != nil {
		m.setClass(id, a, dst)
	}
	if info.Reduces && m.Made != nil {
		if info.Writes {
			out = m.cell[dst : dst+int(a.Count)]
		}
		m.Made(id, out)
	}
}

// check reports the first of a's operands in a buffer that is unwritten, and
// the first that is of another class than a says. What was written by an
// action that read something unwritten has been reported already.
func (m *Machine) check(id int32, a *Action, b Buf, index int32, cell int) {
	for i := range int(a.Count) {
		if m.cell[cell+i] == None && m.writer[cell+i] < 0 {
			if m.Read != nil {
				m.Read(id, int(a.Rank), b, int(index)+i)
			}
			break
		}
	}
	if m.Class == nil {
		return
	}
	for i := range int(a.Count) {
		if m.classOf(b, int(index)+i, cell+i) != m.wantClass(a, i) {
			m.Class(id, int(a.Rank), b, int(index)+i)
			break
		}
	}
}

func (m *Machine) wantClass(a *Action, i int) int { return m.Coll.Class(int(a.Class) + i) }

// classOf is the class of what chunk index of b, which is cell, holds.
func (m *Machine) classOf(b Buf, index, cell int) int {
	if b < Scratch {
		return m.Coll.Class(index)
	}
	if m.class == nil {
		return 0
	}
	return int(m.class[cell])
}

func (m *Machine) setClass(id int32, a *Action, cell int) {
	if a.DstBuf >= Scratch {
		if m.class == nil {
			m.class = make([]int32, len(m.cell))
		}
		for i := range int(a.Count) {
			m.class[cell+i] = int32(m.wantClass(a, i))
		}
		return
	}
	for i := range int(a.Count) {
		if m.Coll.Class(int(a.Dst)+i) != m.wantClass(a, i) {
			m.Class(id, int(a.Rank), a.DstBuf, int(a.Dst)+i)
			return
		}
	}
}

// At returns what chunk index of a buffer holds and which action wrote it
// last, or -1.
func (m *Machine) At(rank int, b Buf, index int) (Value, int32) {
	cell := m.Mem.Cell(rank, b, index)
	return m.cell[cell], m.writer[cell]
}

// Wrong calls report for every chunk of every output that does not hold what
// the collective wants.
func (m *Machine) Wrong(report func(rank, index int, got Value, want Want, writer int32)) {
	for r := range m.Coll.Ranks {
		for i := range m.Coll.OutChunks(r) {
			want := m.Coll.Want(r, i)
			if got, writer := m.At(r, Output, i); !m.Values.Matches(got, want) {
				report(r, i, got, want, writer)
			}
		}
	}
}
