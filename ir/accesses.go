package ir

// Accesses know, while the steps of a program come by in some order, of each cell which step wrote it last and which
// have read it since. They keep that by runs of cells: Cut makes runs of the cells of an operand, which the others are
// then asked about one by one, from the first to End of the last.
type Accesses struct {
	runs  *Runs
	known []access // of the first cell of a run
	nodes []reader
	free  int32 // 1 + the first unused node
}

type access struct {
	writer int32 // 1 + the step that wrote the run last
	reader int32 // 1 + the node of the last that has read it since
}

// A reader is a node of a list of the steps that have read a run.
type reader struct{ step, next int32 }

// NewAccesses returns n cells that no step has accessed.
func NewAccesses(n int) *Accesses {
	return &Accesses{runs: NewRuns(n), known: make([]access, max(n, 1))}
}

// Clear forgets all accesses to all cells, of which those outside first to end have had none.
func (a *Accesses) Clear(first, end int) {
	a.nodes, a.free = a.nodes[:0], 0
	if first < end {
		a.runs.Cut(first)
		a.runs.Cut(end)
		a.runs.Join(first, end)
		a.known[first] = access{}
	}
}

// Cut lets a run begin at cell and one end n cells later.
func (a *Accesses) Cut(cell, n int) {
	a.cut(cell)
	a.cut(cell + n)
}

func (a *Accesses) cut(cell int) {
	first := a.runs.Cut(cell)
	if first < 0 {
		return
	}
	copied, last := int32(0), int32(0)
	for at := a.known[first].reader; at != 0; at = a.nodes[at-1].next {
		n := a.node(a.nodes[at-1].step, 0)
		if last == 0 {
			copied = n
		} else {
			a.nodes[last-1].next = n
		}
		last = n
	}
	a.known[cell] = access{a.known[first].writer, copied}
}

func (a *Accesses) node(step, next int32) int32 {
	if at := a.free; at != 0 {
		a.free = a.nodes[at-1].next
		a.nodes[at-1] = reader{step, next}
		return at
	}
	a.nodes = append(a.nodes, reader{step, next})
	return int32(len(a.nodes))
}

// End returns where the run that cell lies in ends.
func (a *Accesses) End(cell int) int { return a.runs.End(cell) }

// Writer returns the step that wrote the run that begins at cell last, or -1.
func (a *Accesses) Writer(cell int) int32 { return a.known[cell].writer - 1 }

// HasReader reports whether a step has read the run that begins at cell since.
func (a *Accesses) HasReader(cell int) bool { return a.known[cell].reader != 0 }

// Readers calls f with each step that has read the run that begins at cell since, the last first.
func (a *Accesses) Readers(cell int, f func(step int32)) {
	for at := a.known[cell].reader; at != 0; at = a.nodes[at-1].next {
		f(a.nodes[at-1].step)
	}
}

// First returns the first cell of the run that cell lies in.
func (a *Accesses) First(cell int) int { return a.runs.First(cell) }

// Read notes that a step reads the run that begins at cell.
func (a *Accesses) Read(step int32, cell int) {
	if was := &a.known[cell]; was.reader == 0 || a.nodes[was.reader-1].step != step {
		was.reader = a.node(step, was.reader)
	}
}

// Write notes that a step writes n cells from cell on, at least one, of which Cut has made runs. They are one run then.
func (a *Accesses) Write(step int32, cell, n int) {
	for k := cell; k < cell+n; k = a.runs.End(k) {
		for at := a.known[k].reader; at != 0; {
			next := a.nodes[at-1].next
			a.nodes[at-1].next, a.free = a.free, at
			at = next
		}
	}
	if n > 1 {
		a.runs.Join(cell, cell+n)
	}
	a.known[cell] = access{writer: step + 1}
}
