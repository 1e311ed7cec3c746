// Package rows holds the tests of programs with an epilogue (ir/epilogue) on the CPU: random programs, calls and lists
// of stages, compared with the meaning computed directly.
package rows
