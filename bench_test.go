package mscclc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/lang"
)

// BenchmarkCompile compiles and checks the programs whose times the issue
// tracker names; time per step should stay flat as a program grows.
func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct {
		file   string
		params map[string]string
	}{
		{"allreduce/ring", map[string]string{"ranks": "32"}},
		{"allreduce/ring", map[string]string{"ranks": "64"}},
		{"allreduce/ring", map[string]string{"ranks": "128"}},
		{"allreduce/ring", map[string]string{"ranks": "256"}},
		{"allreduce/ring", map[string]string{"ranks": "512"}},
		{"allreduce/ring", map[string]string{"ranks": "1024"}},
		{"allreduce/allpairs", map[string]string{"ranks": "16"}},
		{"allreduce/allpairs", map[string]string{"ranks": "32"}},
		{"allreduce/allpairs", map[string]string{"ranks": "64"}},
		{"allreduce/hierarchical", map[string]string{"nodes": "8", "gpus": "8"}},
		{"allreduce/hierarchical", map[string]string{"nodes": "32", "gpus": "8"}},
		{"alltoall/two_step", map[string]string{"nodes": "4", "gpus": "8"}},
		{"alltoall/two_step", map[string]string{"nodes": "16", "gpus": "8"}},
	} {
		b.Run(fmt.Sprint(c.file, c.params), func(b *testing.B) {
			plan, err := codegen.TargetByName("plan")
			if err != nil {
				b.Fatal(err)
			}
			path := filepath.Join("algorithms", c.file+".mscl")
			text, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			var p *ir.Program
			for b.Loop() {
				p, err = mscclc.Compile(path, text, mscclc.Options{Lang: lang.Options{Params: c.params, Open: os.ReadFile}, Target: plan})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(p.Steps)), "steps")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.Steps)), "ns/step")
		})
	}
}
