// This file is SHA-256 (FIPS 180-4).
#pragma once
#include "../../kernels/abi/rows.h"

void sha256(const void *data, u64 bytes, u8 out[32]);
