package algorithms_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
)

// lateInSimple are programs of which some plan in Simple has a port that may not be done when the scratch that it
// writes is read again, with some replicas and places.
var lateInSimple = map[string]bool{"alltonext/backward": true}

// TestMSCCLPPOverNodes: every program with nodes becomes a plan for ranks on several nodes, in both protocols: proven,
// with ports alone between nodes, by the rules of MSCCL++'s reader and executor, and right on the CPU.
func TestMSCCLPPOverNodes(t *testing.T) {
	schema, shapes := planSchema(t), [][2]int{{2, 2}, {3, 2}, {2, 4}}
	tried := 0
	for turn, p := range programs(t) {
		for k, shape := range shapes {
			params := lang.Params{"nodes": int64(shape[0]), "gpus": int64(shape[1])}
			places, err := overNodes(&p, params)
			if err != nil || (k+turn)%2 > 0 && k > 0 {
				continue
			}
			tried++
			for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
				way := planWay{protocol, places[turn%len(places)], 1 + (turn+k)%2, 0}
				t.Run(fmt.Sprintf("%s %v %v", p.name, shape, protocol), func(t *testing.T) {
					t.Parallel()
					f, err := planOfNodes(&p, params, way, shape)
					if lateInSimple[p.name] && protocol == ir.Simple && codeOf(err) == diag.Unsupported {
						return // the hint says: compile it in the other protocol
					}
					if err != nil {
						t.Fatal(err)
					}
					c, err := written(f, schema)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range mscclpp.Faults(c) {
						if d.Code != diag.MSCCLPPGraph {
							t.Error(d)
						}
					}
					for _, bad := range readerRules(t, f, shape[1]) {
						t.Error(bad)
					}
					if c.Coll.Kind != ir.Opaque {
						if err := runPlan(c, turn); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
	if tried < 18 {
		t.Errorf("%d programs over nodes are too few", tried)
	}
}

// nodesOf returns the node of each rank.
func nodesOf(shape [2]int) []int32 {
	node := make([]int32, shape[0]*shape[1])
	for r := range node {
		node[r] = int32(r / shape[1])
	}
	return node
}

// overNodes returns the places of a program that takes nodes and has such a shape, or an error.
func overNodes(p *program, params lang.Params) (places []bool, err error) {
	err = fmt.Errorf("%s has no nodes", p.name)
	for _, inplace := range []bool{false, true} {
		expanded, wrong := lang.ExpandLevel(p.tree, lang.Options{Params: params, Inplace: &inplace, Open: p.open})
		if wrong != nil || expanded.Chunks == nil || expanded.Chunks.RanksPerNode == expanded.Chunks.Coll.Ranks {
			continue
		}
		places, err = append(places, inplace), nil
	}
	return places, err
}

// planOfNodes is planOf for ranks on several nodes.
func planOfNodes(p *program, params lang.Params, w planWay, shape [2]int) (*mscclpp.Plan, error) {
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		return nil, err
	}
	node := nodesOf(shape)
	compiled, err := mscclc.CompileFile(p.tree, mscclc.Options{Target: target, Unproven: true,
		Nodes: func(int) ([]int32, error) { return node, nil },
		Lang:  lang.Options{Params: params, Inplace: &w.inplace, Protocol: &w.protocol, Open: p.open}})
	if err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	f, _, err := mscclc.PlanMSCCLPP(compiled, mscclc.PlanOptions{
		Options: lower.Options{Instances: w.instances, Nodes: node}})
	return f, err
}

// A rawPlan is what MSCCL++'s reader takes of a plan's JSON.
type rawPlan struct {
	GPUs []struct {
		ID       int
		Channels []struct {
			Type  string `json:"channel_type"`
			Peers []int  `json:"connected_to"`
		}
		Remote []struct {
			Rank   int
			Type   string
			Access []string `json:"access_channel_types"`
		} `json:"remote_buffers"`
		Blocks []struct {
			ID       int
			Ops      []rawOp
			Channels []struct {
				Type string `json:"channel_type"`
				IDs  []int  `json:"channel_ids"`
			}
			Remote []struct {
				Type string `json:"access_channel_type"`
				IDs  []int  `json:"remote_buffer_ids"`
			} `json:"remote_buffer_refs"`
		} `json:"threadblocks"`
	}
}

type rawOp struct {
	Name     string
	Type     string      `json:"channel_type"`
	Channels []int       `json:"channel_ids"`
	Src      []rawBuffer `json:"src_buff"`
	Dst      []rawBuffer `json:"dst_buff"`
}

type rawBuffer struct {
	Type string
	ID   *int `json:"buffer_id"`
}

// readerRules says where a plan breaks what MSCCL++'s reader and executor ask for where nodes have a given number of
// ranks, by its JSON alone: memory ends at the node, indices are in range, channels pair, a port reads its rank's
// memory, and a put that a signal covers is on that signal's channel.
func readerRules(t *testing.T, f *mscclpp.Plan, perNode int) (bad []string) {
	var text bytes.Buffer
	if err := mscclpp.Write(&text, f); err != nil {
		t.Fatal(err)
	}
	var p rawPlan
	if err := json.Unmarshal(text.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	count, peers := map[string]int{}, make([]map[string][]int, len(p.GPUs))
	for r, g := range p.GPUs {
		if g.ID != r {
			say("gpus[%d].id is %d", r, g.ID)
		}
		peers[r] = map[string][]int{}
		for _, c := range g.Channels {
			peers[r][c.Type] = append(peers[r][c.Type], c.Peers...)
			for _, peer := range c.Peers {
				count[fmt.Sprint(c.Type, r, peer)]++
				if (c.Type == "memory") != (peer/perNode == r/perNode) {
					say("rank %d has a %s channel to rank %d", r, c.Type, peer)
				}
			}
		}
	}
	for r, g := range p.GPUs {
		for _, c := range g.Channels {
			for _, peer := range c.Peers {
				if a, b := count[fmt.Sprint(c.Type, r, peer)], count[fmt.Sprint(c.Type, peer, r)]; a != b {
					say("%d %s channels from rank %d to %d, and %d back", a, c.Type, r, peer, b)
				}
			}
		}
		for _, b := range g.Remote {
			if b.Rank/perNode != r/perNode && !slices.Equal(b.Access, []string{"port"}) {
				say("rank %d opens memory of rank %d", r, b.Rank)
			}
		}
		for id, b := range g.Blocks {
			if b.ID != id || len(b.Ops) > 64 {
				say("rank %d block %d is at %d, with %d operations", r, b.ID, id, len(b.Ops))
			}
			channels, remote := map[string][]int{}, map[string][]int{}
			for _, c := range b.Channels {
				channels[c.Type] = append(channels[c.Type], c.IDs...)
			}
			for _, x := range b.Remote {
				remote[x.Type] = append(remote[x.Type], x.IDs...)
			}
			for _, typ := range []string{"memory", "port"} {
				if len(channels[typ]) > 16 || len(remote[typ]) > 16 {
					say("rank %d block %d has %d %s channels and %d buffers", r, id, len(channels[typ]), typ, len(remote[typ]))
				}
				for _, c := range channels[typ] {
					if c < 0 || c >= len(peers[r][typ]) {
						say("rank %d block %d has %s channel %d", r, id, typ, c)
					}
				}
			}
			open := map[int]bool{} // channels with puts that no signal covers yet
			for k, o := range b.Ops {
				at := fmt.Sprintf("rank %d block %d op %d (%s)", r, id, k, o.Name)
				for _, c := range o.Channels {
					if c < 0 || c >= len(channels[o.Type]) || len(o.Channels) > 8 {
						say("%s has channel %d of %d", at, c, len(channels[o.Type]))
					}
				}
				for i, x := range append(slices.Clone(o.Src), o.Dst...) {
					switch {
					case x.ID == nil:
						if i < len(o.Src) && o.Type == "port" && o.Name == "rppkt" && x.Type != "s" {
							say("%s puts packets of %s", at, x.Type)
						}
					case *x.ID < 0 || *x.ID >= len(remote[o.Type]):
						say("%s has buffer %d", at, *x.ID)
					case o.Type == "port" && i < len(o.Src):
						say("%s reads another rank through a port", at)
					}
				}
				if o.Type != "port" {
					continue
				}
				if len(o.Dst) > 0 && len(o.Channels) != len(o.Dst) {
					say("%s has %d destinations and %d channels", at, len(o.Dst), len(o.Channels))
					continue
				}
				for i, c := range o.Channels {
					if len(o.Dst) > 0 {
						to := g.Remote[remote["port"][*o.Dst[i].ID]].Rank
						if peer := peers[r]["port"][channels["port"][c]]; peer != to {
							say("%s puts to rank %d by a channel to rank %d", at, to, peer)
						}
					}
					switch o.Name {
					case "put":
						open[c] = true
					case "pws", "pwsf", "signal", "rlxsignal":
						delete(open, c)
					}
				}
			}
			if len(open) > 0 {
				say("rank %d block %d puts, and no signal on the same channel tells of it", r, id)
			}
		}
	}
	return bad
}
