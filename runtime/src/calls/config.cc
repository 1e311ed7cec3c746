// The collectives with a configuration of one call (NCCL 2.31). A program runs such a call where it may run one
// without, unless the configuration asks for what only NCCL has. NCCL's contract has it equal on all ranks.
#include "../front/front.h"

#include <string.h>

// config_plain says no to configurations that choose algorithms, copy engines or extensions, want an event, are of a
// later release, or are wrong: NCCL says what is wrong. A program heeds max_ctas. The least CTAs, the size of clusters
// and the share of NVLS are for NCCL's kernels, and the tag is for its profilers.
bool config_plain(const CollConfig *c) {
  if (!c) return true;
  if (c->magic != CONFIG_MAGIC || (c->size != COLL_CONFIG_231 && c->size != COLL_CONFIG_232)) return false;
  const bool least = c->min_ctas == NCCL_UNDEF || c->min_ctas >= 1;
  const bool most = c->max_ctas == NCCL_UNDEF || (c->max_ctas >= 1 && c->max_ctas >= c->min_ctas);
  const bool free = !c->extensions && (!c->algorithms || !*c->algorithms) && (c->forced == 0 || c->forced == 1);
  const bool policy = c->policy == NCCL_UNDEF || c->policy == 0;
  return least && most && free && policy && (c->size == COLL_CONFIG_231 || !c->launched);
}

bool config_keep(Op *op) {
  if (!op->config) return true;
  CollConfig *copy = (CollConfig *)calloc(1, sizeof(CollConfig));
  if (!copy) return op->config = nullptr, false;
  memcpy((void *)copy, op->config, op->config->size);
  op->config = copy;
  return true;
}

#define ROW(name, kind, shape, X)                                                                      \
  EXPORT Result nccl##name##Config(TAKES_##shape, Comm comm, void *stream, const CollConfig *config) { \
    OP(name, shape);                                                                                   \
    o.config = config;                                                                                 \
    return collective(o);                                                                              \
  }
COLLECTIVES(ROW, )
#undef ROW
