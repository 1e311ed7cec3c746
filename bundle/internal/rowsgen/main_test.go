package main

import (
	"bytes"
	"os"
	"testing"
)

// The committed header is what the rows say now.
func TestHeaderIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../../../runtime/src/bundle/rows_gen.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, header("../..")) {
		t.Error("runtime/src/bundle/rows_gen.h is stale: run go generate ./bundle")
	}
}
