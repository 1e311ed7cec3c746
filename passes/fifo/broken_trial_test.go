package fifo

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/property"
	"mscclc/ir/text"
	"mscclc/ir/verify"
)

// A trial is what became of one program.
type trial struct {
	lacks   []string // properties that do not hold after the pass
	stopped error    // why there is no program
	program *fifo.Program
	text    string
	found   diag.List // by the proof of the program, and by its target's limits
}

// takeThrough compiles c with run instead of the named pass, or where run is
// nil with all passes as they are. What is found after the pass stops nothing.
func takeThrough(c *ir.ChunkDAG, opt Options, name string, run func(*state) (int, error)) (t trial) {
	defer func() {
		if r := recover(); r != nil && run != nil {
			t.stopped = fmt.Errorf("panic: %v", r) // later passes may trust what the broken one gave
		} else if r != nil {
			panic(r)
		}
	}()
	d, err := Lower(c, opt)
	if err != nil {
		return trial{stopped: err}
	}
	s := newState(d, opt)
	if name == "lower" {
		if run != nil {
			if _, t.stopped = run(s); t.stopped != nil {
				return t
			}
		}
		name, run = Table[0].Name, Table[0].Run // before which transfers have one end
	}
	have, rnd := property.Meaning, rand.New(rand.NewSource(opt.Seed))
	for i := range Table {
		p := &Table[i]
		if opt.Level0 && !p.Required {
			continue
		}
		this := p.Run
		if p.Name == name && run != nil {
			this = run
		}
		if have&property.Ordered == 0 {
			s.Shuffle(rnd)
		}
		if _, t.stopped = this(s); t.stopped != nil {
			return t
		}
		have |= p.Gives
		if p.Name == name {
			t.lacks = lacking(s, have)
		}
	}
	t.finish(s)
	return t
}

// finish assembles the program and asks for its proof.
func (t *trial) finish(s *state) {
	if t.program, t.stopped = codegen.Assemble(s.InstDAG); t.stopped != nil {
		return
	}
	var b strings.Builder
	if t.stopped = text.WriteProgram(&b, either.OfFifo(t.program)); t.stopped != nil {
		return
	}
	t.text = b.String()
	_, t.found = verify.Check(either.OfFifo(t.program), verify.Options{Slots: s.slots, MessageChunks: int(s.group),
		MostChunks: int(s.group)})
	if l := s.opt.Limits; l.Target != "" {
		t.found = slices.Concat(t.found,
			codegen.CheckLimits(either.OfFifo(t.program), &codegen.Target{Name: l.Target, Format: codegen.FormatProgram,
				Limits: l}))
	}
}

// lacking names the properties among have that s does not have.
func lacking(s *state, have property.Property) (names []string) {
	err := property.Check(s.InstDAG, have, property.Options{Slots: s.slots, MessageCount: int(s.group),
		Limits: s.opt.Limits})
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		return []string{err.Error()}
	}
	for _, d := range list {
		name := "form"
		if not, ok := strings.CutPrefix(d.Text, "not "); ok {
			name, _, _ = strings.Cut(not, ":")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// runs runs p on the CPU and compares every element.
func runs(p *fifo.Program, slots int) error {
	// p has been proven for these slots
	l, err := executor.Load(either.OfFifo(p), executor.Options{Device: cpu.Device(), Unproven: true})
	if err != nil {
		return err
	}
	defer l.Close()
	buffers := data.New(data.NewGeometry(p.Coll, int64(24*max(p.Coll.Chunks, 1)), 4), data.I32, data.Sum, 1)
	args := executor.DataArgs(buffers)
	args.Threads, args.TileBytes, args.Slots, args.Wait = 1, 64, slots, time.Minute
	if _, err := l.Run(context.Background(), args); err != nil {
		return err
	}
	found := buffers.Check()
	return found.Err()
}
