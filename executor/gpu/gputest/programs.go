package gputest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/passes/fifo"

	"golang.org/x/sync/errgroup"
)

// A shape is a program of the catalog with its parameters.
type shape struct {
	name    string
	params  lang.Params
	inplace bool
	proto   ir.Protocol
	two     bool // sided
	times   int  // instances of a two-sided one
}

func (s shape) String() string {
	text := fmt.Sprintf("%s %v %v inplace %v", s.name, s.params, s.proto, s.inplace)
	if s.two {
		text += " two-sided"
	}
	return text
}

// ranked returns a shape of a number of ranks.
func ranked(name string, ranks int, proto ir.Protocol, inplace bool) shape {
	return shape{name, lang.Params{"ranks": ranks}, inplace, proto, false, 0}
}

// both are shapes as they are, and two-sided.
func both(shapes ...shape) (list []shape) {
	for _, s := range shapes {
		list = append(list, s)
		s.two = true
		list = append(list, s)
	}
	return list
}

// replicas has a call be so wide, if it is of a one-sided program.
func (s shape) replicas(n int) func(*plan.CallArgs) {
	return func(a *plan.CallArgs) {
		if !s.two {
			a.Replicas = n
		}
	}
}

// program compiles a shape, and proves it.
func (s shape) program() (*either.Program, error) {
	if s.two {
		return s.twoSided()
	}
	return s.oneSided()
}

// twoSided compiles a shape.
func (s shape) twoSided() (*either.Program, error) { return s.compile(nil) }

var errSeen = errors.New("the chunk DAG was seen")

// seeing returns a stage at which compiling ends with errSeen, and gives the chunk DAG.
func seeing(chunks **ir.ChunkDAG) func(any) error {
	return func(v any) error {
		if c, ok := v.(*ir.ChunkDAG); ok {
			*chunks = c
			return errSeen
		}
		return nil
	}
}

// oneSided lowers a shape to a one-sided program, which is proven.
func (s shape) oneSided() (*either.Program, error) {
	var chunks *ir.ChunkDAG
	if _, err := s.compile(seeing(&chunks)); !errors.Is(err, errSeen) {
		return nil, err
	}
	p, err := core.Lower(chunks, core.Options{})
	if err != nil {
		return nil, err
	}
	_, found := verify.Check(either.OfOneSided(p), verify.Options{})
	return either.OfOneSided(p), found.Err()
}

func (s shape) compile(stage func(any) error) (*either.Program, error) {
	text, err := algorithms.Open(s.name)
	if err != nil {
		return nil, err
	}
	return mscclc.Compile(s.name, text, mscclc.Options{Stage: stage, Passes: fifo.Options{Instances: s.times},
		Lang: lang.Options{Params: s.params, Inplace: &s.inplace, Protocol: &s.proto, Open: algorithms.Open}})
}

func mustProgram(t testing.TB, s shape) *either.Program {
	t.Helper()
	p, err := s.program()
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return p
}

// mustPrograms compiles shapes on all processors.
func mustPrograms(t testing.TB, shapes []shape) []*either.Program {
	t.Helper()
	programs := make([]*either.Program, len(shapes))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range shapes {
		g.Go(func() (err error) {
			if programs[i], err = s.program(); err != nil {
				err = fmt.Errorf("%v: %w", s, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return programs
}
