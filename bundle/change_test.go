package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"mscclc/bundle/limits"
	"mscclc/executor/abi"
)

// This file changes bundles for TestAlike, field by field.

// A changer has a bundle, and where its rows lie: their offsets, by the name of their type.
type changer struct {
	text  []byte
	abi   [32]byte
	parts []part
	rows  map[string][]int
}

// tableTypes are the rows of others that a bundle has beside rowTypes.
var tableTypes = map[string]any{"abi_one_block": abi.OneBlock{}, "abi_one_step": abi.OneStep{},
	"abi_one_operand": abi.OneOperand{}, "net_message": abi.NetMessage{}, "net_segment": abi.NetSegment{}}

// newChanger finds the rows of a bundle.
func newChanger(t *testing.T, rnd *rand.Rand, text []byte) *changer {
	t.Helper()
	h, parts, err := sections(text)
	if err != nil {
		t.Fatal(err)
	}
	c := &changer{text, h.ABI, parts, map[string][]int{"bundle_header": {0}}}
	add := func(name string, row any, at, n int) {
		for i := range n {
			c.rows[name] = append(c.rows[name], at+i*binary.Size(row))
		}
	}
	add("bundle_section", section{}, binary.Size(h), len(parts))
	at := aligned(binary.Size(h) + len(parts)*binary.Size(section{}))
	for _, p := range parts {
		switch p.kind {
		case sectionAbout, sectionSource, sectionWhere:
			c.rows["text"] = append(c.rows["text"], at)
		case sectionSet:
			s, _ := row[setRow](p.bytes)
			add("bundle_set", s, at, 1)
			add("bundle_rule", RuleRow{}, at+binary.Size(s), int(s.Rules))
			add("number", uint32(0), at+binary.Size(s)+int(s.Rules)*binary.Size(RuleRow{}), int(s.Programs))
		case sectionProgram:
			r, _ := row[ProgramRow](p.bytes)
			list, _ := rows[partRow](p.bytes, uint64(binary.Size(r)), r.Ranks)
			add("bundle_program", r, at, 1)
			add("bundle_part", partRow{}, at+binary.Size(r), len(list))
			for _, of := range list {
				add("abi_one_block", abi.OneBlock{}, at+int(of.BlocksAt), int(of.Blocks))
				add("abi_one_step", abi.OneStep{}, at+int(of.StepsAt), int(of.Steps))
				add("abi_one_operand", abi.OneOperand{}, at+int(of.OperandsAt), int(of.Operands))
			}
		case sectionImage:
			add("bundle_image", imageRow{}, at, 1)
		case sectionNet:
			r, _ := row[netRow](p.bytes)
			add("bundle_net", r, at, 1)
			next := at + binary.Size(r)
			add("net_message", abi.NetMessage{}, next, int(r.Messages))
			add("net_segment", abi.NetSegment{}, next+int(r.Messages)*binary.Size(abi.NetMessage{}), int(r.Segments))
		case sectionNamed:
			r, _ := row[namedRow](p.bytes)
			add("bundle_named", r, at, 1)
			add("bundle_buffer", bufferRow{}, at+binary.Size(r), int(r.Buffers))
		default:
			t.Fatalf("no rows are known of sections of kind %d", p.kind)
		}
		at = aligned(at + len(p.bytes))
	}
	return c
}

// A field is a field of a row, or another part of a bundle, with what changes it.
type field struct {
	name string
	from []*changer // bundles that have it
	to   func(*changer, *rand.Rand) []byte
}

// change returns a bundle that was changed.
func (f *field) change(rnd *rand.Rand) []byte {
	for {
		c := f.from[rnd.Intn(len(f.from))]
		if text := f.to(c, rnd); !bytes.Equal(text, c.text) {
			return text
		}
	}
}

// fieldsOf returns all fields of all rows. It fails where no bundle has a row of some type.
func fieldsOf(t *testing.T, all []*changer) (list []field) {
	t.Helper()
	types := tableTypes
	for _, r := range rowTypes {
		types[r.name] = r.row
	}
	for _, name := range slices.Sorted(mapKeys(types)) {
		with := slices.DeleteFunc(slices.Clone(all), func(c *changer) bool { return len(c.rows[name]) == 0 })
		if len(with) == 0 {
			t.Fatalf("no bundle has a %s", name)
		}
		typ, typeName := reflect.TypeOf(types[name]), name
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Type.Size() == 0 {
				continue
			}
			size, count := int(f.Type.Size()), 1
			if f.Type.Kind() == reflect.Array {
				size, count = int(f.Type.Elem().Size()), f.Type.Len()
			}
			name := fmt.Sprintf("%s.%s(%d)", name, f.Name, i)
			list = append(list, field{name, with, func(c *changer, rnd *rand.Rand) []byte {
				rows := c.rows[typeName]
				at := func() int {
					return rows[rnd.Intn(len(rows))] + int(f.Offset) + size*rnd.Intn(count)
				}
				return c.write(rnd, at(), at(), size)
			}})
		}
	}
	for name, change := range map[string]func(*changer, *rand.Rand) []byte{"number": (*changer).number,
		"text": (*changer).words, "sections": (*changer).order, "length": (*changer).length, "bytes": (*changer).bytes,
		"rows": (*changer).count} {
		list = append(list, field{name, all, change})
	}
	slices.SortFunc(list, func(a, b field) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return list
}

func mapKeys(m map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// write writes a number of up to 8 bytes at an offset. It is often near the number there, near that of another row, or
// near a bound.
func (c *changer) write(rnd *rand.Rand, at, other, size int) []byte {
	var word [8]byte
	get := func(at int) uint64 {
		clear(word[:])
		copy(word[:size], c.text[at:])
		return binary.LittleEndian.Uint64(word[:])
	}
	n := get(at)
	switch rnd.Intn(9) {
	case 0:
		n++
	case 1:
		n--
	case 2:
		n = get(other)
	case 3:
		n = uint64(rnd.Intn(4))
	case 4:
		n = limits.All[rnd.Intn(len(limits.All))].Value + uint64(rnd.Intn(3)) - 1
	case 5:
		n = 1<<rnd.Intn(64) - uint64(rnd.Intn(2))
	case 6:
		n ^= 1 << rnd.Intn(8*size)
	case 7:
		n += uint64(rnd.Intn(9)-4) * 64
	case 8:
		n = rnd.Uint64() >> rnd.Intn(64)
	}
	text := bytes.Clone(c.text)
	copy(text[at:at+size], binary.LittleEndian.AppendUint64(nil, n))
	return summed(text, at)
}

// summed makes the checksums of a bundle right, but for that of which a byte was changed.
func summed(text []byte, changed int) []byte {
	var h header
	size, one := binary.Size(h), binary.Size(section{})
	table, _ := reflect.TypeOf(h).FieldByName("Table")
	hashed, _ := reflect.TypeOf(section{}).FieldByName("SHA256")
	if _, err := binary.Decode(text, binary.LittleEndian, &h); err != nil {
		return text
	}
	sum := func(to int, of []byte) {
		if hash := sha256.Sum256(of); to > changed || to+len(hash) <= changed {
			copy(text[to:], hash[:])
		}
	}
	for i := 0; i < int(h.Sections) && size+(i+1)*one <= len(text); i++ {
		var s section
		binary.Decode(text[size+i*one:], binary.LittleEndian, &s)
		if s.Offset <= uint64(len(text)) && s.Bytes <= uint64(len(text))-s.Offset {
			sum(size+i*one+int(hashed.Offset), text[s.Offset:s.Offset+s.Bytes])
		}
	}
	if end := size + int(h.Sections)*one; end <= len(text) {
		sum(int(table.Offset), text[size:end])
	}
	return text
}

// number changes the number of a program in a set.
func (c *changer) number(rnd *rand.Rand) []byte {
	at := func() int { return c.rows["number"][rnd.Intn(len(c.rows["number"]))] }
	return c.write(rnd, at(), at(), 4)
}

// words changes a byte of a text, or its length.
func (c *changer) words(rnd *rand.Rand) []byte {
	parts := slices.Clone(c.parts)
	for {
		p := &parts[rnd.Intn(len(parts))]
		if p.kind != sectionAbout && p.kind != sectionSource && p.kind != sectionWhere || len(p.bytes) == 0 {
			continue
		}
		p.bytes = bytes.Clone(p.bytes)
		switch at := rnd.Intn(len(p.bytes)); rnd.Intn(3) {
		case 0:
			p.bytes[at] = byte(rnd.Int())
		case 1:
			p.bytes = p.bytes[:at]
		case 2:
			p.bytes = append(p.bytes, "line\n"...)
		}
		return assemble(c.abi, parts)
	}
}

// order leaves out a section, has one twice, exchanges two, or gives one another kind.
func (c *changer) order(rnd *rand.Rand) []byte {
	parts := slices.Clone(c.parts)
	i, k := rnd.Intn(len(parts)), rnd.Intn(len(parts))
	switch rnd.Intn(5) {
	case 0:
		parts = slices.Delete(parts, i, i+1)
	case 1:
		parts = slices.Insert(parts, i, parts[i])
	case 2:
		parts[i], parts[k] = parts[k], parts[i]
	case 3:
		parts[i].bytes, parts[k].bytes = parts[k].bytes, parts[i].bytes
	case 4:
		parts[i].bytes = nil
	}
	return assemble(c.abi, parts)
}

// length cuts a bundle, or makes it longer; half of them say so in their header.
func (c *changer) length(rnd *rand.Rand) []byte {
	text := append(bytes.Clone(c.text), make([]byte, 64*rnd.Intn(3))...)
	text = text[:len(text)-rnd.Intn(130)]
	if rnd.Intn(2) == 0 {
		binary.LittleEndian.PutUint64(text[16:], uint64(len(text)))
	}
	return summed(text, -1)
}

// bytes changes any byte: most are of no row, or of code.
func (c *changer) bytes(rnd *rand.Rand) []byte {
	text, at := bytes.Clone(c.text), rnd.Intn(len(c.text))
	text[at] ^= 1 << rnd.Intn(8)
	return summed(text, at)
}

// count takes rows of rules, or puts some in, and leaves the rest of the bundle right.
func (c *changer) count(rnd *rand.Rand) []byte {
	b, err := decode(c.text)
	if err != nil {
		panic(err) // it was read before
	}
	s := &b.Sets[rnd.Intn(len(b.Sets))]
	for range rnd.Intn(3) {
		if len(s.Rules) > 0 && rnd.Intn(2) == 0 {
			s.Rules = slices.Delete(s.Rules, len(s.Rules)-1, len(s.Rules))
		} else {
			r := RuleRow{Kind: uint8(rnd.Intn(9)), DType: Any, RedOp: Any, Root: Any, When: uint8(rnd.Intn(8)), Program: NCCLRow}
			s.Rules = append(s.Rules, r)
		}
	}
	return Encode(b)
}
