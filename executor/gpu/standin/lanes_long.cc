// Elements of eight bytes.
#include "lanes.h"

LANES_OF(double)
LANES_OF(i64)
LANES_OF(u64)
