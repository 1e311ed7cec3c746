package algorithms_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/passes"
)

// A planWay is one way to write a program as a plan.
type planWay struct {
	protocol  ir.Protocol
	inplace   bool
	instances int
	pipeline  int64
}

// planWays are all ways for a program that can be in these places.
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
func planOf(p *program, params map[string]string, w planWay) (*codegen.PlanFile, error) {
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		return nil, err
	}
	compiled, err := mscclc.Compile(p.file, p.text, mscclc.Options{Target: target, Unproven: true,
		Lang: lang.Options{Params: params, Inplace: &w.inplace, Protocol: &w.protocol, Open: p.open}})
	if err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	f, _, err := mscclc.PlanMSCCLPP(compiled, mscclc.PlanOptions{ChannelOptions: codegen.ChannelOptions{Instances: w.instances, Pipeline: w.pipeline}})
	return f, err
}

// written is f as a file, which is of the schema, and is read back and written again to be the same.
func written(f *codegen.PlanFile, schema *jsonschema.Schema) (*ir.ChannelProgram, error) {
	var first, second bytes.Buffer
	if err := codegen.WriteMSCCLPP(&first, f); err != nil {
		return nil, err
	}
	g, c, err := codegen.ReadMSCCLPP("plan.json", bytes.NewReader(first.Bytes()), codegen.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if err := codegen.WriteMSCCLPP(&second, g); err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(first.Bytes()))
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(v); err != nil {
		return nil, err
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		return nil, fmt.Errorf("it is written otherwise when it has been read")
	}
	return c, nil
}

func planSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(codegen.MSCCLPPSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mscclpp.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mscclpp.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// planRefused are the plans that are refused, with the reason: all others are written.
var planRefused = map[string]string{}

// TestMSCCLPP: every program of 2 to 16 ranks is written as a plan that is proven, that is read back, that keeps to all limits of MSCCL++'s
// executor, and of its faults to all that a plan can; and some run on the CPU. What is refused stands in a list. In CI each shape is
// written in one of its ways, with MSCCLC_MATRIX=full in all.
func TestMSCCLPP(t *testing.T) {
	full := os.Getenv("MSCCLC_MATRIX") == "full"
	schema := planSchema(t)
	fit, refused, ran := 0, 0, 0
	for _, p := range programs(t) {
		t.Run(p.name, func(t *testing.T) {
			shapes, places := p.legal(t)
			ways := planWays(places)
			n, turn := 0, 0
			for k, params := range shapes {
				for i, way := range ways {
					if !full && i != k*3%len(ways) {
						continue
					}
					turn++
					at := fmt.Sprintf("%s %v %+v", p.name, params, way)
					c, err := planWritten(&p, params, way, schema)
					if why, ok := planRefused[at]; ok {
						if refused++; err == nil || !strings.Contains(err.Error(), why) {
							t.Errorf("%s: not refused for %q: %v", at, why, err)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", at, err)
						continue
					}
					n++
					if turn%4 == 0 && (!full || turn%16 == 0) && c.Coll.Kind != ir.Opaque {
						if err := runPlan(c, turn); err != nil {
							t.Errorf("%s: %v", at, err)
						}
						ran++
					}
				}
			}
			t.Logf("%d plans", n)
			fit += n
		})
	}
	t.Logf("%d plans, of which %d ran, %d refused", fit, ran, refused)
}

// planWritten is what the plan of a program means that has been written, read back, and looked at for what MSCCL++'s executor would do
// wrong with it.
func planWritten(p *program, params map[string]string, way planWay, schema *jsonschema.Schema) (*ir.ChannelProgram, error) {
	f, err := planOf(p, params, way)
	if err != nil {
		return nil, err
	}
	c, err := written(f, schema)
	if err != nil {
		return nil, err
	}
	for _, d := range codegen.FaultsMSCCLPP(c) {
		if d.Code != diag.MSCCLPPGraph {
			return nil, diag.List{d}
		}
	}
	return c, nil
}

// runPlan runs c on the CPU.
func runPlan(c *ir.ChannelProgram, turn int) error {
	for executor.RedOp(turn/3%int(executor.NumRedOps)) == executor.Avg {
		turn++ // the plan sums
	}
	p, err := passes.Unroll(c, 1)
	if err != nil {
		return err
	}
	loaded, err := executor.Load(p, executor.Options{Device: cpu.Device(), Columns: 1 + turn%4, TileBytes: 1 << 12, Unproven: true}) // PlanMSCCLPP proved it
	if err != nil {
		return err
	}
	defer loaded.Close()
	return runOneSided(loaded, p.Coll, 1+turn%4, turn)
}
