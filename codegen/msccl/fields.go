package msccl

import (
	"math"

	"mscclc/ir/diag"
)

// A field is an attribute that an element may have. A number must lie in
// [least, most]; of text, most is the number of bytes.
type field struct {
	name        string
	text        bool
	optional    bool
	ignored     bool // may be there and means nothing to us
	least, most int64
}

// The attributes of each element, in the order in which tools write them.
var (
	algoFields = []field{
		{name: "name", text: true, optional: true, most: 255},
		{name: "proto", text: true, most: 255},
		{name: "nchannels", least: 1, most: math.MaxInt32},
		{name: "nchunksperloop", least: 1, most: math.MaxInt32},
		{name: "ngpus", least: 1, most: math.MaxInt32},
		{name: "coll", text: true, most: 255},
		{name: "inplace", most: 1},
		{name: "outofplace", optional: true, most: 1},
		{name: "minBytes", optional: true, most: math.MaxInt64},
		{name: "maxBytes", optional: true, most: math.MaxInt64},
		{name: "nthreads", ignored: true}, {name: "redop", ignored: true},
		{name: "nthreadblocks", ignored: true}, {name: "maxcount", ignored: true},
	}
	gpuFields = []field{
		{name: "id", most: math.MaxInt32},
		{name: "i_chunks", most: math.MaxInt32},
		{name: "o_chunks", most: math.MaxInt32},
		{name: "s_chunks", most: math.MaxInt32},
	}
	tbFields = []field{
		{name: "id", most: math.MaxInt32},
		{name: "send", least: -1, most: math.MaxInt32},
		{name: "recv", least: -1, most: math.MaxInt32},
		{name: "chan", most: math.MaxInt32},
	}
	stepFields = []field{
		{name: "s", most: math.MaxInt32},
		{name: "type", text: true, most: 255},
		{name: "srcbuf", text: true, most: 255},
		{name: "srcoff", least: math.MinInt32, most: math.MaxInt32},
		{name: "dstbuf", text: true, most: 255},
		{name: "dstoff", least: math.MinInt32, most: math.MaxInt32},
		{name: "cnt", least: math.MinInt32, most: math.MaxInt32},
		{name: "depid", least: -1, most: math.MaxInt32},
		{name: "deps", least: math.MinInt32, most: math.MaxInt32},
		{name: "hasdep", most: 1},
	}
)

// The indices of fields.
const (
	algoName = iota
	algoProto
	algoChannels
	algoDivisor
	algoRanks
	algoColl
	algoInplace
	algoOutofplace
	algoMin
	algoMax
)
const (
	gpuID = iota
	gpuInput
	gpuOutput
	gpuScratch
)
const (
	tbID = iota
	tbSend
	tbRecv
	tbChannel
)
const (
	stepS = iota
	stepType
	stepSrcBuf
	stepSrc
	stepDstBuf
	stepDst
	stepCount
	stepDepBlock
	stepDepStep
	stepHasDep
)

// values holds the attributes of one tag, by field.
type values struct {
	attr [16]*attr // nil where it is absent
	num  [16]int64
}

func (v *values) text(i int) string {
	if v.attr[i] == nil {
		return ""
	}
	return string(v.attr[i].value)
}

// fields matches t's attributes with what the element may have and reports
// what is missing, doubled, unknown or no number. It says whether all was well.
func (x *reader) fields(t *tag, want []field, v *values) bool {
	*v = values{}
	good := true
	for k := range t.attrs {
		a := &t.attrs[k]
		i := findField(want, a.key, k)
		if i < 0 {
			x.report(diag.Malformed, t.span(a), "<%s> has no attribute %q", t.name, a.key)
			good = false
			continue
		}
		f := &want[i]
		if v.attr[i] != nil {
			x.report(diag.Malformed, t.span(a), "attribute %s stands twice", a.key)
			good = false
			continue
		}
		v.attr[i] = a
		if f.ignored {
			continue
		}
		if f.text {
			if int64(len(a.value)) > f.most || !printable(a.value) {
				x.report(diag.Malformed, t.span(a), "the value of %s is no plain text of up to %d bytes", f.name, f.most)
				good = false
			}
			continue
		}
		n, ok := number(a.value)
		if !ok || n < f.least || n > f.most {
			x.report(diag.Malformed, t.span(a), "%s is %q, not a number from %d to %d", f.name, diag.Clip(a.value),
				f.least, f.most)
			good = false
		}
		v.num[i] = n
	}
	for i := range want {
		if f := &want[i]; v.attr[i] == nil && !f.optional && !f.ignored {
			x.report(diag.Malformed, t.whole(), "<%s> lacks attribute %s", t.name, f.name)
			good = false
		}
	}
	return good
}

// findField finds key among want; it is guess in most files.
func findField(want []field, key []byte, guess int) int {
	if guess < len(want) && want[guess].name == string(key) {
		return guess
	}
	for i := range want {
		if want[i].name == string(key) {
			return i
		}
	}
	return -1
}

// number reads a decimal number. Leading zeros are none: the runtimes would
// take them for octal.
func number(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 || (b[0] == '0' && (len(b) > 1 || negative)) {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
