package msccl

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mscclc/ir/diag"
)

// A field is an attribute that an element may have. A number must lie in
// [least, most]; of text, most is the number of bytes.
type field struct {
	name        string
	text        bool
	optional    bool
	ignored     bool     // may be there and means nothing to us
	wanted      []string // optional, and targets that want it all the same
	least, most int64
}

// The attributes of each element, in the order in which tools write them.
var (
	algoFields = []field{
		{name: "name", text: true, optional: true, most: 255, wanted: []string{"msccl"}},
		{name: "proto", text: true, most: 255},
		{name: "nchannels", least: 1, most: math.MaxInt32},
		{name: "nchunksperloop", least: 1, most: math.MaxInt32},
		{name: "ngpus", least: 1, most: math.MaxInt32},
		{name: "coll", text: true, most: 255},
		{name: "inplace", most: 1},
		{name: "outofplace", optional: true, most: 1, wanted: []string{"rccl"}},
		{name: "minBytes", optional: true, most: math.MaxInt64, wanted: []string{"rccl"}},
		{name: "maxBytes", optional: true, most: math.MaxInt64, wanted: []string{"rccl"}},
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
	algoThreads
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
// what is missing, doubled, lost, mistaken or no number. It says whether all was well.
func (x *reader) fields(t *tag, want []field, v *values) bool {
	*v = values{}
	good, unknown := true, 0
	for k := range t.attrs {
		a := &t.attrs[k]
		i := findField(want, a.key, k)
		if i < 0 {
			unknown++
			continue
		}
		if v.attr[i] != nil {
			x.report(diag.Malformed, t.span(a), "attribute %s stands twice", a.key).Hint = "leave one of them out"
			good = false
			continue
		}
		v.attr[i] = a
		if f := &want[i]; !f.ignored {
			good = x.field(t, a, f, &v.num[i]) && good
		}
	}
	missing := false // what the target wants is reported with its other wishes
	for i := range want {
		if f := &want[i]; v.attr[i] == nil && !f.ignored {
			missing = missing || !f.optional || x.opt.Target != nil && slices.Contains(f.wanted, x.opt.Target.Name)
			if !f.optional {
				x.report(diag.Malformed, t.whole(), "<%s> lacks attribute %s", t.name, f.name)
				good = false
			}
		}
	}
	if unknown > 0 {
		good = x.unknown(t, want, missing) && good
	}
	return good
}

// field reads the value of attribute a, a number into n, and says whether it is one that f may have.
func (x *reader) field(t *tag, a *attr, f *field, n *int64) bool {
	if a.slot >= mostSlots && x.opt.Target != nil {
		x.report(diag.Malformed, t.span(a), "%s's reader loses %s: it keeps %d attributes and surplus spaces of a tag",
			x.opt.Target.Name, f.name, mostSlots).Hint = "leave out what the runtimes ignore, and surplus spaces"
		return false
	}
	if f.text {
		if int64(len(a.value)) > f.most || !printable(a.value) {
			x.report(diag.Malformed, t.span(a), "the value of %s is no plain text of up to %d bytes", f.name, f.most)
			return false
		}
		return true
	}
	var ok bool
	if *n, ok = number(a.value); !ok || *n < f.least || *n > f.most {
		if n, err := strconv.ParseInt(string(a.value), 10, 64); !ok && err == nil && n >= f.least && n <= f.most {
			x.report(diag.Malformed, t.span(a), "%s is %q: numbers here are digits without a leading 0 or +", f.name,
				diag.Clip(a.value)).Hint = "write " + strconv.FormatInt(n, 10)
			return false
		}
		d := x.report(diag.Malformed, t.span(a), "%s is %q, not a number from %d to %d", f.name, diag.Clip(a.value),
			f.least, f.most)
		if bytes.IndexByte(a.value, '&') >= 0 {
			d.Hint = "the runtimes know no entities: write the number itself"
		}
		return false
	}
	return true
}

// unknown says of t's attributes that are none of want that the runtimes ignore them. Where one that is wanted is
// missing, or the name is next to a known one, they are errors.
func (x *reader) unknown(t *tag, want []field, missing bool) bool {
	good, known := true, fieldNames[&want[0]]
	for k := range t.attrs {
		a := &t.attrs[k]
		if findField(want, a.key, k) >= 0 {
			continue
		} else if x.full() {
			return false
		}
		key := string(diag.Clip(a.key))
		meant := diag.Slip(key, known)
		if meant == "" && !missing {
			x.pass(t.name, a.key, t.span(a))
			continue
		}
		if good = false; meant == "" {
			meant = diag.Meant(key, known)
		}
		d := x.report(diag.Malformed, t.span(a), "<%s> has no attribute %q", t.name, key)
		d.Hint = "did you mean " + meant + "?"
		if meant == "" {
			d.Hint = "it has " + strings.Join(known, ", ")
		}
	}
	return good
}

// fieldNames has the names of the fields of each element, by its first field.
var fieldNames = map[*field][]string{}

func init() {
	for _, list := range [][]field{algoFields, gpuFields, tbFields, stepFields} {
		for i := range list {
			fieldNames[&list[0]] = append(fieldNames[&list[0]], list[i].name)
		}
	}
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

// printable reports whether b is text without control characters.
func printable(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
