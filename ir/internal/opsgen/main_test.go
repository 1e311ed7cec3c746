package main

import (
	"bytes"
	"os"
	"testing"
)

// The committed header is what ir.Ops says now.
func TestHeaderIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../../kernels/abi/ops_gen.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, header()) {
		t.Error("kernels/abi/ops_gen.h is stale: run go generate ./ir")
	}
}
