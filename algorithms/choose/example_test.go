package choose_test

import (
	"fmt"
	"log"

	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/ir"
)

// Choose the program of the catalog for a call. The built-in table has what was measured on four H200 GPUs.
func Example() {
	c := choose.Chooser{Device: "NVIDIA H200", Table: choose.DefaultTable()}
	call := choose.Call{Kind: ir.AllReduce, Ranks: 4}
	for _, bytes := range []int64{1 << 10, 1 << 30} {
		v, measured, err := c.Choose(call, bytes, data.F32.Size())
		if err != nil {
			log.Fatal(err)
		}
		p, err := c.Program(v, call)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d bytes: %v, measured: %v, %d ranks\n", bytes, v.Program, measured, p.Coll.Ranks)
	}

	// Output:
	// 1024 bytes: allreduce/allpairs_onestep, measured: true, 4 ranks
	// 1073741824 bytes: allreduce/ring, measured: true, 4 ranks
}
