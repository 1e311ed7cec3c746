package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// This file tests sums with an epilogue, by scenes of mscclc.h (testdata/capi/rows.c).

// rowLists are the epilogues of these scenes.
var rowLists = []string{"residual, rms_norm(eps)", "residual, rms_norm(eps), quantise(e4m3)",
	"bias, layer_norm(eps), activation(silu), cast(f32)"}

// rowSpec is of rules that finish rows: small sums in one step by packets of a protocol, and others in two.
func rowSpec(t *testing.T, ranks int, packets ir.Protocol) bundle.Spec {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, CTAs: 4, DTypes: []data.DType{data.BF16, data.F16, data.F32}}
	for _, text := range rowLists {
		list, err := epilogue.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range bundle.RowsLadder(ranks, 4, list) {
			if r.UpTo > 0 {
				r.UpTo, r.Protocol = 8<<10, packets
			}
			r.Tile = 12 << 10
			spec.Rules = append(spec.Rules, r)
		}
	}
	return spec
}

// rowBundle writes a bundle of rowSpec.
func rowBundle(t *testing.T, ranks int, packets ir.Protocol) string {
	t.Helper()
	b, err := bundle.Build(rowSpec(t, ranks, packets))
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

// TestInterfaceRows finishes rows of sums on the CPU and on the mock driver, whose GPUs reach each other's memory or
// not, eager and captured, and compares each element with what f64 gives.
func TestInterfaceRows(t *testing.T) {
	skipOnGPU(t)
	for _, c := range []struct {
		how, on string
		ranks   int
		packets ir.Protocol
		scenes  string
		env     []string
	}{
		{"threads", "cpu", 2, ir.LL, "rows", nil},
		{"processes", "cpu", 4, ir.LL, "rows", nil},
		{"threads", "gpu", 4, ir.LL, "rows row_graphs", nil},
		{"threads", "gpu", 4, ir.LL128, "rows row_graphs", nil},
		{"processes", "gpu", 2, ir.LL, "rows row_graphs", nil},
		{"processes", "gpu", 2, ir.LL128, "rows", nil},
		{"processes", "gpu", 2, ir.LL, "rows", []string{"MSCCLC_STANDIN_APART=1"}},
	} {
		name := append([]string{fmt.Sprint(c.how, c.ranks, c.on, c.packets)}, c.env...)
		t.Run(strings.Join(name, " "), func(t *testing.T) {
			t.Parallel()
			file := rowBundle(t, c.ranks, c.packets)
			for name := range strings.FieldsSeq(c.scenes) {
				scene(t, name, c.how, c.on, c.ranks, file, file, append(c.env, "MSCCLC_TIMEOUT=100")...)
			}
		})
	}
}
