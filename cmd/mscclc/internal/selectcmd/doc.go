// Package selectcmd is mscclc select: it says which variant of a collective is the fastest for which sizes on a
// topology, and writes what a runtime reads (--emit).
package selectcmd
