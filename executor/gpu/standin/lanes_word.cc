// Elements of four bytes.
#include "lanes.h"

LANES_OF(float)
LANES_OF(i32)
LANES_OF(u32)
