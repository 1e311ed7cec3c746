package mscclc_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/passes/core"
)

// BenchmarkCompile compiles and checks the programs whose times the issue
// tracker names; time per step should stay flat as a program grows.
func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct {
		file   string
		params lang.Params
	}{
		{"allreduce/ring", lang.Params{"ranks": 32}},
		{"allreduce/ring", lang.Params{"ranks": 64}},
		{"allreduce/ring", lang.Params{"ranks": 128}},
		{"allreduce/ring", lang.Params{"ranks": 256}},
		{"allreduce/ring", lang.Params{"ranks": 512}},
		{"allreduce/ring", lang.Params{"ranks": 1024}},
		{"allreduce/allpairs", lang.Params{"ranks": 16}},
		{"allreduce/allpairs", lang.Params{"ranks": 32}},
		{"allreduce/allpairs", lang.Params{"ranks": 64}},
		{"allreduce/hierarchical", lang.Params{"nodes": 8, "gpus": 8}},
		{"allreduce/hierarchical", lang.Params{"nodes": 32, "gpus": 8}},
		{"alltoall/two_step", lang.Params{"nodes": 4, "gpus": 8}},
		{"alltoall/two_step", lang.Params{"nodes": 16, "gpus": 8}},
		{"allreduce/recursive_halving_doubling", lang.Params{"ranks": 512}},
		{"allreduce/recursive_halving_doubling", lang.Params{"ranks": 4096}}, // 33 million chunks move in 225,000 steps
	} {
		b.Run(fmt.Sprint(c.file, c.params), func(b *testing.B) {
			plan, err := codegen.TargetByName("program")
			if err != nil {
				b.Fatal(err)
			}
			path := filepath.Join("algorithms", c.file+".mscl")
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			var p *either.Program
			for b.Loop() {
				p, err = mscclc.Compile(path, text, mscclc.Options{Lang: lang.Options{Params: c.params, Open: os.ReadFile},
					Target: plan})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(p.Steps)), "steps")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.Steps)), "ns/step")
		})
	}
}

// BenchmarkGrowth compiles and proves the first rows of the table of growth in docs/measured.md.
func BenchmarkGrowth(b *testing.B) {
	for _, c := range []struct {
		file  string
		ranks []int
	}{
		{"allreduce/onephase", []int{64, 128}},
		{"allreduce/ring", []int{64, 128}},
		{"allreduce/swing", []int{64, 128}},
		{"allreduce/recursive_halving_doubling", []int{256, 512}},
	} {
		path := filepath.Join("algorithms", c.file+".mscl")
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, ranks := range c.ranks {
			b.Run(fmt.Sprintf("%s=%d", filepath.Base(c.file), ranks), func(b *testing.B) {
				b.ReportAllocs()
				var p *either.Program
				before := irtest.CPUTime()
				for b.Loop() {
					p, err = mscclc.Compile(path, text, mscclc.Options{OneSided: true,
						Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Open: os.ReadFile}})
					if err != nil {
						b.Fatal(err)
					}
				}
				each := float64(b.N) * float64(len(p.Steps))
				b.ReportMetric(float64((irtest.CPUTime()-before).Nanoseconds())/each, "cpu-ns/step")
			})
		}
	}
}

// BenchmarkLanes compiles and proves programs with lanes for nodes of 8 ranks. Time and memory with lanes should be at
// most twice those with one.
func BenchmarkLanes(b *testing.B) {
	nodes := func(ranks int) ([]int32, error) {
		node := make([]int32, ranks)
		for r := range node {
			node[r] = int32(r / 8)
		}
		return node, nil
	}
	for _, c := range []struct {
		file   string
		params lang.Params
		lanes  []int
	}{
		{"allreduce/hierarchical", lang.Params{"nodes": 32, "gpus": 8}, []int{1, 4, 6, 8, 16, 32, 64}},
		{"allreduce/multinode_allpairs", lang.Params{"nodes": 16, "gpus": 8}, []int{1, 8, 32}},
		{"allgather/pat", lang.Params{"ranks": 64}, []int{1, 8, 64}},
	} {
		path := filepath.Join("algorithms", c.file+".mscl")
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, lanes := range c.lanes {
			b.Run(fmt.Sprint(c.file, "/", lanes), func(b *testing.B) {
				b.ReportAllocs()
				before := irtest.CPUTime()
				for b.Loop() {
					opt := mscclc.Options{OneSided: true, Core: core.Options{Lanes: lanes}, Nodes: nodes,
						Lang: lang.Options{Params: c.params, Open: os.ReadFile}}
					if _, err := mscclc.Compile(path, text, opt); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((irtest.CPUTime()-before).Milliseconds())/float64(b.N), "cpu-ms")
			})
		}
	}
}

// BenchmarkPlan128 writes plans of MSCCL++ for 128 ranks, from the text of an algorithm to JSON, without and with the
// proof.
func BenchmarkPlan128(b *testing.B) {
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range []string{"allreduce/ring", "allreduce/allpairs"} {
		path := filepath.Join("algorithms", file+".mscl")
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
			for _, unproven := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/%v/proven=%v", file, protocol, !unproven), func(b *testing.B) {
					opt := mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": 128}, Protocol: &protocol,
						Open: os.ReadFile}, Target: target, Unproven: true}
					for b.Loop() {
						p, err := mscclc.Compile(path, text, opt)
						if err != nil {
							b.Fatal(err)
						}
						plan, _, err := mscclc.PlanMSCCLPP(p, mscclc.PlanOptions{Unproven: unproven})
						if err != nil {
							b.Fatal(err)
						}
						if err := mscclpp.Write(io.Discard, plan); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
