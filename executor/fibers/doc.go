// Package fibers is the interpreter kernel for the host, in C++. Package cpu calls it, and the libraries of package
// runtime contain it. It takes long to compile. If the Go tool tests a package from inside, it compiles the importers
// of the package again for this test. So fibers is apart from cpu, and imports only kernels.
package fibers
