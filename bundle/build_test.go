package bundle

import (
	"bytes"
	"testing"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
)

// ladder returns a bundle of rules that nobody measured.
func ladder(t testing.TB, ranks ...int) *Bundle {
	t.Helper()
	spec := Spec{Device: "NVIDIA H200", Ranks: ranks, DTypes: []data.DType{data.F32, data.BF16}}
	for _, n := range ranks {
		spec.Rules = append(spec.Rules, Ladder(n, DefaultCTAs)...)
	}
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLadder builds bundles of rules that nobody measured, for each number of ranks. Equal input gives equal bytes.
func TestLadder(t *testing.T) {
	for n := 2; n <= limits.Ranks; n++ {
		b := ladder(t, n)
		t.Logf("%d ranks: %d rules, %d programs, %s", n, len(b.Sets[0].Rules), len(b.Programs), mebibytes(b.Sets[0].Arena))
	}
	if !bytes.Equal(Encode(ladder(t, 2, 4)), Encode(ladder(t, 2, 4))) {
		t.Error("equal input gives other bytes")
	}
}
