// Package benchcmd is mscclc bench: it measures an algorithm, a program or a collective, with NCCL beside it (--vs),
// looks for the fastest variants (--tune, --online), and compares what is chosen with all others (--judge).
package benchcmd
