// Package selectcmd is mscclc select: it reports which variant of a collective is the fastest at each size on a
// topology. With --emit, it also writes the files of these variants for a runtime.
package selectcmd
