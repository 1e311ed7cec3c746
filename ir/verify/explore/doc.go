// Package explore decides whether tiny two-sided programs are right, by running them in every schedule. Only tests use
// it. They compare its verdicts with those of ir/verify, which uses one run and happens-before. The two packages share
// only the table of operations and the numbering of memory cells.
//
// A program becomes a list of atomic actions for each block (program.go). A step has one action for each of its
// messages. A local step has one action, and so has a nop.
//
// Reduced (reduce.go) puts schedules into one class if they differ only in the order of actions that do not conflict.
// It runs one schedule of each class, by dynamic partial-order reduction with source sets and sleep sets. To find
// deadlocks, it uses the given number of slots. To find all other faults, it takes slots as unbounded: then no action
// disables another one, and two actions depend on each other only if they access the same cell. Plain (plain.go) visits
// all states without this reduction. Tests of this package compare Plain with Reduced.
//
// Two independent methods find races:
//
//   - A monitor (monitor.go) keeps two sets for every action: the actions that are visible to it, and those that are
//     done before it.
//   - If a message orders memory (protocol Simple), the package looks for two conflicting actions that occur in both
//     orders, in different schedules.
//
// The package also makes random tiny programs (random.go). It puts single faults into programs of any size (faults.go),
// and runs large programs in adversarial schedules (adverse.go).
//
// Package onesided, in the folder below, explores one-sided programs.
package explore
