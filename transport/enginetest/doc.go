// Package enginetest is a network engine for tests, in the memory of one process. It delays messages, so that a message
// can overtake those of other connections. It can also cause one fault, such as a lost message. The caller asks for the
// delay and the fault by the text that it opens the engine with (its spec); engine.h has the syntax.
package enginetest
