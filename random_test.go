package mscclc_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/passes/core"
	"mscclc/passes/fifo"
)

// TestRandomPrograms compiles random legal programs under random settings of
// passes, targets, instances and slots, checks what comes out (matching,
// deadlock with bounded slots, races, result), and runs every fifth on the
// CPU. MSCCLC_RANDOM=N asks for N programs; 100,000 and more were run so.
func TestRandomPrograms(t *testing.T) { manyRandom(t, randomProgram) }

// TestRandomLanes is TestRandomPrograms of one-sided programs whose ranks have one to six lanes, or up to 64.
// MSCCLC_RANDOM=200000 was run.
func TestRandomLanes(t *testing.T) { manyRandom(t, randomLanes) }

// manyRandom tries random programs of seeds from 1 up. try counts those that ran on the CPU.
func manyRandom(t *testing.T, try func(seed int64, ran *atomic.Int64) error) {
	n := irtest.Count(t, covering.Share(2000))
	var refused, ran, next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1)
				if seed > int64(n) || t.Failed() {
					return
				}
				err := try(seed, &ran)
				switch {
				case errors.Is(err, errRefused):
					refused.Add(1)
				case err != nil:
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d programs: %d refused for a target's limit, %d run on the CPU", n, refused.Load(), ran.Load())
	if int(refused.Load()) > n/5 || int(ran.Load()) < n/20 {
		t.Error("too few went all the way to say anything")
	}
}

var errRefused = errors.New("refused")

func randomProgram(seed int64, ran *atomic.Int64) error {
	rnd := rand.New(rand.NewSource(seed))
	c := irtest.Random(rnd, irtest.Config{Ops: 10 + rnd.Intn(60)})
	opt := fifo.Options{Instances: 1 + rnd.Intn(4)*rnd.Intn(2), Off: map[string]bool{}, Level0: rnd.Intn(12) == 0,
		Slots: rnd.Intn(3)}
	for _, p := range fifo.Table {
		if !p.Required && rnd.Intn(5) == 0 {
			opt.Off[p.Name] = true
		}
	}
	target := codegen.Targets[rnd.Intn(len(codegen.Targets))]
	opt.Limits, opt.Dense = target.Limits, target.Format == codegen.FormatXML
	p, again, err := assembleTwice(c, opt)
	if err != nil {
		return err
	}
	if !bytes.Equal(p, again) {
		return errors.New("two compilations differ")
	}
	program, err := parse.Program("random", p)
	if err != nil {
		return err
	}
	if _, found := verify.Check(program, verify.Options{Slots: opt.Slots}); len(found) > 0 {
		return fmt.Errorf("%v: %w", opt, found)
	}
	if seed%5 == 0 && !opt.Dense { // a message of our executor may hold fewer chunks than a runtime's
		ran.Add(1)
		return runRandom(rnd, program, opt.Slots)
	}
	return nil
}

// randomLanes lowers a random program one-sided, with lanes, labels of lanes, copies of scratch, nodes and some passes
// off, proves it, and runs every fifth.
func randomLanes(seed int64, ran *atomic.Int64) error {
	rnd := rand.New(rand.NewSource(seed))
	c := irtest.Random(rnd, irtest.Config{Ops: 4 + rnd.Intn(60)})
	c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
	opt := core.Options{Lanes: 1 + rnd.Intn(6), Copies: rnd.Intn(core.MostCopies + 1), Staged: rnd.Intn(3) == 0,
		Off: map[string]bool{}}
	if rnd.Intn(8) == 0 {
		opt.Lanes = core.MostLanes
	}
	if rnd.Intn(2) == 0 {
		label(rnd, c)
	}
	if rnd.Intn(3) == 0 {
		opt.Nodes = irtest.Nodes(rnd, c.Coll.Ranks)
		opt.Together = 2 * rnd.Intn(3)
	}
	for _, p := range core.Table {
		if !p.Required && rnd.Intn(8) == 0 {
			opt.Off[p.Name] = true
		}
	}
	p, err := core.Lower(c, opt)
	if err != nil {
		return err
	}
	if _, found := verify.Check(either.OfOneSided(p), verify.Options{Nodes: opt.Nodes}); len(found) > 0 {
		return fmt.Errorf("%+v: %w", opt, found)
	}
	if seed%5 > 0 {
		return nil
	}
	ran.Add(1)
	elems := int64(rnd.Intn(400))
	if p.Even {
		elems -= elems % int64(p.Coll.Chunks)
	}
	tile, replicas := int64(16<<rnd.Intn(6)), 1+rnd.Intn(2)
	r, err := execute(either.OfOneSided(p), elems, executor.Options{Unproven: true, Replicas: replicas, TileBytes: tile},
		func(a *executor.Args) { a.Threads, a.Replicas, a.TileBytes = 1, replicas, tile })
	if err != nil {
		return err
	}
	return r.Err()
}

// label gives about every third operation one of up to eight labels of lanes.
func label(rnd *rand.Rand, c *ir.ChunkDAG) {
	labels := 1 + rnd.Intn(8)
	for i := range c.Ops {
		if rnd.Intn(3) == 0 {
			h := c.Hints[c.Ops[i].Hint]
			h.Lane = int32(rnd.Intn(labels))
			c.Ops[i].Hint = int32(len(c.Hints))
			c.Hints = append(c.Hints, h)
		}
	}
}

// assembleTwice compiles c twice, and gives the text of each program.
func assembleTwice(c *ir.ChunkDAG, opt fifo.Options) (first, second []byte, err error) {
	var texts [2]bytes.Buffer
	for i := range texts {
		d, err := fifo.Lower(c, opt)
		if err == nil {
			err = fifo.Run(d, opt)
		}
		if err != nil {
			if l := (diag.List{}); errors.As(err, &l) && l[0].Code == diag.Limit {
				err = errRefused
			}
			return nil, nil, err
		}
		p, err := codegen.Assemble(d)
		if err != nil {
			return nil, nil, err
		}
		if err := text.WriteProgram(&texts[i], either.OfFifo(p)); err != nil {
			return nil, nil, err
		}
	}
	return texts[0].Bytes(), texts[1].Bytes(), nil
}

// runRandom runs p on random bytes, in sizes that are a multiple of nothing
// where p can, in tiles and messages small enough that every chunk takes many.
func runRandom(rnd *rand.Rand, p *either.Program, slots int) error {
	elems := int64(rnd.Intn(400))
	if p.Even {
		elems -= elems % int64(p.Coll.Chunks)
	}
	proto, tile := ir.Protocol(rnd.Intn(int(ir.NumProtocols))), int64(16<<rnd.Intn(6))
	// randomProgram has asked verify, about other slots than Load would.
	r, err := execute(p, elems, executor.Options{Unproven: true}, func(a *executor.Args) {
		a.Protocol, a.Threads, a.TileBytes = &proto, 1, tile
		if a.Slots = slots; slots == 0 {
			a.Slots = p.Protocol.Slots()
		}
	})
	if err != nil {
		return err
	}
	return r.Err()
}
