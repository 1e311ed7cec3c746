// Package choosing has what run, bench and select share, which choose a collective's variant by the size of a call: the
// files that a user names beside the collective, the tables of --table, and words for these.
package choosing
