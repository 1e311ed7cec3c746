package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// Rows are the memory of one call of a program with an epilogue, on all ranks: inputs of random elements and random
// operands of the stages, and all that the call writes, filled with poison: outputs, updated residuals and scales. What
// stages read is the same for equal sums, whatever rank has them.
type Rows struct {
	*Buffers          // Geo counts elements: those of sums, and of finished rows
	RowGeo   Geometry // counts rows
	Then     epilogue.List
	Length   int       // elements of a row
	Values   []float64 // by stage
	Out      DType     // of finished rows

	memory []rowMemory // by rank
}

// rowMemory is what the stages of a rank read and write, by stage. reads and wants are what First and Second held
// before the run, of those that are only read.
type rowMemory struct {
	first, second, reads, wants [][]byte
}

// NewRows makes the memory of a call and fills it. geo counts rows of `length` elements of type t. The same seed gives
// the same elements.
func NewRows(geo Geometry, then epilogue.List, length int, t DType, seed uint64) *Rows {
	return NewRowsFor(allRanks(geo.Coll.Ranks), geo, then, length, t, seed)
}

// NewRowsFor is NewRows of some ranks, as NewFor is New.
func NewRowsFor(ranks []int, geo Geometry, then epilogue.List, length int, t DType, seed uint64) *Rows {
	n := int64(length)
	elems := Geometry{Coll: geo.Coll, Elems: geo.Elems * n, Chunk: geo.Chunk * n}
	d := &Rows{RowGeo: geo, Then: then, Length: length, Out: t}
	if end := then.OutType(); end != nil {
		d.Out, _ = DTypeByName(end.Name)
	}
	d.Buffers = newBuffers(ranks, &Buffers{Geo: elems, DType: t, RedOp: Sum, seed: seed, rows: true},
		d.Out)
	for i, s := range then {
		d.Values = append(d.Values, rowValue(s, mix(seed^uint64(i)<<40)))
	}
	d.memory = make([]rowMemory, geo.Coll.Ranks)
	for _, rank := range ranks {
		d.lay(rank)
	}
	d.Reset()
	return d
}

// rowValue returns a random value of a stage.
func rowValue(s epilogue.Stage, random uint64) float64 {
	switch s.Row().Value {
	case "eps":
		return []float64{1e-6, 1e-5, 1e-3, 0.5}[random%4]
	case "factor":
		return math.Copysign(0.25+float64(random%1024)/512, float64(random>>12%2)-0.5)
	}
	return 0
}

// lay makes what the stages of a rank have.
func (d *Rows) lay(rank int) {
	r, m, size := &d.rank[rank], &d.memory[rank], int64(d.DType.Size())
	_, out, _, _, _ := d.RowGeo.Buffers(rank)
	row := int64(d.Length) * size
	bytesOf := map[epilogue.Operand]int64{epilogue.Vector: row, epilogue.Rows: out * row,
		epilogue.Scales: out * int64(d.Then.Scales(d.Length)) * 4}
	buffer := func(is epilogue.Operand) []byte {
		if is == epilogue.Nothing {
			return nil
		}
		return r.buffer(bytesOf[is])
	}
	for i, s := range d.Then {
		row := s.Row()
		first, second := d.read(rank, i)
		m.reads, m.wants = append(m.reads, first), append(m.wants, second)
		m.first, m.second = append(m.first, buffer(row.Reads)), append(m.second, buffer(max(row.Wants, row.Writes)))
	}
}

// read returns what stage i of a rank reads: of the first operand and of the second, nil where it reads nothing.
func (d *Rows) read(rank, i int) (first, second []byte) {
	row := d.Then[i].Row()
	switch row.Reads {
	case epilogue.Vector:
		first = d.vector(i, 0, row.Whole)
	case epilogue.Rows:
		first = d.residual(rank)
	}
	if row.Wants == epilogue.Vector {
		second = d.vector(i, 1, false)
	}
	return first, second
}

// vector returns a vector that stage i reads: weights are near 1.
func (d *Rows) vector(i, which int, weights bool) []byte {
	buf := make([]byte, d.Length*d.DType.Size())
	for k := range d.Length {
		x := unit(mix(d.seed ^ uint64(2*i+which+1)<<48 ^ uint64(k)))
		if weights {
			x = 1 + x/2
		}
		d.DType.PutFloat(buf, k, x)
	}
	return buf
}

// residual returns a rank's residual. Chunks that want the same sum have the same.
func (d *Rows) residual(rank int) []byte {
	_, out, _, _, _ := d.Geo.Buffers(rank)
	buf := make([]byte, out*int64(d.DType.Size()))
	for index := range d.Geo.Coll.OutChunks(rank) {
		first, from := d.Geo.Offset(index), d.sumOf(rank, index)
		for k := range d.Geo.Length(d.Geo.Coll.Class(index)) {
			d.DType.PutFloat(buf, int(first+k), 2*unit(mix(d.seed^0x7e5^mix(from+uint64(k)))))
		}
	}
	return buf
}

// sumOf numbers what an output chunk wants: where it wants the sum of all ranks' input, by the place of this.
func (d *Rows) sumOf(rank, index int) uint64 {
	if want := d.Geo.Coll.Want(rank, index); want.Sum && !want.Any {
		return uint64(d.Geo.Offset(int(want.Part.Index)))
	}
	return uint64(rank+1)<<48 + uint64(d.Geo.Offset(index))
}

// unit returns a number in [-1, 1), of random bits.
func unit(random uint64) float64 { return float64(int64(random)>>11) / (1 << 52) }

// Reset makes the memory as it was before the first run.
func (d *Rows) Reset() {
	d.Buffers.Reset()
	for i := range d.memory {
		m := &d.memory[i]
		for k := range m.first {
			copy(m.first[k], m.reads[k])
			copy(m.second[k], m.wants[k])
		}
	}
}

// InPlace has stages update the residual where it lies, from the next Reset on.
func (d *Rows) InPlace() {
	for i := range d.memory {
		for k := range d.memory[i].first {
			if d.Then[k].Kind == epilogue.Residual {
				d.memory[i].first[k] = d.memory[i].second[k]
			}
		}
	}
}

// Operands returns what the stages of a rank have, as a call takes it.
func (d *Rows) Operands(rank int) (first, second [][]byte) {
	return d.memory[rank].first, d.memory[rank].second
}

// Check compares all that a call wrote with the collective and the epilogue computed directly, and looks at the guards
// and at what is only read.
func (d *Rows) Check() Report { return d.CheckRanks(allRanks(len(d.rank))) }

// CheckRanks is Check of some ranks.
func (d *Rows) CheckRanks(ranks []int) Report {
	var rep Report
	for _, rank := range ranks {
		d.checkGuards(rank, &rep)
		m := &d.memory[rank]
		for i := range d.Then {
			changed := func(is, was []byte) bool { return was != nil && !bytes.Equal(is, was) }
			inPlace := len(m.first[i]) > 0 && len(m.second[i]) > 0 && &m.first[i][0] == &m.second[i][0]
			if !inPlace && changed(m.first[i], m.reads[i]) || changed(m.second[i], m.wants[i]) {
				rep.Broken = append(rep.Broken, fmt.Sprintf("rank %d: an operand of %s was written", rank, d.Then[i].Row().Name))
			}
		}
	}
	d.checkInputs(ranks, &rep)
	d.checkRows(ranks, &rep)
	return rep
}

// checkRows compares finished rows, updated residuals and scales.
func (d *Rows) checkRows(ranks []int, rep *Report) {
	var list []rowClaim
	var lengths []int64
	for _, rank := range ranks {
		for index := range d.Geo.Coll.OutChunks(rank) {
			want := d.Geo.Coll.Want(rank, index)
			if rows := d.RowGeo.Length(d.Geo.Coll.Class(index)); !want.Any && rows > 0 {
				parts, _ := d.parts(want)
				list = append(list, rowClaim{rank, index, parts})
				lengths = append(lengths, rows)
			}
		}
	}
	found := &findings{rep: rep}
	for i := range list {
		rep.Checked += lengths[i] * int64(d.Length)
	}
	spread(lengths, max(1, someElems/int64(d.Length)), func(i int, first, end int64) {
		for row := first; row < end; row++ {
			d.checkRow(&list[i], row, found)
		}
	})
}

// A rowClaim is an output chunk, and the parts whose sums it finishes.
type rowClaim struct {
	rank, index int
	parts       []ir.Part
}

// checkRow compares a row of a chunk.
func (d *Rows) checkRow(x *rowClaim, row int64, found *findings) {
	at := d.RowGeo.Offset(x.index) + row // in the output
	n, m := int64(d.Length), &d.memory[x.rank]
	want := d.wantRow(x, row, at)
	compare := func(of string, buf []byte, t DType, first int64, list []bounded) {
		wrong, least := int64(0), -1
		for k, w := range list {
			if !w.holds(t.value(buf, int(first)+k), t) {
				if wrong++; least < 0 {
					least = k
				}
			}
		}
		found.add(of, claimant{x.rank, x.rank, x.index}, wrong, row*int64(len(list))+int64(least), func() (string, string) {
			return fmt.Sprint(t.value(buf, int(first)+least)), list[least].String()
		})
	}
	compare("", d.rank[x.rank].output, d.Out, at*n, want.row)
	for i, s := range d.Then {
		switch s.Row().Writes {
		case epilogue.Rows:
			compare("updated residual of", m.second[i], d.DType, at*n, want.updated)
		case epilogue.Scales:
			compare("scales of", m.second[i], F32, at*int64(len(want.scales)), want.scales)
		}
	}
}

// wantRow computes what becomes of row `row` of a chunk, which is row `at` of the output.
func (d *Rows) wantRow(x *rowClaim, row, at int64) *rowWant {
	n := int64(d.Length)
	sum := expected{value: make([]float64, n), bound: make([]float64, n)}
	f, operands := newFold(d.DType, Sum, len(x.parts)), make([][]byte, len(x.parts))
	for i, p := range x.parts {
		operands[i] = d.stretch(p, row*n, (row+1)*n)
	}
	for first := int64(0); first < n; first += runElems {
		last := min(first+runElems, n)
		f.run(operands, first, sum.part(first, last))
	}
	calls := make([]epilogue.Call, len(d.Then))
	for i, s := range d.Then {
		m, first := &d.memory[x.rank], int64(0)
		if s.Row().Reads == epilogue.Rows {
			first = at * n
		}
		calls[i] = epilogue.Call{Value: d.Values[i], Reads: d.decode(m.reads[i], first), Wants: d.decode(m.wants[i], 0)}
	}
	return newRowWant(d, sum, calls)
}

// decode returns the elements of a row from one on; nil of no memory.
func (d *Rows) decode(buf []byte, first int64) []float64 {
	if buf == nil {
		return nil
	}
	list := make([]float64, d.Length)
	d.DType.floats(list, buf[first*int64(d.DType.Size()):])
	return list
}

// value decodes an element of an output: a float, or i8.
func (t DType) value(buf []byte, i int) float64 {
	if t == I8 {
		return float64(int8(buf[i]))
	}
	if t == F32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:])))
	}
	return t.Float(buf, i)
}
