package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// gpus returns the device's, or nil where it has none that work beside the host.
func (p *benchPlan) gpus(job *processes.Job) executor.GPUs {
	if open := devices.GPUs[p.device]; open != nil && job == nil {
		return open()
	}
	return job.GPUs(p.device)
}

// count returns how many ranks a collective has that nobody has given a number of.
func (p *benchPlan) count(job *processes.Job) (int, error) {
	switch gpus := p.gpus(job); {
	case p.ranks > 0:
		return p.ranks, nil
	case job != nil:
		return job.Size, nil
	case gpus != nil:
		list, err := gpus.GPUs()
		return len(list), err
	}
	return 4, nil
}

// calls returns what may be measured.
func (w *benchWorld) calls() (list []*bench.Call) {
	for _, of := range w.cases() {
		coll := *w.coll
		coll.Root = of.root
		for _, bytes := range w.sizes {
			for _, inplace := range [2]bool{false, true} {
				c := &bench.Call{Coll: bench.Whole(&coll, inplace), DType: of.dtype, RedOp: of.redop, Unalign: w.unalign,
					Rows: w.rows()}
				if c.Elems = data.PieceElems(c.Coll, bytes, of.dtype); w.row > 0 {
					c.Elems -= c.Elems % int64(w.row)
				}
				list = append(list, c)
			}
		}
	}
	return list
}

// openSite opens what the ranks run on.
func (w *benchWorld) openSite(ctx context.Context, job *processes.Job, check verify.Options) error {
	gpus := w.gpus(job)
	if gpus == nil {
		return w.openHost(check)
	}
	options := bench.GPUsOptions{GPUs: gpus, Ranks: w.coll.Ranks, Wait: w.wait,
		Plan:  plan.Options{Check: check, Connect: w.wait},
		Calls: w.calls(), NullStream: w.nullStream()}
	if job != nil {
		cpu := devices.GPUs[w.device] == nil
		if job.Size > w.coll.Ranks || job.Size < w.coll.Ranks && !cpu {
			return cli.Usagef("there are %s for %s", diag.Counted(job.Size, "process"), diag.Counted(w.coll.Ranks, "rank"))
		}
		if w.measuring.Plain = w.measuring.Plain || cpu; cpu {
			if err := w.checkMemory(); err != nil {
				return err
			}
		}
		if _, err := gpus.GPUs(); err != nil {
			return err // before the others are waited for
		}
		x, err := job.Join(ctx, w.wait)
		if err != nil {
			return fmt.Errorf("%w: %w", err, executor.ErrNoDevice)
		}
		options.Plan.Exchange, w.exchange = x, x
		w.first = x.Index() == 0
		plan.DescribeRanks(x, w.coll.Ranks)
		if err := processes.Same(ctx, x, w.arguments); err != nil {
			return err
		}
		if err := w.findNodes(ctx, gpus); err != nil {
			return err
		}
	}
	if w.task == toSearch && w.on != "" {
		options.Plans = plansOverNodes
	}
	site, err := bench.NewGPUs(ctx, options)
	if err != nil {
		return err
	}
	w.site = site
	if w.vs != "nccl" {
		return nil
	}
	if w.nccl, err = site.OpenNCCL(ctx, w.ncclFlag); err != nil {
		return err
	}
	if w.forRules() {
		err := site.UseNCCLMemory(ctx, w.windows)
		if err != nil && (w.windows || !errors.Is(err, executor.ErrNotSupported)) {
			return err
		}
	}
	if w.ncclPath = w.ncclFlag; w.ncclPath == "" {
		w.ncclPath = "libnccl.so.2"
	}
	w.rivals = site.Rivals
	return nil
}

// plansOverNodes are those that stay prepared while programs for several nodes are tuned: each has connections, and the
// proxy looks at all of them.
const plansOverNodes = 4

// findNodes has programs be chosen for the nodes that ranks are on.
func (w *benchWorld) findNodes(ctx context.Context, gpus executor.GPUs) error {
	of, err := plan.NodesOf(ctx, w.exchange, gpus)
	if err != nil {
		return err
	}
	node := make([]int, w.coll.Ranks)
	for r := range node {
		node[r] = of[w.exchange.Driver(r)]
	}
	if w.named {
		if err := nodesAsSaid(w.Nodes, node); err != nil {
			return err
		}
	}
	if on, nodes := choose.OnNodes(node); on != "" {
		w.on, w.nodes = on, nodes
	}
	w.node, w.process = node, of
	return nil
}

// nodesAsSaid returns an error of usage if the processes are on several nodes, which have other ranks than --nodes
// says. node is the node of each rank. A number of nodes only says that they have equally many.
func nodesAsSaid(flag cli.Nodes, node []int) error {
	said, err := flag.Of(len(node))
	if err != nil {
		return err
	}
	has, on := choose.NodesText(node), strings.Trim(fmt.Sprint(node), "[]")
	blocks, sizes := slices.IsSorted(node), strings.Contains(string(flag), ",")
	switch same := has == choose.NodesText(said); {
	case flag == "" || has == "" || same && (blocks || !sizes):
		return nil
	case blocks:
		return cli.Usagef("--nodes is %s, and the nodes of the processes have %s ranks", string(flag), has).Hint(
			"give --nodes %s, or leave it out", has)
	case same:
		return cli.Usagef("--nodes %s is for ranks that follow each other on each node, and the ranks are on nodes %s",
			string(flag), on).Hint("leave --nodes out")
	}
	return cli.Usagef("--nodes is %s, and the ranks are on nodes %s", string(flag), on).Hint("leave --nodes out")
}

// openHost opens a device whose runs end one by one.
func (w *benchWorld) openHost(check verify.Options) error {
	if err := w.checkMemory(); err != nil {
		return err
	}
	w.measuring.Plain = true
	options := executor.Options{Device: devices.Table[w.device](), Check: check}
	host := bench.NewHost(w.device, w.coll.Ranks, options, w.wait)
	w.site = host
	for _, p := range w.programs() {
		if p != nil {
			if _, err := host.Load(p); err != nil { // what is rejected has no table
				return errors.Join(err, host.Close())
			}
		}
	}
	return nil
}

// checkMemory refuses to measure sizes whose buffers, and scratch of the file's
// two-sided programs, this machine has no memory for. One-sided scratch is of a tile.
func (w *benchWorld) checkMemory() error {
	most := float64(0)
	for _, c := range w.calls() {
		need, size := float64(0), float64(c.DType.Size())
		geo := c.Geometry()
		for r := range c.Coll.Ranks {
			in, out, _, _, mem := geo.Buffers(r)
			if c.Coll.Inplace {
				in, out = mem, 0
			}
			out = int64(float64(out) * held(w.anyGiven()))
			need += size * (float64(in) + float64(out))
			for _, p := range w.given {
				if p != nil && p.OneSided == nil && p.Coll.Inplace == c.Coll.Inplace && r < len(p.Scratch) {
					need += size * float64(p.Scratch[r]) * float64(c.Elems) / float64(max(p.Coll.Chunks, 1))
				}
			}
		}
		most = max(most, need)
	}
	return devices.RefuseMemory(most, "end at a smaller size (-e)")
}
