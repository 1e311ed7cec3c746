package simulate_test

import (
	"fmt"
	"log"

	"mscclc"
	"mscclc/codegen"
	"mscclc/simulate"
	"mscclc/topology"
)

// Simulate how long an XML file takes on a machine with H200 GPUs.
func Example() {
	p, err := mscclc.ReadFile("../executor/testdata/ring.xml", codegen.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	machine, err := topology.Open("h200")
	if err != nil {
		log.Fatal(err)
	}
	result, err := simulate.Run(p, machine, nil, simulate.Call{Bytes: 32 << 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f ms on %d GPUs\n", result.Micros/1000, p.Coll.Ranks)

	// Output:
	// 3 ms on 2 GPUs
}
