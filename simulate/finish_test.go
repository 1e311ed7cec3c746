package simulate_test

import (
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/epilogue"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// TestRows holds that each stage of an epilogue takes the time that the table says, and that rows are worth a kernel of
// their own in no time: a program with stages is slower than the same program without.
func TestRows(t *testing.T) {
	text, err := algorithms.Open("rows/onestep")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile("rows/onestep.mscl", text, mscclc.Options{OneSided: true,
		Lang: lang.Options{Params: lang.Params{"ranks": 2}, Protocol: new(ir.Protocol)}})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	timeOf := func(list string, bytes int64) float64 {
		t.Helper()
		if p.Then, err = epilogue.Parse(list); err != nil {
			t.Fatal(err)
		}
		r, err := simulate.Run(p, machine, costs, simulate.Call{Bytes: bytes, DType: data.BF16,
			Width: launch.Width{Replicas: 16}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Micros
	}
	for _, bytes := range []int64{16 << 10, 1 << 20, 64 << 20} {
		plain, norm, both := timeOf("", bytes), timeOf("rms_norm(eps)", bytes), timeOf("residual, layer_norm(eps)", bytes)
		if plain+costs.OneSided.Row > norm || norm+costs.OneSided.Row > both {
			t.Errorf("%d bytes take %.2f us, with RMSNorm %.2f, with residual and LayerNorm %.2f", bytes, plain, norm, both)
		}
	}
}
