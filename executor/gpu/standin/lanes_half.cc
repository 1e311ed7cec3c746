// Floats of two bytes.
#include "lanes.h"

LANES_OF(f16)
LANES_OF(bf16)
