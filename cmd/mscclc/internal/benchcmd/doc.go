// Package benchcmd is mscclc bench, compare and search. bench measures an algorithm, a program or a collective, and
// with --vs also NCCL. compare measures the program that mscclc chooses for a collective, and all other programs too.
// search finds the fastest programs of a collective.
package benchcmd
