// Package runcmd is mscclc run: it runs an algorithm, a program, or the variant that mscclc chooses for a collective.
// The data is random, and the command checks every element of the result.
package runcmd
