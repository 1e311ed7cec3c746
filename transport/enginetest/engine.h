// This file is an engine in memory of one process, for tests: all engines of one world reach each other. By a seed it
// delays messages, so that those of different connections overtake each other, gives null requests, and reads what is
// sent as late as possible or at once. It fails calls that break the rules of table.h.
//
// Its spec is WORLD or WORLD,NAME=NUMBER,... of seed, delay (the most ns that a message waits), handle (how many bytes
// its handles have at least), and one fault. A fault's number says which message of this engine it befalls, counted
// from 1: cut (it arrives shortened), lose (it never arrives), corrupt (a byte of it is another), drop (its connection
// ends), kill (all connections of the engine end), silent (it and all later ones never arrive).
#pragma once
#include "../table.h"

#ifdef __cplusplus
extern "C" {
#endif
extern const struct transport_table transport_test;

// transport_test_fault has the next message of any engine suffer a fault of that name.
void transport_test_fault(const char *name);
#ifdef __cplusplus
}
#endif
