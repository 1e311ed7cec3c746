// Elements of a byte.
#include "lanes.h"

LANES_OF(e4m3)
LANES_OF(e5m2)
LANES_OF(i8)
LANES_OF(u8)
