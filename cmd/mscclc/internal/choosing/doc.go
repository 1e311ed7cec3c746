// Package choosing has the code that run, bench, select and simulate share. These commands choose a variant of a
// collective by the size of a call. A variant is an algorithm with its protocol, its number of replicas and so on.
//
// The package reads the user's own programs, and the tables of measured results that --table names. It makes the
// choose.Selector that compares variants by simulation on a topology. It also writes notes and errors about the choice.
package choosing
