package gputest

import (
	"errors"
	"fmt"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/passes"
)

// A shape is a program of the catalog with its parameters.
type shape struct {
	name    string
	params  map[string]string
	inplace bool
	proto   ir.Protocol
}

func (s shape) String() string {
	return fmt.Sprintf("%s %v %v inplace %v", s.name, s.params, s.proto, s.inplace)
}

// ranked is a shape of so many ranks.
func ranked(name string, ranks int, proto ir.Protocol, inplace bool) shape {
	return shape{name, map[string]string{"ranks": fmt.Sprint(ranks)}, inplace, proto}
}

// twoSided compiles a shape.
func (s shape) twoSided() (*ir.Program, error) { return s.compile(nil) }

var errSeen = errors.New("the chunk DAG was seen")

// oneSided lowers a shape to a one-sided program, which is proven.
func (s shape) oneSided() (*ir.Program, error) {
	var chunks *ir.ChunkDAG
	_, err := s.compile(func(v any) error {
		if c, ok := v.(*ir.ChunkDAG); ok {
			chunks = c
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		return nil, err
	}
	p, err := passes.LowerOneSided(chunks, passes.Options{})
	if err != nil {
		return nil, err
	}
	_, found := verify.Check(p, verify.Options{})
	return p, found.Err()
}

func (s shape) compile(stage func(any) error) (*ir.Program, error) {
	text, err := algorithms.Open(s.name)
	if err != nil {
		return nil, err
	}
	return mscclc.Compile(s.name, text, mscclc.Options{Stage: stage,
		Lang: lang.Options{Params: s.params, Inplace: &s.inplace, Protocol: &s.proto, Open: algorithms.Open}})
}

func mustOne(t testing.TB, s shape) *ir.Program {
	t.Helper()
	p, err := s.oneSided()
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return p
}
