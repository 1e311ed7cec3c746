package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/internal/covering"
)

// TestInvariantCosts holds the figures of docs/serving.md: on H200s, by simulation, the AllReduces for invariant bits
// take at most 1.05 of the fastest program above 1M, and 1.15 below.
func TestInvariantCosts(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"onephase", "ordered"} {
		text, err := algorithms.Open("allreduce/" + name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".mscl")
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	factor := "16"
	if covering.CI() {
		factor = "2"
	}
	for _, machine := range []string{"h200:gpus=3", "h200:gpus=4", "h200:gpus=8"} {
		var stdout, stderr bytes.Buffer
		args := append(append([]string{"select", "allreduce"}, files...), "-t", machine, "-b", "1K", "-f", factor, "-e", "1G",
			"--json")
		if code := main1(args, strings.NewReader(""), &stdout, &stderr); code != cli.ExitGood {
			t.Fatalf("exit code %d\n%s", code, stderr.String())
		}
		var found struct {
			Own []struct {
				At    int64   `json:"at"`
				Ratio float64 `json:"behind"`
			} `json:"own"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		least := map[int64]float64{}
		for _, o := range found.Own {
			if known := least[o.At]; known == 0 || o.Ratio < known {
				least[o.At] = o.Ratio
			}
		}
		if len(least) < 3 {
			t.Errorf("%s: only %d sizes", machine, len(least))
		}
		for at, ratio := range least {
			if limit := map[bool]float64{true: 1.05, false: 1.15}[at > 1<<20]; ratio > limit {
				t.Errorf("%s, %d bytes: %.3f times as long as the fastest, over %.2f", machine, at, ratio, limit)
			}
		}
	}
}
