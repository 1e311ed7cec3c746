package algorithms_test

import (
	"bytes"
	"fmt"
	"os"
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

// planOf compiles p for MSCCL++ and makes its plan, which is proven.
func planOf(p *program, params map[string]string, inplace bool, protocol ir.Protocol, instances int) (*codegen.PlanFile, error) {
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		return nil, err
	}
	compiled, err := mscclc.Compile(p.file, p.text, mscclc.Options{Target: target,
		Lang: lang.Options{Params: params, Inplace: &inplace, Protocol: &protocol, Open: p.open}})
	if err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	f, _, err := mscclc.PlanMSCCLPP(compiled, mscclc.PlanOptions{ChannelOptions: codegen.ChannelOptions{Instances: instances}})
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

// TestMSCCLPP: every program of 2 to 16 ranks is written as a plan that is proven, that is read back, that keeps to all limits of MSCCL++'s
// executor, and of its faults to all that a plan can; and some run on the CPU. The log says which do not fit, and why. In CI each shape is
// written in one of the eight ways, with MSCCLC_MATRIX=full in all.
func TestMSCCLPP(t *testing.T) {
	full := os.Getenv("MSCCLC_MATRIX") == "full"
	schema := planSchema(t)
	fit, refused, ran := 0, 0, 0
	for _, p := range programs(t) {
		shapes, places := p.legal(t)
		n, turn := 0, 0
		for k, params := range shapes {
			for way := range 8 {
				if !full && way != k*3%8 {
					continue
				}
				turn++
				protocol, instances, inplace := ir.Protocol(way%2), 1+2*(way/2%2), places[way/4%len(places)]
				at := fmt.Sprintf("%s %v in place %v %v by %d", p.name, params, inplace, protocol, instances)
				f, err := planOf(&p, params, inplace, protocol, instances)
				if err != nil {
					if code := codeOf(err); code != diag.Unsupported && code != diag.Limit {
						t.Fatalf("%s: %v", at, err)
					}
					t.Logf("%s does not fit: %v", at, err)
					refused++
					continue
				}
				c, err := written(f, schema)
				if err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				for _, d := range codegen.FaultsMSCCLPP(c) {
					if d.Code != diag.MSCCLPPGraph && d.Code != diag.MSCCLPPPort {
						t.Errorf("%s: %v", at, d)
					}
				}
				n++
				if turn%4 == 0 && c.Coll.Kind != ir.Opaque {
					if err := runPlan(c, turn); err != nil {
						t.Errorf("%s: %v", at, err)
					}
					ran++
				}
			}
		}
		t.Logf("%-36s %4d plans", p.name, n)
		fit += n
	}
	t.Logf("%d plans, of which %d ran, %d refused", fit, ran, refused)
	if fit < 300 || ran < 50 {
		t.Errorf("only %d plans, and %d ran", fit, ran)
	}
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
