// Package explore judges tiny programs by running them in every schedule. Only
// tests use it: ir/verify, which decides by one run and by happens-before, is
// compared with it. The two share no code but the table of operations and the
// numbering of memory cells.
//
// A program becomes a list of atomic actions for each block (program.go): one
// for each message of a step, one for a local step, one for a nop. Reduced
// (reduce.go) runs one schedule of each class of schedules that differ only in
// the order of actions that do not conflict: dynamic partial-order reduction
// with source sets and sleep sets, in which nothing but accesses to one cell
// depend on each other, since slots are unbounded and nothing ever disables an
// action. Plain (plain.go) walks the whole graph of states without any such
// argument; tests of this package compare the two.
//
// A race is judged in two ways that do not know of each other: by a monitor
// that carries for every action the explicit sets of the actions that are
// visible to it and done before it (monitor.go), and, where a message orders
// memory (Simple), by looking whether both orders of a conflicting pair of
// actions occurred in some schedules.
//
// The package makes random tiny programs too (random.go), breaks programs of
// any size by single faults (faults.go), and runs large ones in adversarial
// schedules (adverse.go).
//
// One-sided programs have an explorer of their own (package onesided below).
package explore
