// Package benchcmd is mscclc bench, compare and search. bench measures an algorithm, a program or a collective, with
// NCCL beside it (--vs). compare measures what is chosen for a collective beside all other programs. search finds the
// fastest programs of a collective.
package benchcmd
