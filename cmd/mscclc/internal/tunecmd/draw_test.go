package tunecmd

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/tuned"
)

// drawn returns times of all collectives, of which many are alike.
func drawn() (times []tuned.Time) {
	for _, ranks := range []int{8, 4, 2} {
		for i, kind := range bundle.Kinds {
			for _, when := range []string{bundle.Captured, bundle.Eager} {
				for _, windows := range []bool{false, true} {
					if windows && kind.Rooted() {
						continue
					}
					for bytes := int64(1 << 10); bytes <= 256<<20; bytes *= 4 {
						gain := 1 + 1.5*math.Exp(-math.Log2(float64(bytes)/1024)/8)*(1+0.05*float64(i/2))
						program := "x/y"
						if bytes > 16<<20 && i%2 == 0 {
							program = bundle.NCCL
						}
						times = append(times, tuned.Time{Group: tuned.Group{Collective: kind.String(), Ranks: ranks,
							Windows: windows}, When: when, Bytes: bytes, Program: program, Micros: 10, NCCLMicros: 10 * gain})
					}
				}
			}
		}
	}
	return times
}

// TestBlocks: each number of ranks has a block, and each of its collectives a panel with the curves of all kinds of
// calls, on the same axes.
func TestBlocks(t *testing.T) {
	times := drawn()
	list := blocks(times)
	if len(list) != 3 {
		t.Fatalf("there are %d blocks", len(list))
	}
	for i, b := range list {
		if b.ranks != 8>>i || !slices.Equal(b.kinds, bundle.KindNames()) || b.from != 1<<10 || b.to != 256<<20 {
			t.Errorf("block %d is %+v", i, b)
		}
	}
	for i := range styles {
		if !slices.ContainsFunc(times, styles[i].has) {
			t.Errorf("no time is %s", styles[i].name)
		}
		for k := range i { // curves that lie upon each other differ in width and mark
			if styles[i].width > styles[k].width || styles[i].shape == styles[k].shape || styles[i].color == styles[k].color {
				t.Errorf("%s looks like %s", styles[i].name, styles[k].name)
			}
		}
	}
}

// TestDraw draws all blocks, and a picture of one size.
func TestDraw(t *testing.T) {
	all := drawn()
	one := slices.DeleteFunc(drawn(), func(t tuned.Time) bool { return t.Bytes != 1<<10 || t.Collective != "reduce" })
	var lengths []int
	for _, times := range [][]tuned.Time{all, one} {
		for _, file := range []string{"x.png", "x.svg"} {
			var b bytes.Buffer
			if err := drawPicture(&b, file, "NVIDIA H200", times); err != nil {
				t.Fatal(err)
			}
			lengths = append(lengths, b.Len())
		}
	}
	if lengths[0] <= lengths[2] || lengths[1] <= lengths[3] {
		t.Errorf("the pictures have %v bytes", lengths)
	}
}
