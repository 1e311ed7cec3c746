// Package choosing has what run, bench, select and simulate share, which choose a collective's variant by the size of a
// call: the files that a user names beside the collective, the tables of --table, what chooses on a topology, and words
// for these.
package choosing
