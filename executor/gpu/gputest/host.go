package gputest

import (
	"os"
	"slices"
	"testing"
)

// ofHosts are the tests of what any device of plans must do, GPUs or not.
var ofHosts = []string{"Plans", "Types", "Unaligned", "Random", "Order", "ManyRanks", "Loaded", "Graphs", "ManyReplays",
	"Scratch", "Streams", "TwoPlans", "WrongOrder", "LateRank", "CutShort", "WaitInGraph", "Processes", "ProcessLate",
	"ProcessDies", "Timeout", "Cancel", "Trace", "TraceTwo", "Port", "PortGraphs", "OnePass", "IdleRank", "Sizes",
	"Repeated"}

// hosted says whether what is tested is the host.
func (d Device) hosted() bool { return d.Name == "cpu" }

// MainHost is Main of a device that has no driver.
func MainHost(m *testing.M, d Device) {
	os.Setenv(d.Variable, "host")
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(d, role))
	}
	os.Exit(m.Run())
}

// RunHost runs the tests that are not of drivers.
func RunHost(t *testing.T, d Device) {
	for _, test := range tests {
		if slices.Contains(ofHosts, test.name) {
			t.Run(test.name, func(t *testing.T) { test.run(t, d) })
		}
	}
}
