// This file finds network cards by addresses. It allocates nothing that stays.
#include "cards.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// An Address is one of IPv4, also where IPv6 writes it, or one of IPv6.
struct Address {
  int family;  // 0: another one
  unsigned char bytes[16];
};

static Address address_of(const struct sockaddr *at) {
  Address a = {};
  if (at && at->sa_family == AF_INET) {
    a.family = AF_INET;
    memcpy(a.bytes, &((const struct sockaddr_in *)at)->sin_addr, 4);
  } else if (at && at->sa_family == AF_INET6) {
    const struct in6_addr *six = &((const struct sockaddr_in6 *)at)->sin6_addr;
    const bool four = IN6_IS_ADDR_V4MAPPED(six);
    a.family = four ? AF_INET : AF_INET6;
    memcpy(a.bytes, six->s6_addr + (four ? 12 : 0), four ? 4 : 16);
  }
  return a;
}

static bool same(const Address &a, const Address &b) {
  return a.family && a.family == b.family && !memcmp(a.bytes, b.bytes, sizeof a.bytes);
}

static bool loops(const Address &a) {
  static const unsigned char six[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return a.family == AF_INET ? a.bytes[0] == 127 : a.family == AF_INET6 && !memcmp(a.bytes, six, sizeof six);
}

void card_of(int socket, char name[CARD_NAME], int *within) {
  struct sockaddr_storage at[2] = {};
  socklen_t size[2] = {sizeof *at, sizeof *at};
  name[0] = 0, *within = 0;
  if (getsockname(socket, (struct sockaddr *)at, size) || getpeername(socket, (struct sockaddr *)(at + 1), size + 1))
    return;
  const Address here = address_of((const struct sockaddr *)at), there = address_of((const struct sockaddr *)(at + 1));
  *within = !there.family || loops(there);
  struct ifaddrs *all = nullptr;
  if (getifaddrs(&all)) return;
  bool loop = false;
  for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
    const Address own = address_of(i->ifa_addr);
    *within |= same(own, there);
    if (name[0] || !same(own, here)) continue;
    strncpy(name, i->ifa_name, CARD_NAME - 1), name[CARD_NAME - 1] = 0;
    loop = i->ifa_flags & IFF_LOOPBACK;
  }
  freeifaddrs(all);
  if (loop && !*within) name[0] = 0;
}

int card_address(const char *name, char *to, size_t size) {
  struct ifaddrs *all = nullptr;
  int best = 0;
  if (getifaddrs(&all)) return 0;
  for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
    const Address own = address_of(i->ifa_addr);
    const int rank = own.family == AF_INET ? 2 : own.family == AF_INET6 && own.bytes[0] != 0xfe ? 1 : 0;
    if (rank <= best || strcmp(i->ifa_name, name)) continue;
    if (inet_ntop(own.family, own.bytes, to, (socklen_t)size)) best = rank;
  }
  freeifaddrs(all);
  return best > 0;
}

int card_here(const char *name) { return if_nametoindex(name) != 0; }
