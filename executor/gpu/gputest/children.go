package gputest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
)

// roleVariable has a process of this test binary be a test's child, and says which, as
// the JSON of a role.
const roleVariable = "MSCCLC_GPUTEST_ROLE"

// A role is what a child does.
type role struct {
	Do      string
	Address string // of its job's exchange
	Index   int
	Size    int
	Proto   ir.Protocol
	Two     bool          // sided
	Mapped  string        // kind of memory, where it is not plain
	Wait    time.Duration // that it may take, where that is not the usual
	Env     []string      // for it
}

// A child is a process that a test has started.
type running struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// start starts a child.
func start(t testing.TB, r role) *running {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := &running{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(append(os.Environ(), roleVariable+"="+string(text)), r.Env...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// childTime is what a child may take.
const childTime = 60 * time.Second

// end waits for a child, and gives its exit code and what it said. One that hangs, or
// that is ended by a fault of its own, fails the test.
func (c *running) end(t testing.TB) (code int, said string) {
	t.Helper()
	timer := time.AfterFunc(childTime, func() { c.cmd.Process.Kill() })
	c.cmd.Wait()
	code, said = c.cmd.ProcessState.ExitCode(), c.out.String()
	if !timer.Stop() {
		t.Fatalf("a child hung: %s", said)
	}
	return code, said
}

// child does what a role says, and gives the exit code: 0, or 1 for an error.
func child(d Device, text string) int {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if r.Wait == 0 {
		r.Wait = childTime / 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Wait)
	defer cancel()
	do, ok := map[string]func(context.Context, Device, role) error{"all": childAll, "fault": childFault, "rank": childRank,
		"late": childLate, "dies": childDies, "few": childFew, "fewRows": childFewRows, "port": childPort,
		"portAlone": childPort, "portRank": childPortRank, "node": childNode, "net": childNet, "rows": childRows}[r.Do]
	if !ok {
		fmt.Fprintln(os.Stderr, "there is no role", r.Do)
		return 2
	}
	if err := do(ctx, d, r); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("fine")
	return 0
}

// childAll does a bit of everything in one process, on up to two GPUs, and undoes it.
func childAll(ctx context.Context, d Device, r role) error {
	gpus, err := d.Open().GPUs()
	if err != nil {
		return err
	}
	numbers := []int{0, 1}[:min(2, len(gpus))]
	port, err := portProgram("all", 4, ir.Simple)
	if err != nil {
		return err
	}
	list := []*either.Program{port}
	for _, s := range both(ranked("allreduce/allpairs", 4, r.Proto, false)) {
		p, err := s.program()
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	for _, p := range list {
		g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(numbers...), Unproven: true})
		if err != nil {
			return err
		}
		if err := errors.Join(childCalls(ctx, g), g.Close()); err != nil {
			return err
		}
	}
	return nil
}

func childCalls(ctx context.Context, g *rig) error {
	j, err := g.bind(ctx, data.I32, data.Sum, 3001, nil)
	if err != nil {
		return err
	}
	err = j.run(ctx)
	if err == nil {
		err = childGraphs(ctx, j)
	}
	if err != nil {
		return errors.Join(err, g.plan.Reset(ctx), j.close())
	}
	return j.close()
}

// childGraphs captures launches, and replays them after others on another stream.
func childGraphs(ctx context.Context, j *job) error {
	if err := j.fill(); err != nil {
		return err
	}
	var graphs []executor.Graph
	for _, s := range j.rig.streams {
		if err := s.Capture(); err != nil {
			return err
		}
		launched := j.call.Launch(s)
		graph, err := s.EndCapture()
		if err := errors.Join(launched, err); err != nil {
			return err
		}
		graphs = append(graphs, graph)
	}
	var others []executor.Stream
	for _, s := range j.rig.streams {
		other, err := s.GPU().NewStream()
		if err != nil {
			return err
		}
		others = append(others, other)
	}
	for _, s := range others {
		if err := j.call.Launch(s); err != nil {
			return err
		}
	}
	if err := j.replay(graphs); err != nil {
		return err
	}
	if err := errors.Join(j.rig.plan.Wait(ctx), j.compare()); err != nil {
		return err
	}
	var errs []error
	for i := range graphs {
		errs = append(errs, graphs[i].Close(), others[i].Close())
	}
	return errors.Join(errs...)
}

// joined returns a child that drives one rank of a job, of the GPUs in turn.
func joined(ctx context.Context, d Device, r role) (*exchange.Member, *rig, *job, error) {
	at := exchange.At(r.Address)
	at.Secret = []byte(r.Address) // so that another number of processes ends the job at once
	x, err := exchange.Join(ctx, at, r.Index, r.Size)
	if err != nil {
		return nil, nil, nil, err
	}
	s := ranked("allreduce/allpairs", 3, r.Proto, r.Proto != ir.Simple)
	s.two = r.Two
	p, err := s.program()
	if err != nil {
		return x, nil, nil, err
	}
	gpus, err := d.Open().GPUs()
	if err != nil {
		return x, nil, nil, err
	}
	g, err := newRig(ctx, d, p, plan.Options{GPUs: d.Open(r.Index % len(gpus)), Exchange: x, Unproven: true})
	if err != nil {
		return x, nil, nil, err
	}
	elems := int64(5003)
	if r.Mapped != "" {
		g.memory, elems = newMapper(d, r.Mapped == "shareable"), 7<<19
	}
	j, err := g.bind(ctx, data.I32, data.Sum, elems, nil)
	return x, g, j, err
}

// childRank runs its rank many times, of several calls, some by graphs.
func childRank(ctx context.Context, d Device, r role) error {
	x, g, j, err := joined(ctx, d, r)
	if err != nil {
		return err
	}
	times := 5
	if r.Mapped != "" {
		times = 2
	}
	for k := range times {
		if err := j.run(ctx); err != nil {
			return err
		}
		if err := g.once(ctx, data.BF16, data.Max, int64(k*1001), nil); err != nil {
			return err
		}
		if _, err := x.AllGather(ctx, nil); err != nil { // nobody fills anew what another still reads
			return err
		}
	}
	if !j.data.Geo.Coll.Inplace { // in place, sums grow
		if err := childGraphs(ctx, j); err != nil {
			return err
		}
	}
	return errors.Join(j.close(), g.Close(), x.Close())
}
