//go:build cgo

package executor_test

import (
	"context"
	"fmt"
	"log"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/cpu"
)

// Load an XML file at run time, and run it on the CPU. Load proves the program first. testdata/ring.xml is an AllReduce
// of two ranks that works in place.
func Example() {
	p, err := mscclc.ReadFile("testdata/ring.xml", codegen.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	loaded, err := executor.Load(p, executor.Options{Device: cpu.Device()})
	if err != nil {
		log.Fatal(err)
	}
	defer loaded.Close()
	data := [][]float32{{1, 2, 3, 4}, {10, 20, 30, 40}} // of each rank
	if _, err := loaded.Run(context.Background(), executor.ArgsOf(p.Coll, data, nil)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(data)

	// Output: [[11 22 33 44] [11 22 33 44]]
}
