package program

import (
	"fmt"
	"strconv"
	"unsafe"

	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// jsonOps are the mnemonics of operations, two-sided ones and one-sided ones.
var jsonOps = func() (names [2][]string) {
	for op := range ir.NumOps {
		k := 0
		if op.Info().OneSided {
			k = 1
		}
		names[k] = append(names[k], op.String())
	}
	return names
}()

func (s *jsonReader) step() {
	o, ops := s.p.OneSided, jsonOps[0]
	if o != nil {
		ops = jsonOps[1]
	}
	step := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1}
	var from, to []onesided.Operand
	at := s.Here()
	flag := func(f ir.StepFlags) {
		if s.Bool() {
			step.Flags |= f
		}
	}
	named, before := false, s.Errors()
	s.fields(jsonStepKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "op":
			step.Op, named = ir.OpByMnemonic(s.OneOf(ops...))
		case "src":
			step.SrcBuf, step.Src = s.ref()
		case "dst":
			step.DstBuf, step.Dst = s.ref()
		case "from":
			from = s.operands()
		case "to":
			to = s.operands()
		case "count":
			step.Count = s.signed()
		case "class":
			step.Class = s.signed()
		case "wait":
			s.numbers(2, func(i int) { *[]*int32{&step.DepBlock, &step.DepStep}[i] = s.signed() })
		case "hasdep":
			flag(ir.HasDep)
		case "final":
			flag(ir.Final)
		case "joint":
			flag(ir.Joint)
		case "enter":
			flag(ir.Enter)
		case "leave":
			flag(ir.Leave)
		case "relaxed":
			flag(ir.Relaxed)
		case "loose":
			flag(ir.Loose)
		case "pos":
			step.Pos = s.signed()
		}
	})
	switch {
	case s.Errors() > before || s.Full():
		return
	case !named:
		s.Say(diag.Malformed, at, "the step has no operation")
	case o == nil && len(from)+len(to) > 0:
		s.Say(diag.Malformed, at, "%v has operands of one-sided steps", step.Op)
	case o != nil:
		if step.SrcBuf == ir.NoBuf {
			step.Src = int32(len(o.Operands))
		}
		if step.DstBuf == ir.NoBuf {
			step.Dst = int32(len(o.Operands) + len(from))
		}
		step.NSrc, step.NDst = int16(len(from)), int16(len(to))
		o.Operands = append(append(o.Operands, from...), to...)
	}
	s.p.Steps = append(s.p.Steps, step)
	s.Holds(unsafe.Sizeof(step) + uintptr(len(from)+len(to))*unsafe.Sizeof(onesided.Operand{}))
}

// jsonVias are the names of the ways of an operand.
var jsonVias = []string{ir.ViaMemory.String(), ir.ViaPort.String(), ir.ViaSwitch.String()}

// buf reads the name of a buffer.
func (s *jsonReader) buf() ir.Buf {
	b, _ := bufByName(s.OneOf(bufNames[:]...))
	return b
}

// ref reads an operand of a two-sided step.
func (s *jsonReader) ref() (buf ir.Buf, index int32) {
	s.fields(jsonRefKeys, func(key string, at strictjson.Pos) {
		if key == "buf" {
			buf = s.buf()
		} else {
			index = s.signed()
		}
	})
	return buf, index
}

// operands reads the sources or destinations of a one-sided step.
func (s *jsonReader) operands() (list []onesided.Operand) {
	at := s.Here()
	s.List(func(i int) {
		x := onesided.Operand{Rank: ir.AllRanks}
		s.fields(jsonAtKeys, func(key string, at strictjson.Pos) {
			switch key {
			case "rank":
				x.Rank = s.signed()
			case "buf":
				x.Buf = s.buf()
			case "index":
				x.Index = s.signed()
			case "via":
				x.Via, _ = ir.ViaByName(s.OneOf(jsonVias...))
			case "nth":
				x.Nth = s.signed()
			}
		})
		if i < onesided.MaxOperands {
			list = append(list, x)
		} else if i == onesided.MaxOperands {
			s.Say(diag.Malformed, at, "has more than %d sources or destinations", onesided.MaxOperands)
		}
	})
	return list
}

// collective reads the collective. What a custom one asks for counts as what a table of it takes.
func (s *jsonReader) collective() {
	c := &s.coll
	s.fields(jsonCollectiveKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "kind":
			c.Kind = s.Text(maxNameText)
		case "ranks":
			c.Ranks = int(s.signed())
		case "chunks":
			c.Chunks = int(s.signed())
		case "root":
			c.Root = int(s.signed())
		case "inplace":
			c.Inplace = s.Bool()
		case "peer":
			s.List(func(int) {
				c.Peer = append(c.Peer, s.signed())
				s.Holds(unsafe.Sizeof(c.Peer[0]))
			})
		case "in":
			c.In = int(s.signed())
		case "out":
			c.Out = int(s.signed())
		case "per_rank":
			s.List(func(int) { c.PerRank = append(c.PerRank, s.pair()) })
		case "require":
			s.List(func(int) { c.Require = append(c.Require, s.want()) })
		}
	})
}

// pair reads a list of two numbers.
func (s *jsonReader) pair() (x [2]int32) {
	s.numbers(len(x), func(i int) { x[i] = s.signed() })
	s.Holds(2 * unsafe.Sizeof(x)) // the program has it too
	return x
}

func (s *jsonReader) want() (w jsonWant) {
	s.fields(jsonWantKeys, func(key string, at strictjson.Pos) {
		switch key {
		case "rank":
			w.Rank = s.signed()
		case "index":
			w.Index = s.signed()
		case "parts":
			w.Parts = [][2]int32{}
			s.List(func(int) { w.Parts = append(w.Parts, s.pair()) })
		}
	})
	s.Holds(4 * unsafe.Sizeof(w))
	return w
}

// negative reads a whole number below zero, of at least least.
func (s *jsonReader) negative(least int64) int64 {
	at := s.Here()
	text := s.Take()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < least {
		s.Say(diag.Malformed, at, "is %s, not a whole number from %d", diag.Clip(text), least)
		return max(least, 0)
	}
	return n
}

func (j *jsonCollective) collective() (*ir.Collective, error) {
	kind := ir.NumKinds
	for k := range ir.NumKinds {
		if k.String() == j.Kind {
			kind = k
		}
	}
	if kind == ir.NumKinds {
		return nil, fmt.Errorf("%q is no collective", diag.Clip([]byte(j.Kind)))
	}
	c := &ir.Collective{Kind: kind, Ranks: j.Ranks, Chunks: j.Chunks, Root: j.Root, Inplace: j.Inplace, Peer: j.Peer,
		In: j.In, Out: j.Out, PerRank: j.PerRank}
	if kind == ir.Custom {
		c.Require = map[ir.Part][]ir.Part{}
	}
	for _, w := range j.Require {
		out := ir.Part{Rank: w.Rank, Index: w.Index}
		if _, twice := c.Require[out]; twice || kind != ir.Custom {
			return nil, fmt.Errorf("output chunk %d of rank %d is stated twice, or by no custom collective", w.Index, w.Rank)
		}
		var list []ir.Part
		for _, p := range w.Parts {
			list = append(list, ir.Part{Rank: p[0], Index: p[1]})
		}
		c.Require[out] = list
	}
	return c, nil
}
