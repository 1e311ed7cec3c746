// Package xmljudge checks MSCCL-IR XML that mscclc wrote, by the rules of the runtimes that read it. It was written
// from the description of these runtimes alone. It shares no code with the writer and the reader of package
// codegen/msccl. So it can find a mistake that this writer and this reader have in common.
package xmljudge

import (
	"errors"
	"fmt"
	"strings"
)

// A Runtime is one that reads MSCCL-IR XML.
type Runtime struct {
	name                           string
	steps, blocks, channels, depid int
	chain                          int  // sources of consecutive reductions; 0 is any number
	fused                          bool // receives that reduce or forward
	inclusive                      bool // maxBytes is in the range, and mandatory with minBytes and outofplace
	wholeBuffers                   bool // buffers have nchunksperloop chunks or none
	collectives                    string
}

// The runtimes.
var (
	MSCCL = Runtime{name: "msccl", steps: 256, blocks: 216, channels: 32, depid: 127, chain: 15, fused: true,
		wholeBuffers: true, collectives: " allreduce allgather reduce broadcast alltoall reduce_scatter custom "}
	RCCL = Runtime{name: "rccl", steps: 64, blocks: 64, channels: 128, depid: 63, inclusive: true,
		collectives: " reduce broadcast allreduce reducescatter allgather gather scatter alltoall "}
)

// What both readers allow.
const (
	maxNodes    = 4096
	maxChildren = 1024
	maxAttrs    = 16
	maxValue    = 255
	maxName     = 63
	maxCount    = 71
	maxOffset   = 32767
	maxPeers    = 32
)

// A Problem is something that the runtime would reject, misread or hang on.
type Problem struct {
	Line int
	Text string
}

// Judge returns what of src the runtime would reject, misread, or hang on
// without a word, in the order of the file and at most 20 of it.
func Judge(src []byte, r *Runtime) []Problem {
	j := &judge{r: r}
	top, bad := parse(string(src))
	switch {
	case bad != nil:
		return []Problem{*bad}
	case len(top) != 1 || top[0].name != "algo":
		return []Problem{{1, "the file is not one <algo>"}}
	}
	j.algo(&top[0])
	return j.found
}

// Error is Judge as an error, nil where there is no problem.
func Error(src []byte, r *Runtime) error {
	var errs []error
	for _, p := range Judge(src, r) {
		errs = append(errs, fmt.Errorf("%s: line %d: %s", r.name, p.Line, p.Text))
	}
	return errors.Join(errs...)
}

type judge struct {
	r     *Runtime
	found []Problem

	ranks, channels, divisor int
	coll                     string
	inplace                  bool
	wires                    map[wire]*traffic
}

func (j *judge) say(line int, format string, args ...any) {
	if len(j.found) < 20 {
		j.found = append(j.found, Problem{line, fmt.Sprintf(format, args...)})
	}
}

// within reports a number that is not in [least, most].
func (j *judge) within(line int, what string, got, least, most int) {
	if got < least || got > most {
		j.say(line, "%s is %d, not from %d to %d", what, got, least, most)
	}
}

// element checks what every element must keep.
func (j *judge) element(n *node, name string) {
	if n.name != name {
		j.say(n.line, "<%s> stands where <%s> is due", n.name, name)
	}
	if len(n.keys) > maxAttrs {
		j.say(n.line, "<%s> has %d attributes", n.name, len(n.keys))
	}
	for i, v := range n.vals {
		if len(v) > maxValue || strings.ContainsAny(v, "&<>'") {
			j.say(n.line, "the value of %s is long or escaped", n.keys[i])
		}
	}
	if len(n.nodes) > maxChildren {
		j.say(n.line, "<%s> has %d children", n.name, len(n.nodes))
	}
}

func (j *judge) algo(n *node) {
	j.element(n, "algo")
	if name := j.text(n, "name"); len(name) > maxName || name == "2D" {
		j.say(n.line, "the name %q is too long or has a meaning of its own", name)
	}
	j.ranks, j.channels, j.divisor = j.num(n, "ngpus"), j.num(n, "nchannels"), j.num(n, "nchunksperloop")
	j.within(n.line, "nchannels", j.channels, 1, j.r.channels)
	j.within(n.line, "nchunksperloop", j.divisor, 1, 1<<31-1)
	if p := j.text(n, "proto"); p != "Simple" && p != "LL" && p != "LL128" {
		j.say(n.line, "proto is %q", p)
	}
	if j.coll = j.text(n, "coll"); !strings.Contains(j.r.collectives, " "+j.coll+" ") {
		j.say(n.line, "coll is %q", j.coll)
	}
	inplace := j.num(n, "inplace")
	j.within(n.line, "inplace", inplace, 0, 1)
	j.inplace = inplace == 1
	j.sizes(n)
	j.wires = map[wire]*traffic{}
	seen := make(map[int]bool)
	top := 0
	for i := range n.nodes {
		g := &n.nodes[i]
		id := j.num(g, "id")
		j.within(g.line, "id", id, 0, j.ranks-1)
		if seen[id] {
			j.say(g.line, "gpu %d stands twice", id)
		}
		seen[id] = true
		top = max(top, j.gpu(g, id, len(n.nodes)))
	}
	if len(n.nodes) != j.ranks {
		j.say(n.line, "ngpus is %d, and there are %d", j.ranks, len(n.nodes))
	}
	if top+1 != j.channels && top >= 0 && len(j.wires) > 0 {
		j.say(n.line, "nchannels is %d, and the last channel is %d", j.channels, top)
	}
	j.pairs()
}

func (j *judge) sizes(n *node) {
	least, most := 0, 1<<27
	if j.r.inclusive {
		out := j.num(n, "outofplace")
		j.within(n.line, "outofplace", out, 0, 1)
		if out == 0 && !j.inplace {
			j.say(n.line, "no call can select the file")
		}
	}
	if j.r.inclusive || n.has("minBytes") {
		least = j.num(n, "minBytes")
	}
	if j.r.inclusive || n.has("maxBytes") {
		most = j.num(n, "maxBytes")
	}
	switch endless := j.r.inclusive && most == 0; {
	case least < 0 || most < 0:
		j.say(n.line, "a size is negative")
	case !endless && (most < least || most == least && !j.r.inclusive):
		j.say(n.line, "no size is in the range")
	}
}

// gpu checks a rank and returns its highest channel.
func (j *judge) gpu(n *node, id, ranks int) int {
	j.element(n, "gpu")
	g := &rank{judge: j, id: id, in: j.num(n, "i_chunks"), out: j.num(n, "o_chunks"), scratch: j.num(n, "s_chunks")}
	j.within(n.line, "s_chunks", g.scratch, 0, maxOffset+1)
	j.buffers(n, g)
	j.within(n.line, "the number of thread blocks", len(n.nodes), 0, j.r.blocks)
	nodes, top := 1+ranks+len(n.nodes), -1
	byID := make([]*block, len(n.nodes))
	for i := range n.nodes {
		b := g.block(&n.nodes[i])
		nodes += len(b.steps)
		top = max(top, b.channel)
		if b.id < 0 || b.id >= len(byID) || byID[b.id] != nil {
			j.say(b.line, "thread blocks are not numbered from 0 without gaps")
			return top
		}
		byID[b.id] = b
	}
	if nodes >= maxNodes {
		j.say(n.line, "rank %d reads %d nodes", id, nodes)
	}
	g.connections(n.line, byID)
	g.flags(byID)
	return top
}

// buffers checks the declared buffers against nchunksperloop.
func (j *judge) buffers(n *node, g *rank) {
	if !j.r.wholeBuffers {
		j.within(n.line, "i_chunks", g.in, 0, 1<<31-1)
		j.within(n.line, "o_chunks", g.out, 0, 1<<31-1)
		return
	}
	mi, mo := 1, 1
	switch j.coll {
	case "allgather":
		mi = j.ranks
	case "reduce_scatter":
		mo = j.ranks
	}
	if g.in != 0 && g.in*mi != j.divisor {
		j.say(n.line, "i_chunks is %d with %d chunks a loop", g.in, j.divisor)
	}
	if g.out != 0 && g.out*mo != j.divisor {
		j.say(n.line, "o_chunks is %d with %d chunks a loop", g.out, j.divisor)
	}
}
