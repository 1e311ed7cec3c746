package gputest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
	"mscclc/passes/core"

	"golang.org/x/sync/errgroup"
)

// This file has the programs of several blocks a rank and one pass a launch that run on GPUs: plans of MSCCL++ as they
// are given and as they are written here, and algorithms at the level of channels.

// A channelled is what makes one of them. A nil one is a plan that the format, or the writer, refuses.
type channelled struct {
	name  string
	make  func() (*ir.ChannelProgram, error)
	turns []int // of its loops, where it has some
}

// A launchable is what a channelled means in a number of turns.
type launchable struct {
	name    string
	program *either.Program
}

// launchables makes programs on all processors, and gives them in their order.
func launchables(t testing.TB, of []channelled) (list []launchable) {
	t.Helper()
	made := make([][]launchable, len(of))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range of {
		g.Go(func() (err error) {
			if made[i], err = c.launchables(); err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(made...)
}

func (c *channelled) launchables() (list []launchable, err error) {
	p, err := c.make()
	if p == nil || err != nil {
		return nil, err
	}
	if channels.Turns(p, 1<<62) == 1 {
		g, err := channels.Unroll(p, 1)
		return []launchable{{c.name, either.OfOneSided(g)}}, err
	}
	for _, turns := range c.turns {
		g, err := channels.Unroll(p, turns)
		if err != nil {
			return nil, err
		}
		list = append(list, launchable{fmt.Sprintf("%s in %d turns", c.name, turns), either.OfOneSided(g)})
	}
	return list, nil
}

// given returns the plans of the repository, and those of other compilers that are there. All are proven by other
// tests, but for reduce_nvls and switch_relaxed: their last signals are relaxed, which here signal as all do.
func given(t testing.TB, turns ...int) (list []channelled) {
	t.Helper()
	at := irtest.Root(t)
	files := append(irtest.Files(t, irtest.Plans), filepath.Join(at, "codegen", "mscclpp", "testdata", "swap.json"),
		filepath.Join(at, "testdata", "mscclpp", "allpairs.2.json"))
	for _, file := range files {
		list = append(list, channelled{filepath.Base(file), func() (*ir.ChannelProgram, error) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			return readPlan(text)
		}, turns})
	}
	return list
}

func readPlan(text []byte) (*ir.ChannelProgram, error) {
	_, p, err := mscclpp.Read("plan.json", bytes.NewReader(text), codegen.ReadOptions{})
	return p, err
}

// atLevel returns the algorithms of examples/channels, of a number of ranks, or nodes by GPUs.
func atLevel(t testing.TB, ranks []int, nodes [][2]int, turns ...int) (list []channelled) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(irtest.Root(t), "examples", "channels", "*.mscl"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no algorithms at the level of channels", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var shapes []lang.Params
		for _, n := range ranks {
			shapes = append(shapes, lang.Params{"ranks": n})
		}
		if strings.Contains(string(text), "nodes") {
			shapes = nil
			for _, n := range nodes {
				shapes = append(shapes, lang.Params{"nodes": n[0], "gpus": n[1]})
			}
		}
		for _, params := range shapes {
			list = append(list, channelled{fmt.Sprint(filepath.Base(file), " ", params),
				func() (*ir.ChannelProgram, error) { return expand(file, text, params) }, turns})
		}
	}
	return list
}

func expand(name string, text []byte, params lang.Params) (*ir.ChannelProgram, error) {
	f, err := syntax.Parse(name, text)
	if err != nil {
		return nil, err
	}
	x, err := lang.ExpandLevel(f, lang.Options{Params: params, Open: algorithms.Open})
	if err != nil {
		return nil, err
	}
	channels.Synchronise(x.Channels)
	return x.Channels, nil
}

// writtenOf returns the plan of a shape of the catalog, in which a number of blocks share out each operation.
func writtenOf(s shape, instances int) channelled {
	make := func() (*ir.ChannelProgram, error) {
		var chunks *ir.ChunkDAG
		if _, err := s.compile(seeing(&chunks)); !errors.Is(err, errSeen) {
			return nil, err
		}
		return writePlan(chunks, instances)
	}
	return channelled{fmt.Sprintf("%v by %d", s, instances), make, []int{1}}
}

// writtenRandom returns the plan of a random algorithm.
func writtenRandom(seed int64) channelled {
	make := func() (*ir.ChannelProgram, error) {
		rnd := rand.New(rand.NewSource(seed))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(2))
		return writePlan(c, 1+rnd.Intn(3))
	}
	return channelled{fmt.Sprintf("random %d", seed), make, []int{1}}
}

// writePlan writes an algorithm as a plan, which is proven, and reads it; nil is one that no plan can have.
func writePlan(c *ir.ChunkDAG, instances int) (*ir.ChannelProgram, error) {
	p, err := core.Lower(c, core.Options{OnePass: true})
	if err != nil {
		return nil, err
	}
	f, _, err := mscclc.PlanMSCCLPP(either.OfOneSided(p), mscclc.PlanOptions{Options: lower.Options{Instances: instances}})
	if list, _ := err.(diag.List); len(list) > 0 && (list[0].Code == diag.Unsupported || list[0].Code == diag.Limit) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := mscclpp.Write(&text, f); err != nil {
		return nil, err
	}
	return readPlan(text.Bytes())
}
