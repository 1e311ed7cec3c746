package algorithms_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/lint"
	"mscclc/lang"
	"mscclc/passes/channels"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A planWay is one way to write a program as a plan.
type planWay struct {
	protocol  ir.Protocol
	inplace   bool
	instances int
	pipeline  int64
}

// planWays returns all ways for a program that can be in these places.
func planWays(places []bool) (ways []planWay) {
	for _, inplace := range places {
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
			ways = append(ways, planWay{protocol, inplace, 1, 0}, planWay{protocol, inplace, 3, 0})
		}
		ways = append(ways, planWay{ir.Simple, inplace, 1, 1 << 14})
	}
	return ways
}

// planOf compiles p for MSCCL++ and makes its plan, which is proven.
func planOf(p *program, params lang.Params, w planWay) (*mscclpp.Plan, error) {
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		return nil, err
	}
	compiled, err := mscclc.CompileFile(p.tree, mscclc.Options{Target: target, Unproven: true,
		Lang: lang.Options{Params: params, Inplace: &w.inplace, Protocol: &w.protocol, Open: p.open}})
	if err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	f, _, err := mscclc.PlanMSCCLPP(compiled,
		mscclc.PlanOptions{Options: lower.Options{Instances: w.instances, Pipeline: w.pipeline}})
	return f, err
}

// written is f as a file, which is of the schema, where its ranks are few, and is read back and written again to be the
// same.
func written(f *mscclpp.Plan, schema *jsonschema.Schema) (*ir.ChannelProgram, error) {
	var first, second bytes.Buffer
	if err := mscclpp.Write(&first, f); err != nil {
		return nil, err
	}
	g, c, err := mscclpp.Read("plan.json", bytes.NewReader(first.Bytes()), codegen.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if err := mscclpp.Write(&second, g); err != nil {
		return nil, err
	}
	if c.Coll.Ranks <= fewRanks {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(first.Bytes()))
		if err != nil {
			return nil, err
		}
		if err := schema.Validate(v); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		return nil, fmt.Errorf("it is written otherwise when it has been read")
	}
	return c, nil
}

func planSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(mscclpp.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// planRefused says of programs why some of their plans are refused: all other plans are written.
var planRefused = map[string]string{
	"allgather/allpairs_pull":         "get goes wrong between", // chunks of two numbers
	"alltoall/one_step_pull":          "get goes wrong between",
	"scatter/direct_pull":             "get goes wrong between",
	"allreduce/allpairs_pull":         "no room in a thread block", // for a loop's puts to 9 peers and more
	"allreduce/ordered_pull":          "no room in a thread block",
	"allreduce/twophase_hierarchical": "no room in a thread block",
	"reduce/switch":                   "no operation that loads a sum through the switch",
	"reducescatter/switch":            "no operation that loads a sum through the switch",
}

// fewRanks bounds the plans that are judged by the schema, which looks at one operation after the other, whatever their
// number, and takes longer than all else.
const fewRanks = 6

// TestMSCCLPP: every program of 2 to 17 ranks is written as a plan that is proven, that is read back, that keeps to all
// limits of MSCCL++'s executor, and of its faults to all that a plan can; and some run on the CPU. Those of few ranks
// are judged by the schema. What is refused stands in a list. Shapes and ways to write are those of writtenShapes.
func TestMSCCLPP(t *testing.T) {
	schema := planSchema(t)
	var fit, refused, ran atomic.Int64
	t.Cleanup(func() { t.Logf("%d plans, of which %d ran, %d refused", fit.Load(), ran.Load(), refused.Load()) })
	for turn, p := range programs(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			shapes, places := p.legal(t)
			ways := planWays(places)
			n, not := 0, 0
			for _, row := range writtenShapes(len(shapes), len(ways), turn) {
				params, way := shapes[row[0]], ways[row[1]]
				at := fmt.Sprintf("%s %v %+v", p.name, params, way)
				c, err := planWritten(&p, params, way, schema)
				if why := planRefused[p.name]; err != nil && why != "" && strings.Contains(err.Error(), why) {
					not++
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				n++
				if n%4 == 0 && (!covering.Full() || n%16 == 0) && c.Coll.Kind != ir.Opaque {
					if err := runPlan(c, n); err != nil {
						t.Errorf("%s: %v", at, err)
					}
					ran.Add(1)
				}
			}
			if t.Logf("%d plans", n); covering.CI() && not == 0 && planRefused[p.name] != "" {
				t.Errorf("none of them is refused because %s", planRefused[p.name])
			}
			fit.Add(int64(n))
			refused.Add(int64(not))
		})
	}
}

// writtenShapes are pairs of a shape and a way to write it, of the turn-th program: all, for CI each shape in one of
// its ways, or one shape in three.
func writtenShapes(shapes, ways, turn int) [][]int {
	if covering.Full() {
		return covering.Product([]int{shapes, ways})
	}
	var rows [][]int
	for k := range shapes {
		if covering.CI() || (k+turn)%3 == 0 {
			rows = append(rows, []int{k, k * 3 % ways})
		}
	}
	return rows
}

// planWritten returns what the plan of a program means that has been written, read back, and looked at for what
// MSCCL++'s executor would do wrong with it, and for what is slow or fragile.
func planWritten(p *program, params lang.Params, way planWay, schema *jsonschema.Schema) (*ir.ChannelProgram, error) {
	f, err := planOf(p, params, way)
	if err != nil {
		return nil, err
	}
	c, err := written(f, schema)
	if err != nil {
		return nil, err
	}
	for _, d := range mscclpp.Faults(c) {
		if d.Code != diag.MSCCLPPGraph {
			return nil, diag.List{d}
		}
	}
	for _, d := range lint.Channels(c) {
		// A pipeline has the blocks that the algorithm leaves it. Some plans of packets have block barriers that need not be.
		if d.Code == diag.LintIdle && way.pipeline > 0 || d.Code == diag.LintMeet && !strings.Contains(d.Text, "twice") {
			continue
		}
		return nil, diag.List{d}
	}

	return c, nil
}

// runPlan runs c on the CPU.
func runPlan(c *ir.ChannelProgram, turn int) error {
	for data.RedOp(turn/3%int(data.NumRedOps)) == data.Avg {
		turn++ // the plan sums
	}
	p, err := channels.Unroll(c, 1)
	if err != nil {
		return err
	}
	// PlanMSCCLPP proved it
	loaded, err := executor.Load(either.OfOneSided(p), executor.Options{Device: cpu.Device(), Replicas: 1 + turn%4,
		TileBytes: 1 << 12, Unproven: true})
	if err != nil {
		return err
	}
	defer loaded.Close()
	return runOneSided(loaded, p.Coll, 1+turn%4, turn)
}
