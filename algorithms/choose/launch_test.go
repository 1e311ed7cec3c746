//go:build cgo && linux

package choose

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/cuda"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/gpu/gputest"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/selection"
)

// A member is a process's part of a job, with all its memory on GPUs.
type member struct {
	launcher *Launcher
	streams  []executor.Stream
	in, out  []uint64
	ranks    []int
}

const memberElems = 1000

func newMember(gpus executor.GPUs, ranks []int, x *exchange.Member, seen func(Settlement)) (*member, error) {
	list, err := gpus.GPUs()
	if err != nil {
		return nil, err
	}
	chooser := &Chooser{Device: "Some GPU", Shared: true}
	m := &member{ranks: ranks, launcher: &Launcher{Chooser: chooser,
		Options: plan.Options{GPUs: gpus, Exchange: x, Types: []data.DType{data.I32}}}}
	m.launcher.Online = &Online{Chooser: chooser, Tries: 2, Exchange: x, Seen: seen}
	for i := range ranks {
		g := list[i]
		s, err := g.NewStream()
		if err != nil {
			return nil, err
		}
		in, err1 := g.Alloc(4 * memberElems)
		out, err2 := g.Alloc(4 * memberElems)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		m.streams, m.in, m.out = append(m.streams, s), append(m.in, in), append(m.out, out)
	}
	return m, nil
}

// round launches the call on new data, and says how many elements are wrong.
func (m *member) round(ctx context.Context, i *Invocation, number, size int) (v selection.Choice, wrong int,
	err error) {
	data := make([]byte, 4*memberElems)
	for k, s := range m.streams {
		for e := range memberElems {
			binary.LittleEndian.PutUint32(data[4*e:], uint32((m.ranks[k]+1)*1000+e+number))
		}
		if err := errors.Join(s.Put(m.in[k], data), s.Fill(m.out[k], 0xa5, int64(len(data)))); err != nil {
			return v, 0, err
		}
	}
	if v, err = i.Launch(ctx, m.streams); err != nil {
		return v, 0, err
	}
	for k, s := range m.streams {
		if err := errors.Join(s.Sync(ctx), s.Get(data, m.out[k])); err != nil {
			return v, 0, err
		}
		for e := range memberElems {
			if binary.LittleEndian.Uint32(data[4*e:]) != uint32(size*(size+1)/2*1000+size*(e+number)) {
				wrong++
			}
		}
	}
	return v, wrong, nil
}

// TestLauncher has one process with two ranks, and two with one each, launch a call again and again: each time it is
// right, some variants are tried, and one is kept, the same one by all.
func TestLauncher(t *testing.T) {
	library, err := gputest.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSCCLC_LIBCUDA", library)
	for _, job := range [][][]int{{{0, 1}}, {{0}, {1}}} {
		exchanges := []*exchange.Member{nil}
		if len(job) > 1 {
			exchanges = exchange.Group(len(job))
		}
		ran, errs := make([][]selection.Choice, len(job)), make([]error, len(job))
		settled := make([]Settlement, len(job))
		var wg sync.WaitGroup
		for k, ranks := range job {
			wg.Go(func() {
				ran[k], errs[k] = launchAll(t.Context(), cuda.Device(ranks...), ranks, exchanges[k],
					func(s Settlement) { settled[k] = s })
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		list := ran[0]
		tried := len(settled[0].Candidates)
		if tried < 3 || len(list) != launches || settled[0].Candidates[0].Least <= 0 {
			t.Fatalf("%d launches, settled %+v", len(list), settled[0])
		}
		for _, v := range list[2*tried:] {
			if v != settled[0].Candidates[0].Choice {
				t.Errorf("%v runs where %v was the fastest", v, settled[0].Candidates[0].Choice)
			}
		}
		for k := range ran {
			if !slices.Equal(ran[k], list) {
				t.Errorf("process %d ran %v, and process 0 %v", k, ran[k], list)
			}
		}
	}
}

const launches = 12

func launchAll(ctx context.Context, gpus executor.GPUs, ranks []int, x *exchange.Member,
	seen func(Settlement)) (ran []selection.Choice, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	m, err := newMember(gpus, ranks, x, seen)
	if err != nil {
		return nil, err
	}
	i := m.launcher.Bind(Call{Kind: ir.AllReduce, Ranks: 2},
		plan.CallArgs{DType: data.I32, RedOp: data.Sum, Elems: memberElems, Input: m.in, Output: m.out})
	defer func() { err = errors.Join(err, i.Close(), m.launcher.Close()) }()
	for number := range launches {
		v, wrong, err := m.round(ctx, i, number, 2)
		if err == nil && wrong > 0 {
			err = errors.New("wrong elements")
		}
		if err != nil {
			return ran, err
		}
		ran = append(ran, v)
	}
	if !i.Settled() {
		return ran, errors.New("nothing is settled")
	}
	return ran, nil
}
