// Package core is the one-sided lowering. Lower makes of a chunk DAG a program whose steps move data of any rank's
// memory, and the signals and waits that these need.
//
// One State travels through Table, which says what happens in which order, and which properties each pass needs and
// gives. State.WriteText prints it after any pass. The tests have a checker for each property, run all of them after
// every pass, and hold that they find what goes wrong in broken copies of the passes.
//
// The passes up to fuse rewrite a list whose order is its meaning, and in which each item stands behind all that it
// must follow: so a wait for what is earlier in the list, on any rank, can close no cycle. The list is evaluated on
// symbolic chunks after every pass. The passes order and group choose another order that keeps all dependences. The
// passes from sync on insert what makes the ranks keep it; what comes out is proven by ir/verify.
//
// The package may import ir, ir/diag, ir/eval, ir/text and ir/vclock.
package core
