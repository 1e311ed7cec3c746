package mscclc_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"mscclc"
	"mscclc/ir/diag"
	"mscclc/lang"
)

// ring is an AllReduce: chunk i goes round once to be summed, and once more to be spread.
const ring = `algorithm ring(ranks = 8)
collective allreduce(ranks, inplace = true)

for i in 0..ranks {
    let c = chunk(i, input, i)
    for step in 1..ranks { c = chunk((i + step) % ranks, input, i).reduce(c) }
    for step in 0..ranks - 1 { c = c.copy((i + step) % ranks, input, i) }
}
`

// Compile an algorithm for four ranks. The program that Compile returns is proven.
func Example() {
	opt := mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": 4}}}
	p, err := mscclc.Compile("ring.mscl", []byte(ring), opt)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %v of %d ranks\n", p.Name, p.Coll.Kind, p.Coll.Ranks)
	fmt.Printf("%d steps in %d thread blocks, proven\n", len(p.Steps), len(p.Blocks))

	// Output:
	// ring: allreduce of 4 ranks
	// 28 steps in 4 thread blocks, proven
}

// Print what is wrong with an algorithm, each error with its source line.
func ExampleCompile_rejected() {
	text := []byte("algorithm swap(ranks = 2)\ncollective alltoall(rank)\n")
	_, err := mscclc.Compile("swap.mscl", text, mscclc.Options{})
	var problems diag.List
	if errors.As(err, &problems) {
		diag.Fprint(os.Stdout, problems, func(string) []byte { return text }, false)
	}

	// Output:
	// swap.mscl:2:21: error: rank is not defined [undefined]
	//     collective alltoall(rank)
	//                         ^~~~
	//   hint: did you mean ranks?
	// 1 error
}
