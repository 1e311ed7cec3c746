// Package rows holds the tests of programs with an epilogue (ir/epilogue) on the CPU. They run random programs in
// random calls with random lists of stages. They compare each result with the expected one, computed directly.
package rows
