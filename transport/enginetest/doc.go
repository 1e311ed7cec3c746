// Package enginetest is an engine of package transport in memory of one process, for tests. It delays messages, so that
// those of different connections overtake each other, and makes faults; engine.h says how its spec asks for them.
package enginetest
