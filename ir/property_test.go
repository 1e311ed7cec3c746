package ir

import (
	"math/rand"
	"testing"
)

const allProperties = Property(1<<NumProperties - 1)

func TestRingHasAllProperties(t *testing.T) {
	for n := 2; n < 9; n++ {
		d := ringInsts(n)
		d.Shuffle(rand.New(rand.NewSource(1)))
		if err := Check(d, allProperties, CheckOptions{}); err != nil {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}
