// Package compiling makes a program from a FILE argument and flags. It has the command mscclc compile, the flags of all
// commands that compile ([Flags]), and the reader of files that are compiled already. [Runnable] returns the program of
// a source file or of a compiled file, for run, bench and simulate.
package compiling
