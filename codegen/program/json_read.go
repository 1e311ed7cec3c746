package program

import (
	"io"
	"math"
	"reflect"
	"strings"
	"unsafe"

	"mscclc/codegen"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
	"mscclc/ir/onesided"
)

// ReadJSON reads what WriteJSON writes, as a stream, and checks its form. The keys of an object may stand in any order,
// but that depth stands before ranks and files before spans. Up to 20 errors are reported, each with its path and
// position.
func ReadJSON(name string, r io.Reader, opt codegen.ReadOptions) (*either.Program, error) {
	s := &jsonReader{Reader: strictjson.NewReader(name, r, opt.JSON()), p: either.OfFifo(&fifo.Program{})}
	s.plan()
	if err := s.Finish(); err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return diag.List{diag.New(diag.Malformed, diag.FileSpan(name), format, args...)}
	}
	if s.format != codegen.ProgramFormat || s.version != jsonVersion {
		return nil, bad("format %q of version %d is not %q of version %d", diag.Clip([]byte(s.format)), s.version,
			codegen.ProgramFormat, jsonVersion)
	}
	if !s.protocol {
		return nil, bad("the plan has no protocol")
	}
	c, err := s.coll.collective()
	if err != nil {
		return nil, bad("%v", err)
	}
	if c.Ranks != len(s.p.Rank) {
		return nil, bad("collective of %d ranks has %d", c.Ranks, len(s.p.Rank))
	}
	if s.p.Coll = c; s.onePass && s.p.OneSided == nil {
		return nil, bad("launches have one pass in a program that is not one-sided")
	} else if s.onePass {
		s.p.OneSided.OnePass = true
	}
	if s.p.Fifo != nil {
		s.p.Fifo.Channels = s.channels
	} else if s.channels != 1 {
		return nil, bad("a one-sided program has 1 channel, and not %d", s.channels)
	}
	found := form.Check(s.p, opt.Bounds(len(s.p.Steps)))
	if len(found) == 0 && opt.Target != nil {
		found = codegen.CheckLimits(s.p, opt.Target)
	}
	if len(found) > 0 {
		return nil, found[:min(len(found), diag.Shown)]
	}
	return s.p, nil
}

// A jsonReader makes a program of a plan's JSON.
type jsonReader struct {
	*strictjson.Reader
	p        *either.Program
	format   string
	version  int32
	coll     jsonCollective
	onePass  bool
	channels int
	files    []string
	ranked   bool // the ranks were read

	protocol bool // there is one
}

// keysOf returns the names of the fields of a type of a plan's JSON.
func keysOf[T any]() []string {
	t := reflect.TypeFor[T]()
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return keys
}

var (
	jsonPlanKeys       = keysOf[jsonPlan]()
	jsonCollectiveKeys = keysOf[jsonCollective]()
	jsonWantKeys       = keysOf[jsonWant]()
	jsonRankKeys       = keysOf[jsonRank]()
	jsonBlockKeys      = keysOf[jsonBlock]()
	jsonStepKeys       = keysOf[jsonStep]()
	jsonRefKeys        = keysOf[jsonRef]()
	jsonAtKeys         = keysOf[jsonAt]()
)

// maxNameText is how many bytes names may have.
const maxNameText = 16 << 10

// fields hands the keys of an object to read, as object does. One without any is an error: a short text can hold many
// such.
func (s *jsonReader) fields(keys []string, read func(key string, at strictjson.Pos)) {
	before := s.Errors()
	seen, start := s.Object(keys, func(key int, at strictjson.Pos) { read(keys[key], at) })
	if seen == 0 && s.Errors() == before && !s.Full() {
		s.Say(diag.Malformed, start, "an element of the plan holds nothing")
	}
}

func (s *jsonReader) plan() {
	p := s.p
	s.fields(jsonPlanKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "format":
			s.format = s.Text(maxNameText)
		case "version":
			s.version = int32(s.int(0, math.MaxInt32))
		case "name":
			p.Name = s.Text(maxNameText)
		case "collective":
			s.collective()
		case "protocol":
			p.Protocol, s.protocol = ir.ProtocolByName(s.OneOf(ir.ProtocolNames()...))
		case "sizes":
			s.numbers(2, func(i int) { *[]*int64{&p.Sizes.Min, &p.Sizes.Max}[i] = s.int(math.MinInt64, math.MaxInt64) })
		case "ranks_per_node":
			p.RanksPerNode = int(s.Int32())
		case "channels":
			s.channels = int(s.Int32())
		case "even":
			p.Even = s.Bool()
		case "in_place":
			p.InPlace = s.Bool()
		case "out_of_place":
			p.OutOfPlace = s.Bool()
		case "depth":
			if depth := s.signed(); s.ranked {
				s.Say(diag.Malformed, at, "stands after ranks, of which it says what their steps are")
			} else if depth != 0 {
				*p = *either.OfOneSided(&onesided.Program{Program: *p.Program, Depth: depth})
			}
		case "one_pass":
			s.onePass = s.Bool()
		case "then":
			var err error
			if p.Then, err = epilogue.Parse(s.Text(maxNameText)); err != nil {
				s.Say(diag.Malformed, at, "%v", err)
			}
		case "files":
			if len(p.Spans) > 0 {
				s.Say(diag.Malformed, at, "stands after spans, which are in these files")
			}
			s.List(func(int) {
				s.files = append(s.files, s.Text(maxNameText))
				s.Holds(unsafe.Sizeof("") + uintptr(len(s.files[len(s.files)-1])))
			})
		case "spans":
			s.List(func(int) { s.source() })
		case "ranks":
			s.ranked = true
			s.List(func(int) { s.rank() })
		}
	})
}

// int reads a whole number from least to most.
func (s *jsonReader) int(least, most int64) int64 {
	if s.Peek() != '-' {
		return int64(s.Uint(uint64(max(least, 0)), uint64(most)))
	}
	return s.negative(least)
}

// signed reads a number of 32 bits.
func (s *jsonReader) signed() int32 { return int32(s.int(math.MinInt32, math.MaxInt32)) }

// numbers reads a list of n numbers by read.
func (s *jsonReader) numbers(n int, read func(i int)) {
	if s.Peek() != '[' {
		s.Wrong("a list")
		return
	}
	at, count := s.Here(), 0
	s.List(func(i int) {
		if count = i + 1; i < n {
			read(i)
		} else {
			s.Skip()
		}
	})
	if count != n && !s.Full() {
		s.Say(diag.Malformed, at, "has %d numbers, and %d are due", count, n)
	}
}

// source reads a source position: file, line, column, length, offset.
func (s *jsonReader) source() {
	at := s.Here()
	var x [5]int
	s.numbers(len(x), func(i int) { x[i] = int(s.Int32()) })
	if x[0] >= len(s.files) {
		if !s.Full() {
			s.Say(diag.Malformed, at, "source position %v is none: there are %d files", x, len(s.files))
		}
		return
	}
	span := diag.Span{Len: x[3], Pos: diag.Pos{Filename: s.files[x[0]], Line: x[1], Column: x[2], Offset: x[4]}}
	s.p.Spans = append(s.p.Spans, span)
	s.Holds(unsafe.Sizeof(span))
}

func (s *jsonReader) rank() {
	p, r := s.p, len(s.p.Rank)
	rank := jsonRank{}
	first := int32(len(p.Blocks))
	at := s.Here()
	s.fields(jsonRankKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "rank":
			rank.Rank = int(s.signed())
		case "scratch":
			rank.Scratch = s.signed()
		case "packets":
			rank.Packets = s.signed()
		case "flags":
			rank.Flags = s.signed()
		case "blocks":
			s.List(func(int) { s.block(int32(r)) })
		}
	})
	if s.Full() {
		return
	}
	if rank.Rank != r {
		s.Say(diag.Malformed, at, "rank %d stands where %d is due", rank.Rank, r)
	}
	if o := p.OneSided; o != nil {
		o.Packets, o.Flags = append(o.Packets, rank.Packets), append(o.Flags, rank.Flags)
	} else if rank.Packets != 0 || rank.Flags != 0 {
		s.Say(diag.Malformed, at, "rank %d has packets or flags in a program that is not one-sided", r)
	}
	p.Scratch = append(p.Scratch, rank.Scratch)
	p.Rank = append(p.Rank, ir.Range{First: first, End: int32(len(p.Blocks))})
	s.Holds(unsafe.Sizeof(p.Scratch[0]) + unsafe.Sizeof(p.Rank[0]))
}

func (s *jsonReader) block(rank int32) {
	p := s.p
	b := ir.TB{Block: ir.Block{Rank: rank}, Steps: ir.Range{First: int32(len(p.Steps))}}
	s.fields(jsonBlockKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "send":
			b.SendPeer = s.signed()
		case "recv":
			b.RecvPeer = s.signed()
		case "channel":
			b.Channel = s.signed()
		case "together":
			b.Together = s.signed()
		case "steps":
			s.List(func(int) { s.step() })
		}
	})
	b.Steps.End = int32(len(p.Steps))
	p.Blocks = append(p.Blocks, b)
	s.Holds(unsafe.Sizeof(b))
}
