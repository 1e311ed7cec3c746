// This file has UCX map memory once, for all connections of an engine that register it. UCX_MEM_EVENTS=n, which we set,
// takes UCX the cache of its own registrations, so that InfiniBand would map the memory of each long message anew.
//
// This was never run over InfiniBand.
#include "ucx.h"

#include <stdlib.h>
#include <string.h>

static struct ucx_region *find(struct ucx_engine *u, const void *data, size_t bytes) {
  struct ucx_region *r = u->regions;
  while (r && (!r->users || r->data != data || r->bytes != bytes)) r = r->next;
  return r;
}

// map leaves `mapped` null where UCX cannot map memory, as with a low ulimit -l: then UCX does it for each message, or
// copies.
static void map(struct ucx_engine *u, struct ucx_region *r) {
  struct ucx_map_params params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCX_MAP_ADDRESS | UCX_MAP_LENGTH, params.address = r->data, params.length = r->bytes;
  if (u->f.mem_map(u->context, &params, &r->mapped)) r->mapped = 0;
}

int ucx_reg(void *connection, void *data, size_t bytes, int, void **region) {
  struct ucx_engine *u = ((struct ucx_connection *)connection)->of;
  *region = 0;
  struct ucx_region *r = find(u, data, bytes);
  if (!r) {
    if (!(r = (struct ucx_region *)calloc(1, sizeof *r))) return ucx_fail(u, UCX_ERR_NO_MEMORY, "registering memory");
    r->data = data, r->bytes = bytes;
    if (bytes) map(u, r);
    r->next = u->regions, u->regions = r;
  }
  r->users++;
  *region = r;
  return 0;
}

static void unmap(struct ucx_engine *u, struct ucx_region *r) {
  struct ucx_region **at = &u->regions;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  if (r->mapped) u->f.mem_unmap(u->context, r->mapped);
  free(r);
}

void ucx_dereg(void *connection, void *region) {
  struct ucx_region *r = (struct ucx_region *)region;
  if (!--r->users && !r->requests) unmap(((struct ucx_connection *)connection)->of, r);
}

void ucx_name_region(const struct ucx_engine *u, struct ucx_op *op, void *region) {
  const struct ucx_region *r = (const struct ucx_region *)region;
  if (r && r->mapped && u->names_memory) op->mask |= UCX_OP_MEMORY, op->memory = r->mapped;
}

void ucx_hold(struct ucx_request *r, void *region) {
  r->region = r->under_way ? (struct ucx_region *)region : 0;
  if (r->region) r->region->requests++;
}

void ucx_release(struct ucx_engine *u, struct ucx_request *r) {
  struct ucx_region *region = r->region;
  r->region = 0;
  if (region && !--region->requests && !region->users) unmap(u, region);
}

void ucx_unmap_all(struct ucx_engine *u) {
  while (u->regions) unmap(u, u->regions);
}
