package algorithms_test

import (
	"fmt"
	"log"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/lang"
)

// Compile an algorithm of the catalog for three nodes of four GPUs. What it imports is found beside its name.
func Example() {
	text, err := algorithms.Open("allreduce/hierarchical")
	if err != nil {
		log.Fatal(err)
	}
	opt := lang.Options{Params: lang.Params{"nodes": 3, "gpus": 4}, Open: algorithms.Open}
	p, err := mscclc.Compile("allreduce/hierarchical.mscl", text, mscclc.Options{Lang: opt})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %v of %d ranks\n", p.Name, p.Coll.Kind, p.Coll.Ranks)

	// Output:
	// hierarchical: allreduce of 12 ranks
}
