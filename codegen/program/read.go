package program

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
	"mscclc/ir/onesided"
)

// Read reads a plan whole and checks its form. It allocates in proportion
// to the bytes of the file, whatever its numbers say.
func Read(name string, r io.Reader, opt codegen.ReadOptions) (*either.Program, error) {
	b := make([]byte, headerSize)
	n, err := io.ReadFull(r, b)
	if b = b[:n]; err == nil {
		// A file that is longer than its header says is read up to one byte more, which shows it.
		rest := max(0, int64(min(le.Uint64(b[32:]), 1<<62))-headerSize) + 1
		var more []byte
		more, err = io.ReadAll(io.LimitReader(r, rest))
		b = append(b, more...)
	}
	var list diag.List
	switch {
	case errors.As(err, &list):
		return nil, list
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, diag.List{diag.New(diag.Io, diag.FileSpan(name), "cannot read: %v", err)}
	}
	return Decode(name, b, opt)
}

// Decode is Read of bytes in memory, which it does not keep.
func Decode(name string, b []byte, opt codegen.ReadOptions) (*either.Program, error) {
	d := &reader{name: name, b: b, size: int64(len(b))}
	return d.program(opt)
}

type reader struct {
	name string
	size int64
	b    []byte

	p        *either.Program
	at, len  [numSections]int64
	sums     [numSections]uint32
	rowSize  int // of the table of ranks
	features uint64
	names    []string
}

func (d *reader) fail(format string, args ...any) error {
	return diag.List{diag.New(diag.Malformed, diag.FileSpan(d.name), format, args...)}
}

// bytes reads n bytes that some number of the file says are at offset at.
func (d *reader) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > d.size || n > d.size-at {
		return nil, d.fail("program file ends before its tables do")
	}
	return d.b[at : at+n], nil
}

// section reads section i and compares its sum.
func (d *reader) section(i int) ([]byte, error) {
	b, err := d.bytes(d.at[i], d.len[i])
	if err == nil && crc32.Checksum(b, castagnoli) != d.sums[i] {
		return nil, d.fail("program file is damaged: the sum of section %d differs", i)
	}
	return b, err
}

// program reads everything.
func (d *reader) program(opt codegen.ReadOptions) (*either.Program, error) {
	d.p = either.OfFifo(&fifo.Program{})
	stages := []func() error{d.header, d.strings, d.epilogue, d.sources, d.ranks}
	for _, stage := range stages {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	if found := form.Check(d.p, opt.Bounds(int(d.len[secParts]/planStepSize))); len(found) > 0 {
		found = found[:min(len(found), diag.Shown)]
		for i := range found {
			if found[i].Span.Filename == "" {
				found[i].Span = diag.FileSpan(d.name)
			}
		}
		return nil, found
	}
	if need := featuresOf(d.p); need&^d.features != 0 {
		return nil, d.fail("program file has features %#x, and needs %#x", d.features, need)
	}
	if err := d.checkRanks(); err != nil {
		return nil, err
	}
	if t := opt.Target; t != nil {
		if found := codegen.CheckLimits(d.p, t); len(found) > 0 {
			return nil, found
		}
	}
	return d.p, nil
}

func (d *reader) header() error {
	if d.size < headerSize {
		return d.fail("program file is shorter than its header")
	}
	b, err := d.bytes(0, headerSize)
	if err != nil {
		return err
	}
	h := append([]byte(nil), b...)
	if string(h[:8]) != codegen.ProgramMagic {
		return d.fail("file is no plan")
	}
	if least := le.Uint32(h[12:]); least > planVersion {
		return diag.List{diag.New(diag.Unsupported, diag.FileSpan(d.name),
			"program file needs a reader of version %d, this one is %d", least, planVersion)}
	}
	sum := le.Uint32(h[40:])
	le.PutUint32(h[40:], 0)
	if crc32.Checksum(h, castagnoli) != sum {
		return d.fail("program file is damaged: the sum of its header differs")
	}
	features := le.Uint64(h[16:])
	d.features = features
	if f := features &^ planKnown; f != 0 {
		return diag.List{diag.New(diag.Unsupported, diag.FileSpan(d.name),
			"program file needs features %#x that this reader lacks", f)}
	}
	if features != planTwoSided && features&^(planOrder|planTogether|planThen) != planOneSided {
		return d.fail("program file has features %#x, and steps are either one-sided or two-sided", features)
	}
	if abi := le.Uint64(h[24:]); abi != ABI() {
		return diag.List{diag.New(diag.Unsupported, diag.FileSpan(d.name),
			"program file is for other operations than this build's: ABI %016x, not %016x", abi, ABI()).
			WithHint("compile it again")}
	}
	if le.Uint64(h[32:]) != uint64(d.size) {
		has := fmt.Sprint(d.size)
		if uint64(d.size) == le.Uint64(h[32:])+1 {
			has = "more"
		}
		return d.fail("program file says that it has %d bytes, and has %s", le.Uint64(h[32:]), has)
	}
	if err := d.sections(h); err != nil {
		return err
	}
	return d.fields(h)
}

// padding checks that n bytes from at on, which nothing uses, are 0.
func (d *reader) padding(at, n int64) error {
	b, err := d.bytes(at, n)
	if err == nil && slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return d.fail("program file is damaged: bytes from %d on, which nothing uses, are not 0", at)
	}
	return err
}

// sections reads the section table: sections lie in their order, each after less than 8 bytes of 0, as the file's end.
func (d *reader) sections(h []byte) error {
	end := uint64(headerSize)
	if slices.ContainsFunc(h[headerSize-8:], func(c byte) bool { return c != 0 }) {
		return d.fail("the header of the program file ends in no zeros")
	}
	for i := range numSections {
		o := h[sectionTable+i*sectionSize:]
		at, n := le.Uint64(o), le.Uint64(o[8:])
		if at < end || at-end >= 8 || at%8 != 0 || at > uint64(d.size) || n > uint64(d.size)-at ||
			le.Uint32(o[20:]) != 0 || i == secParts && le.Uint32(o[16:]) != 0 {
			return d.fail("section %d of the program file is out of place", i)
		}
		if err := d.padding(int64(end), int64(at-end)); err != nil {
			return err
		}
		d.at[i], d.len[i], d.sums[i] = int64(at), int64(n), le.Uint32(o[16:])
		end = at + n
	}
	if rest := uint64(d.size) - end; rest >= 8 {
		return d.fail("program file has %d bytes after its sections", rest)
	}
	return d.padding(int64(end), d.size-int64(end))
}

func (d *reader) fields(h []byte) error {
	u := func(at int) int { return int(le.Uint32(h[at:])) }
	ranks := int64(u(44))
	if oneSided := le.Uint64(h[16:]) != planTwoSided; oneSided {
		if u(60) != 1 {
			return d.fail("program file of one-sided steps has %d channels, and not 1", u(60))
		}
		d.p = either.OfOneSided(&onesided.Program{Depth: int32(u(100))})
	} else if u(100) != 0 || u(76)&planOnePass != 0 {
		return d.fail("program file of two-sided steps has %d copies of packets, or launches of one pass", u(100))
	}
	p := d.p
	d.rowSize = rankSize(p.OneSided != nil)
	if ranks < 1 || ranks*int64(d.rowSize) != d.len[secRanks] {
		return d.fail("program file of %d ranks has rows for %d bytes", ranks, d.len[secRanks])
	}
	if u(48) >= int(ir.NumKinds) || u(72) >= int(ir.NumProtocols) || u(76)&^planFlags != 0 {
		return d.fail("collective %d, protocol %d or flags %#x are none", u(48), u(72), u(76))
	}
	flag := func(bit int) bool { return u(76)&bit != 0 }
	p.Coll = &ir.Collective{Kind: ir.Kind(u(48)), Ranks: int(ranks), Chunks: u(52), Root: u(56), In: u(64), Out: u(68),
		Inplace: flag(planInplace)}
	if flag(planPerRank) {
		p.Coll.PerRank = make([][2]int32, ranks)
	}
	if p.Fifo != nil {
		p.Fifo.Channels = u(60)
	}
	p.Protocol, p.RanksPerNode = ir.Protocol(u(72)), u(96)
	p.Sizes = ir.SizeRange{Min: int64(le.Uint64(h[80:])), Max: int64(le.Uint64(h[88:]))}
	p.InPlace, p.OutOfPlace, p.Even = flag(planForInPlace), flag(planForOutOfPlace), flag(planEven)
	p.Rank, p.Scratch = make([]ir.Range, ranks), make([]int32, ranks)
	if o := p.OneSided; o != nil {
		o.OnePass = flag(planOnePass)
		o.Packets, o.Flags = make([]int32, ranks), make([]int32, ranks)
	}
	return d.contract()
}
