// Package runcmd is mscclc run: it runs an algorithm, a program, or the variant that is chosen for a collective, on
// random data, and compares every element.
package runcmd
