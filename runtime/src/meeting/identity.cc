// The tail of an identity: the last 64 of its 128 bytes, which NCCL's own handle leaves free. It says where the hub of
// the communicator listens.
#include "meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

namespace {

const char TAG[] = "mscclc";
enum { TAIL_VERSION = 1 };

u64 hash(const void *of, size_t bytes) {
  u64 h = 14695981039346656037ull;
  for (const u8 *p = (const u8 *)of; bytes; p++, bytes--) h = (h ^ *p) * 1099511628211ull;
  return h;
}
u64 sum_of(const Tail &t) { return hash(&t, offsetof(Tail, sum)); }

void set(Tail *t, int family, const void *address) {
  t->family = (unsigned short)family;
  memset(t->address, 0, sizeof t->address);
  memcpy(t->address, address, family == AF_INET ? 4 : 16);
}

bool zero(const u8 *p, size_t n) {
  while (n && !*p) p++, n--;
  return n == 0;
}

// in_handle finds the address in NCCL's handle: a number of 8 bytes and a socket's address, or the address alone.
bool in_handle(const UniqueId *id, size_t at, Tail *t) {
  struct sockaddr_in a;
  struct sockaddr_in6 b;
  memcpy(&a, id->internal + at, sizeof a), memcpy(&b, id->internal + at, sizeof b);
  if (a.sin_family == AF_INET && a.sin_port && a.sin_addr.s_addr && zero((const u8 *)a.sin_zero, sizeof a.sin_zero))
    return set(t, AF_INET, &a.sin_addr), true;
  const bool local = IN6_IS_ADDR_LINKLOCAL(&b.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&b.sin6_addr);
  if (b.sin6_family == AF_INET6 && b.sin6_port && !local) return set(t, AF_INET6, &b.sin6_addr), true;
  return false;
}

bool in_variable(Tail *t) {
  const char *text = getenv("MSCCLC_ADDRESS");
  u8 address[16];
  if (text && inet_pton(AF_INET, text, address) == 1) return set(t, AF_INET, address), true;
  if (text && inet_pton(AF_INET6, text, address) == 1) return set(t, AF_INET6, address), true;
  return false;
}

// of_host takes an address of this machine: of IPv4 before IPv6, and the loop only where there is no other.
bool of_host(Tail *t) {
  const u32 loop = htonl(INADDR_LOOPBACK);
  set(t, AF_INET, &loop);
  struct ifaddrs *all = nullptr;
  int best = 0;
  if (getifaddrs(&all)) return !sys_later(errno);
  for (struct ifaddrs *i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK) continue;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)i->ifa_addr;
    const int family = i->ifa_addr->sa_family;
    if (family == AF_INET && best < 2) best = 2, set(t, AF_INET, &((const struct sockaddr_in *)i->ifa_addr)->sin_addr);
    if (family == AF_INET6 && best < 1 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
      best = 1, set(t, AF_INET6, &six->sin6_addr);
  }
  return freeifaddrs(all), true;
}

}  // namespace

bool tail_good(const Tail &t) {
  return !memcmp(t.tag, TAG, sizeof t.tag) && t.version == TAIL_VERSION && t.sum == sum_of(t);
}

u64 tail_family(const Tail &t) {
  const u64 name = hash(t.secret, sizeof t.secret);
  return name ? name : 1;
}

void tail_seal(Tail *t) {
  memcpy(t->tag, TAG, sizeof t->tag);
  t->version = TAIL_VERSION;
  t->sum = sum_of(*t);
}

bool tail_address(const UniqueId *at, const Line *line, Tail *t) {
  const bool given = in_variable(t) || (at && (in_handle(at, 8, t) || in_handle(at, 0, t)));
  return given || (line && line_address(line, t)) || of_host(t);
}
