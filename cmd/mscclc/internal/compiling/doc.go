// Package compiling makes programs of what a command line names. It has the flags of every command that compiles
// ([Flags]), mscclc compile itself, and the reading of files that are compiled already. [Runnable] makes of either what
// run, bench and simulate take.
package compiling
