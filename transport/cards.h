// This file is the network cards of this host: by which one a connection goes, and which address a card has.
#pragma once
#include <stddef.h>

enum { CARD_NAME = 16 };  // IF_NAMESIZE

// card_of stores the name of the card by which a connected socket goes, at this end, or "". within says that the other
// end is on this host: then the card says nothing of how other hosts are reached. If another host has reached an
// address of the loopback, no card is known: any may have taken it. executor/exchange/cards.go has the same rule, and a
// test compares both.
void card_of(int socket, char name[CARD_NAME], int *within);

// card_address writes an address of a card: one of IPv4 before one of IPv6, as UCX takes them. It returns 0 if the card
// has none.
int card_address(const char *name, char *to, size_t size);

// card_here returns 1 if this host has a card of that name.
int card_here(const char *name);
