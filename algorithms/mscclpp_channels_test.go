package algorithms_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mscclc"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/lang"
)

// channelPlanRefused are the shapes of examples/channels of 2 to 16 ranks whose plans are refused, with the reason: all
// others are written.
var channelPlanRefused = map[string]string{
	"hierarchical nodes=10 gpus=1": "remote buffers", // all of a rank's peers in one block, and two buffers of each
	"hierarchical nodes=11 gpus=1": "remote buffers",
	"hierarchical nodes=12 gpus=1": "remote buffers",
	"hierarchical nodes=13 gpus=1": "remote buffers",
	"hierarchical nodes=14 gpus=1": "remote buffers",
	"hierarchical nodes=15 gpus=1": "remote buffers",
	"hierarchical nodes=16 gpus=1": "remote buffers",
}

// channelShapes returns the parameters of an example with 2 to 16 ranks.
func channelShapes(name string) (list []lang.Params) {
	for n := 1; n <= 16; n++ {
		if !strings.HasPrefix(name, "hierarchical") {
			list = append(list, lang.Params{"ranks": n})
			continue
		}
		for g := 1; n*g <= 16; g++ {
			list = append(list, lang.Params{"nodes": n, "gpus": g})
		}
	}
	return list[1:] // but 1 rank
}

// TestChannelPlans: every program of examples/channels, of 2 to 16 ranks, in place or, each third, out of place, is
// written as a plan that is proven, read back, and of the schema, and a quarter of them runs on the CPU; what is
// refused stands in a list.
func TestChannelPlans(t *testing.T) {
	files, err := filepath.Glob("../examples/channels/*.mscl")
	if err != nil || len(files) < 8 {
		t.Fatal("no examples", err)
	}
	schema := planSchema(t)
	var n, refused, ran atomic.Int64
	t.Cleanup(func() { // when all are through
		t.Logf("%d plans, of which %d ran, %d refused", n.Load(), ran.Load(), refused.Load())
		if int(refused.Load()) != len(channelPlanRefused) || n.Load() < 150 {
			t.Errorf("only %d plans, and %d refused", n.Load(), refused.Load())
		}
	})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".mscl")
			for turn, params := range channelShapes(name) {
				at := fmt.Sprintf("%s ranks=%v", name, params["ranks"])
				if params["nodes"] != nil {
					at = fmt.Sprintf("%s nodes=%v gpus=%v", name, params["nodes"], params["gpus"])
				}
				place := turn%3 != 0 || params["ranks"] != nil && turn > 7 // out of place a block reaches two buffers of each peer
				f, err := channelPlan(file, text, params, place)
				if why, ok := channelPlanRefused[at]; ok {
					if refused.Add(1); err == nil || !strings.Contains(err.Error(), why) {
						t.Errorf("%s: not refused for its %s: %v", at, why, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				c, err := written(f, schema)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if n.Add(1); turn%4 == 1 {
					if err := runPlan(c, turn); err != nil {
						t.Errorf("%s: %v", at, err)
					}
					ran.Add(1)
				}
			}
		})
	}
}

// channelPlan writes a program of channels as a plan.
func channelPlan(file string, text []byte, params lang.Params, inplace bool) (*mscclpp.Plan, error) {
	var channels *ir.ChannelProgram
	if _, err := mscclc.Compile(file, text,
		mscclc.Options{Unproven: true, Lang: lang.Options{Params: params, Inplace: &inplace}, Stage: func(v any) error {
			if c, ok := v.(*ir.ChannelProgram); ok {
				channels = c
			}
			return nil
		}}); err != nil {
		return nil, err
	}
	f, _, err := mscclc.PlanOfChannels(channels, mscclc.PlanOptions{})
	return f, err
}
