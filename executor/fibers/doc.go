// Package fibers is the interpreter kernel for the host, in C++, as package cpu calls it and as libraries are built of
// it. It is apart from cpu since it takes long to compile: the Go tool compiles a package again for each package whose
// tests it imports, and this one imports nothing that has such tests.
package fibers
