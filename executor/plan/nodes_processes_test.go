//go:build cgo && linux

package plan_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/executor/data"
	"mscclc/executor/exchange"
	"mscclc/executor/host"
	"mscclc/executor/plan"
	"mscclc/internal/covering"
	"mscclc/lang"
	"mscclc/transport"
)

// This file has processes of this machine be nodes, with UCX between them.

// nodeProcesses are how many there are, and perNode how many of them are a node.
const nodeProcesses, perNode = 4, 2

// childVariable says which process of a job this is, where the hub listens, and how many calls it
// makes: 0 is without end, and idleCalls one, after which the last process makes no other.
const childVariable = "MSCCLC_TEST_NODES"

const idleCalls = -1

// TestNodesChild is a process of a job, and nothing where there is no job.
func TestNodesChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	words := strings.Fields(os.Getenv(childVariable))
	index, err1 := strconv.Atoi(words[0])
	calls, err2 := strconv.Atoi(words[2])
	if err := errors.Join(err1, err2, nodesChild(t, index, words[1], calls)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func nodesChild(t *testing.T, index int, hub string, calls int) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	x, err := exchange.Join(ctx, exchange.At(hub), index, nodeProcesses)
	if err != nil {
		return err
	}
	x.SetPatience(10 * time.Second)
	gpus := host.New(host.Options{Threads: 1})
	all, err := gpus.GPUs()
	if err != nil {
		return err
	}
	m := &member{gpu: all[0], ranks: []int{index}}
	if m.stream, err = m.gpu.NewStream(); err != nil {
		return err
	}
	p := catalog(t, "allreduce/hierarchical", lang.Params{"nodes": "2", "gpus": "2"}, nil)
	if m.Plan, err = plan.Prepare(ctx, p, plan.Options{GPUs: gpus, Exchange: x, Replicas: 2,
		TileBytes: 4096}); err != nil {
		return err
	}
	for i := range max(calls, 1) {
		dt := data.DType(i) % data.NumDTypes
		if err := m.run(ctx, int64(1+i%7*1429), dt, data.Sum, i%3, 2); err != nil {
			return err
		}
	}
	if calls == 0 {
		m.launched = func() { fmt.Println("runs") }
		return m.run(ctx, 1_000_003, data.I32, data.Sum, 2, 10_000) // which takes longer than the test
	}
	if calls == idleCalls {
		fmt.Println("runs")
		if index == nodeProcesses-1 {
			time.Sleep(time.Minute)
		}
		return m.run(ctx, 1, data.I32, data.Sum, 2, 1)
	}
	return errors.Join(m.Close(), x.Close())
}

// A nodeProcess is a process of a job, and what it says.
type nodeProcess struct {
	*exec.Cmd
	said *bufio.Reader
}

// end waits for a process's end, and returns what it said and how it ended.
func (p *nodeProcess) end() (said string, err error) {
	text, _ := io.ReadAll(p.said) // to its end, whatever that is
	return string(text), p.Wait()
}

// startNodes starts a job.
func startNodes(t *testing.T, calls int) []*nodeProcess {
	t.Helper()
	if p, err := transport.Open("ucx"); err != nil {
		t.Skip(err)
	} else {
		p.Close()
	}
	ear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ear.Close()
	var list []*nodeProcess
	for i := range nodeProcesses {
		p := &nodeProcess{Cmd: exec.Command(os.Args[0], "-test.run=^TestNodesChild$")}
		p.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %d", childVariable, i, ear.Addr(), calls),
			fmt.Sprintf("%s=n%d", plan.NodeVariable, i/perNode), transport.NetVariable+"=ucx", "UCX_TLS=tcp,self")
		said, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.said, p.Stderr = bufio.NewReader(said), p.Stdout
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Process.Kill() })
		list = append(list, p)
	}
	return list
}

// TestNodesUCX runs a program over processes of two nodes, with all types.
func TestNodesUCX(t *testing.T) {
	for i, p := range startNodes(t, 2*int(data.NumDTypes)) {
		if said, err := p.end(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, said)
		}
	}
}

// TestNodesFault has one process be killed, or stopped, while a call runs or between two calls: all others end, and
// name it, its rank and node, and the step that waited, or the last call.
func TestNodesFault(t *testing.T) {
	waited := `allreduce/\w+.mscl:\d+:.*process 3.*rank 3, node n1.* rank \d block \d+ step \d+ .* waited`
	idle := `process 3 \(rank 3, node n1\) is gone: .* \(process 0 noticed it\); ` +
		`the last call was allreduce of 2 bytes of f16 by hierarchical`
	for _, c := range []struct {
		signal syscall.Signal
		calls  int
		want   string
	}{{syscall.SIGKILL, 0, waited}, {syscall.SIGSTOP, 0, waited}, {syscall.SIGKILL, idleCalls, idle},
		{syscall.SIGSTOP, idleCalls, idle}} {
		t.Run(fmt.Sprint(c.signal, " in call ", c.calls), func(t *testing.T) {
			t.Parallel() // it waits
			list := startNodes(t, c.calls)
			last := len(list) - 1
			for _, p := range list { // until it runs
				if line, err := p.said.ReadString('\n'); line != "runs\n" {
					t.Fatal(line, err)
				}
			}
			if err := list[last].Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			begin, limit := time.Now(), map[syscall.Signal]time.Duration{syscall.SIGKILL: 2 * time.Second,
				syscall.SIGSTOP: 5 * time.Second}[c.signal]
			lost := regexp.MustCompile(c.want)
			for i, p := range list[:last] {
				if said, err := p.end(); err == nil || !lost.MatchString(said) {
					t.Errorf("%v, process %d: %v: %s", c.signal, i, err, said)
				}
			}
			took := time.Since(begin)
			t.Logf("%v: all processes have ended after %v", c.signal, took)
			if took > covering.Patience(limit) {
				t.Errorf("%v: it took %v; the limit is %v", c.signal, took, limit)
			}
			list[last].Process.Kill()
			list[last].Wait()
		})
	}
}
