// Package core is the one-sided lowering. Lower makes a one-sided program from a chunk DAG. The steps of the program
// read and write memory of any rank. Signals and waits order these steps.
//
// The passes of Table rewrite one State, in the order of the table. Table says which properties each pass needs and
// gives. State.WriteText prints the State after any pass. The tests have a checker for each property, and run all
// checkers after every pass. They also break copies of the passes, and check that the checkers find each fault.
//
// The passes up to "fuse" rewrite a list of Moves of all ranks. Executing the list in order gives the result. So a Move
// depends only on Moves before it. The waits that later passes insert for these dependences cannot form a cycle. After
// every pass, the tests evaluate the list on symbolic chunks. The passes "order" and "group" choose another order that
// keeps all dependences. The passes from "sync" on insert the signals and waits that make the ranks keep this order.
// ir/verify proves the resulting program.
package core
